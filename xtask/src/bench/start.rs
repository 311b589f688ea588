//! Rows about commands that run to their end.

use std::path::Path;
use std::process::Command;

use super::measure::{self, Outcome, Side};
use super::scene::{As, Scene};
use super::{Line, Row, anchor};

/// What is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Start {
    /// The command that does nothing: all of the time is the boundary's.
    True,
    /// A short command that people really run.
    GitStatus,
    /// The program itself.
    Version,
}

/// The side that the others are held against when there is no bubblewrap.
const PLAIN: &str = "plain";

impl Start {
    /// Measures as everybody, with a line for each side.
    pub(super) fn lines(self, scene: &Scene, row: &Row, rounds: usize) -> Vec<Line> {
        let everybody = match self {
            Self::Version => vec![As::Ordinary],
            Self::True | Self::GitStatus => scene.everybody(),
        };
        let measured = everybody.into_iter();
        measured
            .flat_map(|who| self.lines_as(who, scene, row, rounds))
            .collect()
    }

    fn lines_as(self, who: As, scene: &Scene, row: &Row, rounds: usize) -> Vec<Line> {
        let name = match who {
            As::Ordinary => row.name.to_owned(),
            As::Root => format!("{}, as root", row.name),
        };
        let sides = self.sides(who, scene);
        let outcomes = measure::in_turn(&sides, rounds);
        let mut lines = lines(&name, row, &sides, &outcomes);
        if self != Self::Version && anchor::bubblewrap().is_none() {
            let absent = row.absent("bubblewrap isn't installed");
            lines.push(Line {
                row: name,
                ..absent
            });
        }
        lines
    }

    /// The same thing done in every way that can be had, ours last.
    fn sides<'a>(self, who: As, scene: &'a Scene) -> Vec<Side<'a>> {
        let words: &[&str] = match self {
            Self::True | Self::Version => &["true"],
            Self::GitStatus => &["git", "status"],
        };
        let through = move |program: &Path, arguments: &[String]| -> Command {
            let mut command = scene.command(who, program);
            command.args(arguments).args(words);
            command
        };
        let mut sides = vec![Side {
            name: PLAIN.to_owned(),
            command: Box::new(move || {
                let mut command = scene.command(who, Path::new(words[0]));
                command.args(&words[1..]);
                command
            }),
        }];
        if self == Self::Version {
            sides.push(Side {
                name: "deputize --version".to_owned(),
                command: Box::new(move || {
                    let mut command = scene.command(who, scene.program());
                    command.arg("--version");
                    command
                }),
            });
            return sides;
        }
        if let Some(bubblewrap) = anchor::bubblewrap() {
            let arguments = anchor::arguments(&scene.repository(who));
            sides.push(Side {
                name: "bubblewrap".to_owned(),
                command: Box::new(move || through(&bubblewrap, &arguments)),
            });
        }
        let arguments = ["exec", "--"].map(str::to_owned);
        sides.push(Side {
            name: "deputize exec".to_owned(),
            command: Box::new(move || through(scene.program(), &arguments)),
        });
        sides
    }
}

/// One line a side; the last is ours and is held against each of the others.
pub(super) fn lines(name: &str, row: &Row, sides: &[Side<'_>], outcomes: &[Outcome]) -> Vec<Line> {
    let last = sides.len().saturating_sub(1);
    let measured = sides.iter().zip(outcomes).enumerate();
    measured
        .map(|(index, (side, outcome))| {
            let line = Line {
                row: name.to_owned(),
                side: side.name.clone(),
                goal: if index == last { row.goal } else { "" }.to_owned(),
                ..row.absent("")
            };
            let times = match outcome {
                Ok(times) => times,
                Err(why) => {
                    let side = format!("{} failed: {why}", side.name);
                    return Line { side, ..line };
                }
            };
            let beside = if index == last {
                beside(outcome, &sides[..last], &outcomes[..last])
            } else {
                String::new()
            };
            Line {
                wall: times.wall.to_string(),
                cpu: times.cpu.to_string(),
                beside,
                ..line
            }
        })
        .collect()
}

fn beside(ours: &Outcome, sides: &[Side<'_>], outcomes: &[Outcome]) -> String {
    let others = sides.iter().zip(outcomes);
    let ratios = others.filter_map(|(side, outcome)| {
        let (ours, other) = (ours.as_ref().ok()?, outcome.as_ref().ok()?);
        Some(format!(
            "{}: wall {:.2} ×, CPU {:.2} ×",
            side.name,
            ours.wall.ratio(&other.wall),
            ours.cpu.ratio(&other.cpu)
        ))
    });
    ratios.collect::<Vec<_>>().join("; ")
}
