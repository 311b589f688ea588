//! Measures 100 children that work at a time in one process: each in a boundary and on a copy of its own.

#[path = "measuring/crew.rs"]
mod crew;
mod measuring;
#[path = "measuring/memory.rs"]
mod memory;
#[path = "measuring/scene.rs"]
mod scene;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crew::Waiting;
use deputize_agent::Status;
use deputize_authority::Preset;
use deputize_model::Sleeper;
use deputize_runs::Boundaries;
use measuring::{Failure, Side};
use scene::{FILE, Scene};
use serde_json::{Value, json};
use tokio::sync::mpsc::unbounded_channel;
use tokio::task::JoinSet;

/// How many there are.
const CHILDREN: usize = 100;

/// Rounds take a second or more.
const MOST_ROUNDS: usize = 5;

/// How long the model takes for a turn.
const TURN_MS: u64 = 50;

/// How often memory is looked at.
const LOOK: Duration = Duration::from_millis(20);

fn main() -> ExitCode {
    measuring::main(measure)
}

fn measure(rounds: usize) -> Result<Vec<Side>, Failure> {
    let scene = Scene::new()?;
    crew::beside(async |boundaries| {
        let (mut wall, mut peak) = (Vec::new(), Vec::new());
        for _ in 0..rounds.min(MOST_ROUNDS) {
            let (seconds, kib) = all(&scene, &boundaries).await?;
            wall.push(seconds * 1e3);
            peak.push(u32::try_from(kib).map_or(f64::INFINITY, f64::from) / 1024.0);
        }
        let side = |name: &str, samples, unit| Side {
            name: name.to_owned(),
            samples,
            unit,
            beside: None,
        };
        Ok(vec![
            side("all resident memory, at most", peak, "MiB"),
            side(
                "3 turns of 50 ms, a command and an edit each, all ok",
                wall,
                "ms",
            ),
        ])
    })
}

/// Seconds until the last has ended, and the most memory that was seen, in KiB.
async fn all(scene: &Scene, boundaries: &Boundaries) -> Result<(f64, u64), Failure> {
    let mut runs = JoinSet::new();
    let begun = Instant::now();
    for _ in 0..CHILDREN {
        let child = crew::plan(&scene.look, Preset::General, &script(), Arc::new(RealTime))?;
        let boundaries = boundaries.clone();
        runs.spawn(async move {
            let (events, _) = unbounded_channel();
            let (_person, words) = unbounded_channel();
            child.run(boundaries, events, words).await
        });
    }
    let mut peak = 0;
    let mut look = tokio::time::interval(LOOK);
    loop {
        tokio::select! {
            run = runs.join_next() => match run {
                Some(run) => {
                    let result = run??.result;
                    if result.status != Status::Ok {
                        return Err(format!("a child ended {:?}: {result:?}", result.status).into());
                    }
                }
                None => break,
            },
            _ = look.tick() => {
                let (own, others) = memory::family("VmRSS");
                peak = peak.max(own + others);
            }
        }
    }
    Ok((begun.elapsed().as_secs_f64(), peak))
}

fn script() -> Value {
    let turn = |name: &str, arguments: Value| {
        let call = json!({ "name": name, "arguments": arguments });
        json!({ "calls": [call], "delay_ms": TURN_MS })
    };
    json!({ "turns": [
        turn("bash", json!({ "command": "echo more >> made; wc -l made" })),
        turn("edit", json!({ "path": FILE, "edits": [{ "old": "lines", "new": "rows", "all": true }] })),
        { "text": "It has rows.", "delay_ms": TURN_MS },
    ]})
}

struct RealTime;

impl Sleeper for RealTime {
    fn sleep(&self, millis: u64) -> Waiting<'_> {
        Box::pin(tokio::time::sleep(Duration::from_millis(millis)))
    }
}
