//! Measures the memory of 8 children in Pi that have read a file and wait for their model, all at a time:
//! natively, and by Pi's own example of a subagent, whose children are further Pis.
//!
//! It is what they add to a Pi that has said a word: everything that Pi has started, which with the
//! extension is the program's server, its supervisors and workers, and by how much Pi itself has grown.
//! Shared pages are divided among those that share them.

mod measuring;
#[path = "measuring/pi.rs"]
mod pi;

use std::fs;
use std::io::ErrorKind;
use std::process::ExitCode;

use deputize_testkit::{Asked, Provider, Reply, Said, Speech, descendants};
use measuring::{Failure, Side};
use pi::{Asking, Hands, Pi, saying};
use serde_json::json;

/// Children that wait at a time.
const CHILDREN: u32 = 8;

/// Rounds take some seconds each.
const MOST_ROUNDS: usize = 5;

/// All requests: a word, the call, and two of each child.
const REQUESTS: usize = 2 + 2 * CHILDREN as usize;

/// What is asked for first, so that Pi has said something before it is weighed.
const GREETING: &str = "Good morning.";

/// What is asked for then.
const PROMPT: &str = "What are the weight limits?";

/// What is told of each side.
struct Figure {
    name: &'static str,
    anchor: &'static str,
    unit: &'static str,
    of: fn(&Added) -> f64,
}

const FIGURES: [Figure; 3] = [
    Figure {
        name: ": a child",
        anchor: "Pi's own example: a child",
        unit: "KiB",
        of: |added| added.kib / f64::from(CHILDREN),
    },
    Figure {
        name: ": all 8",
        anchor: "Pi's own example: all 8",
        unit: "KiB",
        of: |added| added.kib,
    },
    Figure {
        name: ": below Pi",
        anchor: "Pi's own example: below Pi",
        unit: "processes",
        of: |added| added.processes,
    },
];

/// What 8 children add to Pi.
struct Added {
    kib: f64,
    processes: f64,
}

fn main() -> ExitCode {
    measuring::main(measure)
}

fn measure(rounds: usize) -> Result<Vec<Side>, Failure> {
    let mut taken = Hands::ALL.map(|hands| (hands, Vec::new()));
    for _ in 0..rounds.min(MOST_ROUNDS) {
        for (hands, samples) in &mut taken {
            samples.push(once(*hands)?);
        }
    }
    let sides = FIGURES.iter().flat_map(|figure| {
        taken.iter().map(move |(hands, samples)| Side {
            name: format!("{}{}", hands.name(), figure.name),
            samples: samples.iter().map(figure.of).collect(),
            unit: figure.unit,
            beside: hands.beside(figure.anchor),
        })
    });
    Ok(sides.collect())
}

fn once(hands: Hands) -> Result<Added, Failure> {
    let provider = Provider::answering(move |asked| reply(hands, asked));
    let mut pi = Pi::start(hands, provider)?;
    pi.prompt(GREETING)?;
    pi.settle()?;
    let before = proportional(pi.id()).ok_or("Pi is gone")?;
    pi.prompt(PROMPT)?;
    let asked = pi.asked(REQUESTS)?;
    let mut kib = proportional(pi.id()).ok_or("Pi is gone")?;
    let mut processes = 0;
    for id in descendants(pi.id()) {
        // One that has ended takes nothing.
        if let Some(own) = proportional(id) {
            kib += own;
            processes += 1;
        }
    }
    let waits = |task: &String| {
        asked
            .iter()
            .any(|asked| Asking::of(asked, task) == Asking::Again)
    };
    if !tasks().iter().all(waits) {
        return Err("not every child waits".into());
    }
    pi.end()?;
    let float = |number: u64| u32::try_from(number).map_or(f64::INFINITY, f64::from);
    Ok(Added {
        kib: float(kib.saturating_sub(before)),
        processes: f64::from(processes),
    })
}

fn tasks() -> Vec<String> {
    let task = |number| format!("Find the weight limit of parcel {number}.");
    (1..=CHILDREN).map(task).collect()
}

/// A child reads a file and then waits.
fn reply(hands: Hands, asked: &Asked) -> Reply {
    let tasks = tasks();
    let child = tasks.iter().map(|task| Asking::of(asked, task));
    match child.into_iter().find(|who| *who != Asking::Another) {
        Some(Asking::First) => {
            let read = Said::call("read", &json!({ "path": "src/limits.rs" }));
            Speech::OpenaiChat.turn(2, &read)
        }
        Some(_) => Reply::mute(),
        None if Asking::of(asked, PROMPT) != Asking::Another => hands.handing(1, &tasks),
        None => saying(0, "Good morning."),
    }
}

/// KiB of a process that goes on, with shared pages divided among those that share them. Of one that
/// doesn't let us see that it is all that is resident, which is more.
fn proportional(id: u32) -> Option<u64> {
    let rollup = fs::read_to_string(format!("/proc/{id}/smaps_rollup"));
    let (text, field) = match rollup {
        Ok(text) => (text, "Pss:"),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            let status = fs::read_to_string(format!("/proc/{id}/status"));
            (status.unwrap_or_default(), "VmRSS:")
        }
        Err(_) => return None,
    };
    let line = text.lines().find_map(|line| line.strip_prefix(field));
    line?.split_whitespace().next()?.parse().ok()
}
