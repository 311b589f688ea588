//! `cargo xtask bench`: ratios beside the anchors that are installed, measured in one run.
//!
//! A time alone says more about the machine than about the program, so each side of a row is
//! measured in turn (A B C, A B C, …) and shown beside the same command without us and beside the
//! nearest program that does the same. A side or a row that can't be had is said to be absent.
//!
//! As root the rows are measured as an ordinary user, since that is how people run the program, and
//! then as root.

mod anchor;
mod measure;
mod memory;
mod pi;
mod program;
mod scene;
mod start;

use std::fmt;
use std::fs;

use crate::arguments::BenchOptions;
use crate::failure::Failure;
use crate::workspace::Workspace;
use scene::Scene;

/// One group of lines in the table.
struct Row {
    name: &'static str,
    /// What the figures are held against, in the words of the table.
    goal: &'static str,
    measure: Measure,
}

/// How a row gets its lines.
enum Measure {
    /// Commands that run to their end.
    Start(start::Start),
    /// The size of the program's file.
    Size,
    /// The memory of the processes that stand around a command.
    Memory,
    /// Pi with the extension.
    Pi(pi::Pi),
    /// A program of ours that measures what no command line reaches.
    Program(program::Program),
}

/// One line of the table.
struct Line {
    row: String,
    side: String,
    wall: String,
    cpu: String,
    beside: String,
    goal: String,
}

const fn row(name: &'static str, goal: &'static str, measure: Measure) -> Row {
    Row {
        name,
        goal,
        measure,
    }
}

const fn program(name: &'static str) -> Measure {
    Measure::Program(program::Program { name, lacks: None })
}

/// A row whose goal is a share of what a Pi child takes.
const fn beside_pi(name: &'static str) -> Measure {
    let lacks = Some("a Pi child by itself: the rows about children in Pi have one");
    Measure::Program(program::Program { name, lacks })
}

/// A row about children of Pi's agent.
const fn children_in_pi(name: &'static str) -> Measure {
    let program = program::Program { name, lacks: None };
    Measure::Pi(pi::Pi::Children(program))
}

const BOUNDARY_GOAL: &str = "wall ≤ 1 × bubblewrap, CPU ≤ 2 ×";

/// Every row, in the order of the table.
const ROWS: &[Row] = &[
    row(
        "start: true",
        BOUNDARY_GOAL,
        Measure::Start(start::Start::True),
    ),
    row(
        "start: git status",
        BOUNDARY_GOAL,
        Measure::Start(start::Start::GitStatus),
    ),
    row("version", "≤ 5 ms", Measure::Start(start::Start::Version)),
    row("start of Pi", "", Measure::Pi(pi::Pi::Start)),
    row(
        "call to first model request in Pi",
        "",
        children_in_pi("pi_call"),
    ),
    row(
        "memory of 8 children in Pi",
        "",
        children_in_pi("pi_memory"),
    ),
    row("size", "≤ 20 MB", Measure::Size),
    row("memory of exec", "", Measure::Memory),
    row(
        "second command",
        "≤ 2.5 × a plain spawn",
        program("second_command"),
    ),
    row("file tool", "≤ 100 µs", program("file_tool")),
    row("gate verdict", "p50 ≤ 50 µs, p99 ≤ 500 µs", program("gate")),
    row(
        "command lines",
        "p50 ≤ 50 µs, p99 ≤ 500 µs; hostile ≤ 50 ms",
        program("lines"),
    ),
    row(
        "the gate as a hook",
        "≤ 3 × a process that does nothing",
        program("hook"),
    ),
    row("ledger event", "≤ 20 µs", program("ledger")),
    row("relay, per streamed token", "", program("relay")),
    row(
        "copies",
        "a look doesn't grow with the folder",
        program("copies"),
    ),
    row(
        "request to first model call",
        "≤ 1/50 of a Pi child",
        beside_pi("first_call"),
    ),
    row(
        "memory of a child",
        "≤ 1/15 of a Pi child",
        beside_pi("child_memory"),
    ),
    row("200 children", "under 2 GiB", program("children")),
    row("100 working children", "", program("working_children")),
];

/// Measures and prints the table.
pub(crate) fn bench(workspace: &Workspace, options: &BenchOptions) -> Result<(), Failure> {
    let wanted = |row: &&Row| {
        let named = |name: &String| row.name.contains(name.as_str());
        options.names.is_empty() || options.names.iter().any(named)
    };
    let rows: Vec<&Row> = ROWS.iter().filter(wanted).collect();
    if rows.is_empty() {
        return Err(Failure::NoRow(options.names.clone()));
    }
    let examples: Vec<String> = rows.iter().filter_map(|row| row.example()).collect();
    let scene = Scene::set(workspace, &examples)?;
    let mut lines = Vec::new();
    for row in rows {
        eprintln!("measuring: {}", row.name);
        match &row.measure {
            Measure::Start(start) => lines.extend(start.lines(&scene, row, options.rounds)),
            Measure::Pi(pi) => lines.extend(pi.lines(workspace, &scene, row, options.rounds)),
            Measure::Size => lines.extend(size(&scene, row)?),
            Measure::Memory => lines.extend(memory::lines(&scene, row)),
            Measure::Program(program) => lines.extend(program.lines(&scene, row, options.rounds)),
        }
    }
    println!("{}\n", machine(options.rounds));
    println!("| row | side | wall: median (min) | CPU: median (min) | beside the anchor | goal |");
    println!("| --- | --- | --- | --- | --- | --- |");
    lines.iter().for_each(|line| println!("{line}"));
    println!("\n{}", anchor::NOTE);
    Ok(())
}

impl Row {
    /// The measuring program that it needs.
    fn example(&self) -> Option<String> {
        match &self.measure {
            Measure::Program(program) | Measure::Pi(pi::Pi::Children(program)) => {
                Some(program.example())
            }
            Measure::Start(_) | Measure::Size | Measure::Memory | Measure::Pi(pi::Pi::Start) => {
                None
            }
        }
    }

    /// A line without figures: why there are none.
    fn absent(&self, why: &str) -> Line {
        Line {
            row: self.name.to_owned(),
            side: format!("absent: {why}"),
            wall: String::new(),
            cpu: String::new(),
            beside: String::new(),
            goal: self.goal.to_owned(),
        }
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cells = [
            &self.row,
            &self.side,
            &self.wall,
            &self.cpu,
            &self.beside,
            &self.goal,
        ];
        cells.iter().try_for_each(|cell| write!(f, "| {cell} "))?;
        f.write_str("|")
    }
}

fn size(scene: &Scene, row: &Row) -> Result<Vec<Line>, Failure> {
    let file = fs::metadata(scene.program()).map_err(Failure::file(scene.program()))?;
    let bytes = file.len();
    let (whole, tenths) = (bytes / 1_000_000, bytes % 1_000_000 / 100_000);
    Ok(vec![Line {
        side: format!("deputize: {whole}.{tenths} MB"),
        ..row.absent("")
    }])
}

/// What the figures were measured on.
fn machine(rounds: usize) -> String {
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    let kernel = read("/proc/sys/kernel/osrelease");
    let load = read("/proc/loadavg");
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    format!(
        "Linux {}, {cores} cores, load {} at the end, {rounds} rounds in turn.",
        kernel.trim(),
        load.split(' ').next().unwrap_or_default()
    )
}
