//! Measures verdicts on the looking calls: what to look up, and the decision from the facts.

mod measuring;
#[path = "measuring/scene.rs"]
mod scene;

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use deputize_authority::preflight::{self, RunRequest};
use deputize_authority::{Grant, Level, Promise};
use deputize_gate::{Call, Context, Fact, Verdict, admit, decide, queries};
use deputize_runs::worker_entry;
use deputize_tools::{Request, Response};
use measuring::{Failure, Side};
use scene::{FILE, Scene};
use serde_json::{Value, json};

/// Verdicts on each call in a round.
const VERDICTS: usize = 1_000;

fn main() -> ExitCode {
    measuring::main(measure)
}

fn measure(rounds: usize) -> Result<Vec<Side>, Failure> {
    let scene = Scene::new()?;
    let request = RunRequest {
        prompt: b"Look at the file.".to_vec(),
        preset: "read-only".to_owned(),
        ..RunRequest::default()
    };
    let granted = preflight::child(&request, &scene.look.surroundings(None))?;
    let context = Context {
        grant: &granted.grant,
        mode: granted.grant.mode(),
        home: scene.look.home.as_deref(),
        boundary: Level::Full,
        held: &Promise::ALL,
        approved: &[],
        agreed: &[],
        rules: &[],
    };
    let calls = calls()
        .into_iter()
        .map(|(tool, arguments)| {
            let call = admit(tool, &arguments, &context).map_err(|denied| denied.reason)?;
            let facts = facts(&granted.grant, &call, &context)?;
            Ok((call, facts))
        })
        .collect::<Result<Vec<_>, Failure>>()?;
    let (mut middle, mut tail) = (Vec::new(), Vec::new());
    // The first round warms up.
    for round in 0..=rounds {
        let mut times = Vec::with_capacity(VERDICTS * calls.len());
        for _ in 0..VERDICTS {
            for (call, facts) in &calls {
                let call = call.clone();
                let begun = Instant::now();
                let asked = black_box(queries(&call, &context));
                let verdict = decide(call, black_box(facts), &context);
                times.push(begun.elapsed().as_secs_f64() * 1e6);
                if asked.is_empty() || !matches!(verdict, Verdict::Allow(_)) {
                    return Err(format!("not allowed: {}", verdict.rule().id).into());
                }
            }
        }
        if round > 0 {
            times.sort_unstable_by(f64::total_cmp);
            middle.push(times[times.len() / 2]);
            tail.push(times[times.len() * 99 / 100]);
        }
    }
    let side = |name: &str, samples| Side {
        name: name.to_owned(),
        samples,
        unit: "µs",
        beside: None,
    };
    Ok(vec![side("p50", middle), side("p99", tail)])
}

/// The calls of a child that looks around.
fn calls() -> Vec<(&'static str, Value)> {
    vec![
        ("read", json!({ "path": FILE, "offset": 1, "limit": 20 })),
        ("ls", json!({})),
        ("find", json!({ "pattern": "*.txt" })),
        ("grep", json!({ "pattern": "line", "path": "." })),
        ("grep", json!({ "terms": ["line", "file"] })),
    ]
}

/// What the worker would answer, from a worker in this process.
fn facts(grant: &Grant, call: &Call, context: &Context<'_>) -> Result<Vec<Fact>, Failure> {
    let mut worker = worker_entry(grant)?;
    let answer = worker(&Request::Facts(queries(call, context)).encode());
    match Response::decode(&answer)? {
        Response::Facts(facts) => Ok(facts),
        other => Err(format!("no facts: {other:?}").into()),
    }
}
