//! Measures an event of the ledger: redacted, chained and written.

mod measuring;

use std::process::ExitCode;
use std::time::Instant;

use deputize_ledger::{CallDecided, CallFinished, Ledger, Redactor, Verdict};
use measuring::{Failure, Side};
use serde_json::json;

/// Calls of a round, with two events each.
const CALLS: u32 = 500;

/// Milliseconds since 1970 that the events tell.
const AT: u64 = 1_800_000_000_000;

fn main() -> ExitCode {
    measuring::main(measure)
}

fn measure(rounds: usize) -> Result<Vec<Side>, Failure> {
    let folder = tempfile::tempdir()?;
    let redactor = Redactor::new(["a-token-that-must-not-be-written", "another-long-secret"])?;
    let path = folder.path().join("ledger.jsonl");
    let mut ledger = Ledger::create(&path, "measured", redactor, AT)?;
    let mut samples = Vec::new();
    // The first round warms up.
    for round in 0..=rounds {
        let begun = Instant::now();
        for call in 1..=CALLS {
            let call = u64::from(call);
            ledger.record(&decided(call), AT)?;
            ledger.record(&finished(call), AT)?;
        }
        if round > 0 {
            samples.push(begun.elapsed().as_secs_f64() * 1e6 / f64::from(2 * CALLS));
        }
    }
    Ok(vec![Side {
        name: "a call's event, written".to_owned(),
        samples,
        unit: "µs",
        beside: None,
    }])
}

fn decided(call: u64) -> CallDecided {
    CallDecided {
        call,
        tool: "grep".to_owned(),
        arguments: json!({ "pattern": "fn main", "path": "crates/runs/src", "limit": 100 }),
        verdict: Verdict::Allow,
        rule: "path.inside".to_owned(),
        reason: String::new(),
    }
}

fn finished(call: u64) -> CallFinished {
    CallFinished {
        call,
        outcome: "ok".to_owned(),
        bytes: 4096,
        ms: 3,
    }
}
