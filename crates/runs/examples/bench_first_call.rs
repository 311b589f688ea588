//! Measures a child from its request to its first model call, and the shortest run as people start
//! it.

#[path = "measuring/crew.rs"]
mod crew;
mod measuring;
#[path = "measuring/scene.rs"]
mod scene;

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use crew::Waiting;
use deputize_authority::Preset;
use deputize_model::Sleeper;
use deputize_runs::Boundaries;
use measuring::{Failure, Side};
use scene::Scene;
use serde_json::{Value, json};
use tokio::sync::mpsc::unbounded_channel;

/// Names the program that people run.
const PROGRAM: &str = "DEPUTIZE_BENCH_PROGRAM";

fn main() -> ExitCode {
    measuring::main(measure)
}

fn measure(rounds: usize) -> Result<Vec<Side>, Failure> {
    let scene = Scene::new()?;
    let within = crew::beside(async |boundaries| in_a_host(&scene, &boundaries, rounds).await)?;
    let mut sides = vec![side("in a host: request to first model call", within)];
    if let Some(program) = std::env::var_os(PROGRAM) {
        let whole = from_a_shell(&scene, Path::new(&program), rounds)?;
        sides.push(side("from a shell: a run of one turn, to its end", whole));
    }
    Ok(sides)
}

fn side(name: &str, samples: Vec<f64>) -> Side {
    Side {
        name: name.to_owned(),
        samples,
        unit: "ms",
        beside: None,
    }
}

/// A turn that waits, so that the moment of the call is seen, and then answers.
fn script() -> Value {
    json!({ "turns": [{ "text": "It has lines.", "delay_ms": 1 }] })
}

async fn in_a_host(
    scene: &Scene,
    boundaries: &Boundaries,
    rounds: usize,
) -> Result<Vec<f64>, Failure> {
    let mut samples = Vec::new();
    // The first round warms up.
    for round in 0..=rounds {
        let first = Arc::new(FirstCall::default());
        let (events, _face) = unbounded_channel();
        let (_person, words) = unbounded_channel();
        let begun = Instant::now();
        let child = crew::plan(&scene.look, Preset::ReadOnly, &script(), first.clone())?;
        child.run(boundaries.clone(), events, words).await?;
        let called = first.at().ok_or("the model wasn't called")?;
        if round > 0 {
            samples.push(called.duration_since(begun).as_secs_f64() * 1e3);
        }
    }
    Ok(samples)
}

fn from_a_shell(scene: &Scene, program: &Path, rounds: usize) -> Result<Vec<f64>, Failure> {
    let file = scene.look.caller.join("script.json");
    std::fs::write(
        &file,
        json!({ "turns": [{ "text": "It has lines." }] }).to_string(),
    )?;
    let mut samples = Vec::new();
    for round in 0..=rounds {
        let mut command = Command::new(program);
        command
            .args(["run", "--quiet", "--preset", "read-only", "--model"])
            .arg(format!("script:{}", file.display()))
            .arg("Look at the file.")
            .current_dir(&scene.look.caller)
            .env("XDG_STATE_HOME", scene.look.state()?)
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        let begun = Instant::now();
        let output = command.output()?;
        let took = begun.elapsed();
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(format!("the run ended with {}: {said}", output.status).into());
        }
        if round > 0 {
            samples.push(took.as_secs_f64() * 1e3);
        }
    }
    Ok(samples)
}

/// Remembers when the model was called first, and doesn't wait.
#[derive(Default)]
struct FirstCall(Mutex<Option<Instant>>);

impl FirstCall {
    fn at(&self) -> Option<Instant> {
        self.0.lock().ok().and_then(|at| *at)
    }
}

impl Sleeper for FirstCall {
    fn sleep(&self, _: u64) -> Waiting<'_> {
        let now = Instant::now();
        if let Ok(mut at) = self.0.lock() {
            at.get_or_insert(now);
        }
        Box::pin(std::future::ready(()))
    }
}
