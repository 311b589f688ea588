//! Rows that a program of ours measures, where no command line reaches.
//!
//! `crates/runs/examples/bench_NAME.rs` is called with the number of rounds and prints one line a
//! side, its cells parted by tabs: name, median, least, unit, and for a side that is held against
//! another the name of that one.

use std::path::Path;
use std::time::Duration;

use super::scene::{As, Scene};
use super::{Line, Row};
use crate::command;

/// How long one of them may take.
const LIMIT: Duration = Duration::from_mins(5);

/// One measuring program.
#[derive(Debug, Clone, Copy)]
pub(super) struct Program {
    /// The part of its name after `bench_`.
    pub(super) name: &'static str,
    /// What the goal is held against, where that can't be had yet.
    pub(super) lacks: Option<&'static str>,
}

/// What it said about one side.
#[derive(Debug, PartialEq)]
struct Said {
    side: String,
    median: f64,
    least: f64,
    unit: String,
    anchor: Option<String>,
}

impl Program {
    /// Its whole name.
    pub(super) fn example(self) -> String {
        format!("bench_{}", self.name)
    }

    /// Runs it as the ordinary user.
    pub(super) fn lines(self, scene: &Scene, row: &Row, rounds: usize) -> Vec<Line> {
        self.lines_as(As::Ordinary, &[], scene, row, rounds)
    }

    /// Runs it as somebody, with further paths in its environment.
    pub(super) fn lines_as(
        self,
        who: As,
        paths: &[(&str, &Path)],
        scene: &Scene,
        row: &Row,
        rounds: usize,
    ) -> Vec<Line> {
        let name = self.example();
        let Some(path) = scene.example(&name) else {
            return vec![row.absent(&format!("cargo built no {name}"))];
        };
        let mut command = scene.command(who, path);
        command.arg(rounds.to_string()).envs(paths.iter().copied());
        command.env("DEPUTIZE_BENCH_PROGRAM", scene.program());
        match command::within(&mut command, LIMIT) {
            Ok(text) => {
                let mut lines = lines(row, &text);
                lines.extend(self.lacks.map(|anchor| Line {
                    goal: String::new(),
                    ..row.absent(anchor)
                }));
                lines
            }
            Err(failure) => {
                let why = failure.to_string();
                let first = why.lines().last().unwrap_or_default();
                vec![row.absent(&format!("{name} failed: {first}"))]
            }
        }
    }
}

fn lines(row: &Row, text: &str) -> Vec<Line> {
    let said: Vec<Said> = text.lines().filter_map(Said::read).collect();
    let mut goal = Some(row.goal);
    let lines = said.iter().map(|one| {
        let anchor = one.anchor.as_ref();
        let anchor = anchor.and_then(|name| said.iter().find(|other| other.side == *name));
        let ratio =
            |other: &Said| format!("{}: {} ×", other.side, short(one.median / other.median));
        Line {
            side: one.side.clone(),
            wall: format!("{:.1} ({:.1}) {}", one.median, one.least, one.unit),
            beside: anchor.map(ratio).unwrap_or_default(),
            goal: goal.take().unwrap_or_default().to_owned(),
            ..row.absent("")
        }
    });
    let lines: Vec<Line> = lines.collect();
    if lines.is_empty() {
        return vec![row.absent("its program said nothing")];
    }
    lines
}

/// A ratio with two digits that say something.
fn short(ratio: f64) -> String {
    match ratio {
        ratio if ratio < 0.1 => format!("{ratio:.3}"),
        ratio => format!("{ratio:.2}"),
    }
}

impl Said {
    fn read(line: &str) -> Option<Self> {
        let mut cells = line.split('\t');
        Some(Self {
            side: cells.next()?.to_owned(),
            median: cells.next()?.parse().ok()?,
            least: cells.next()?.parse().ok()?,
            unit: cells.next()?.to_owned(),
            anchor: cells.next().map(str::to_owned),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_side_stands_beside_its_anchor() {
        let row = &super::super::ROWS[0];
        let lines = lines(
            row,
            "plain\t2.0\t1.5\tms\nnoise\nours\t3.0\t2.5\tms\tplain\nleast\t0.1\t0.1\tms\tplain\n",
        );
        let cells: Vec<_> = lines
            .iter()
            .map(|line| (&*line.wall, &*line.beside))
            .collect();
        assert_eq!(
            cells,
            [
                ("2.0 (1.5) ms", ""),
                ("3.0 (2.5) ms", "plain: 1.50 ×"),
                ("0.1 (0.1) ms", "plain: 0.050 ×"),
            ]
        );
    }
}
