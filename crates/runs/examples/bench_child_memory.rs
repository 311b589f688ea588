//! Measures the memory of children that wait for their model, and of the processes that they share.

#[path = "measuring/crew.rs"]
mod crew;
mod measuring;
#[path = "measuring/memory.rs"]
mod memory;
#[path = "measuring/scene.rs"]
mod scene;

use std::process::ExitCode;
use std::sync::Arc;

use crew::Waiting;
use deputize_agent::CancelReason;
use deputize_authority::Preset;
use deputize_model::Sleeper;
use deputize_runs::{Boundaries, Word};
use measuring::{Failure, Side};
use scene::{FILE, Scene};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

/// Children that come at a time; their figure is the mean.
const CHILDREN: u32 = 50;

/// Times that they come: with more, the first are far from their start.
const MOST_ROUNDS: usize = 6;

fn main() -> ExitCode {
    measuring::main(measure)
}

fn measure(rounds: usize) -> Result<Vec<Side>, Failure> {
    let scene = Scene::new()?;
    crew::beside(async |boundaries| idle(&scene, &boundaries, rounds.min(MOST_ROUNDS)).await)
}

async fn idle(scene: &Scene, boundaries: &Boundaries, rounds: usize) -> Result<Vec<Side>, Failure> {
    let reached = Arc::new(Semaphore::new(0));
    let mut crew = Vec::new();
    // The first children start the boundary and fill the allocator's first pages.
    come(scene, boundaries, &reached, &mut crew).await?;
    let (mut each, mut shared) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let (before, _) = memory::family("RssAnon");
        come(scene, boundaries, &reached, &mut crew).await?;
        let (after, others) = memory::family("RssAnon");
        each.push(kib(after.saturating_sub(before)) / f64::from(CHILDREN));
        shared.push(kib(others));
    }
    for (word, _) in &crew {
        word.send(Word::Cancel(CancelReason::HostEnds))?;
    }
    for (_, run) in crew {
        run.await??;
    }
    let side = |name: &str, samples| Side {
        name: name.to_owned(),
        samples,
        unit: "KiB",
        beside: None,
    };
    Ok(vec![
        side("an idle child that has read a file", each),
        side("init and worker, which all of them share", shared),
    ])
}

type Member = (UnboundedSender<Word>, JoinHandle<Result<(), Failure>>);

/// Starts more children, and waits until each waits for its model.
async fn come(
    scene: &Scene,
    boundaries: &Boundaries,
    reached: &Arc<Semaphore>,
    crew: &mut Vec<Member>,
) -> Result<(), Failure> {
    for _ in 0..CHILDREN {
        let waits = Arc::new(WaitsForEver(Arc::clone(reached)));
        let child = crew::plan(&scene.look, Preset::ReadOnly, &script(), waits)?;
        let (events, _) = unbounded_channel();
        let (say, words) = unbounded_channel();
        let boundaries = boundaries.clone();
        let run = tokio::spawn(async move {
            child.run(boundaries, events, words).await?;
            Ok(())
        });
        crew.push((say, run));
    }
    reached.acquire_many(CHILDREN).await?.forget();
    Ok(())
}

/// A call, and then a turn that never comes.
fn script() -> Value {
    let call = json!({ "name": "read", "arguments": { "path": FILE } });
    json!({ "turns": [{ "calls": [call] }, { "text": "too late", "delay_ms": 1 }] })
}

/// Tells that it was reached, and waits.
struct WaitsForEver(Arc<Semaphore>);

impl Sleeper for WaitsForEver {
    fn sleep(&self, _: u64) -> Waiting<'_> {
        self.0.add_permits(1);
        Box::pin(std::future::pending())
    }
}

fn kib(number: u64) -> f64 {
    u32::try_from(number).map_or(f64::INFINITY, f64::from)
}
