//! A small ledger with an event of every kind.

use std::path::Path;

use deputize_ledger::{
    BoundaryStarted, CallDecided, CallFinished, Enforcement, Enforcer, GrantRecorded, Head, Ledger,
    ModelTurn, Narrowing, Noticed, Probe, ProbeOutcome, Redactor, RunFinished, RunStarted, Tokens,
    Verdict,
};
use serde_json::json;

pub(crate) const RUN: &str = "01990a3c-0000-7000-8000-000000000001";

/// The time of the first event; each later one is a second after.
pub(crate) const START: u64 = 1_788_264_000_000;

pub(crate) fn write(path: &Path) -> Head {
    let mut ledger = Ledger::create(path, RUN, Redactor::none(), START).unwrap();
    fill(&mut ledger);
    ledger.sync().unwrap();
    ledger.head()
}

pub(crate) fn fill(ledger: &mut Ledger) {
    let mut at = START;
    let mut next = || {
        at += 1000;
        at
    };
    let started = RunStarted {
        run: RUN.to_owned(),
        agent: "built-in".to_owned(),
        context: "independent".to_owned(),
        cwd: "/work/naïve \u{202e}repo".to_owned(),
        model: "scripted:test".to_owned(),
        preset: "read-only".to_owned(),
        tools: ["read", "ls", "find", "grep"].map(str::to_owned).into(),
        resources: "runner-only".to_owned(),
        trust: "built-in".to_owned(),
        grant: "ab".repeat(32),
    };
    ledger.record(&started, next()).unwrap();
    let grant = GrantRecorded {
        digest: "ab".repeat(32),
        trail: vec![Narrowing {
            by: "preset".to_owned(),
            axes: vec!["write".to_owned()],
        }],
        bounds: json!({"write": {"only": []}, "read": {"only": ["/work"]}}),
    };
    ledger.record(&grant, next()).unwrap();
    let boundary = BoundaryStarted {
        level: "landlock+seccomp".to_owned(),
        promises: vec![Enforcement {
            promise: "write".to_owned(),
            by: Enforcer::Kernel,
            mechanism: "Landlock".to_owned(),
        }],
        self_test: vec![Probe {
            tried: "write outside".to_owned(),
            outcome: ProbeOutcome::Stopped,
        }],
    };
    ledger.record(&boundary, next()).unwrap();
    let turn = ModelTurn {
        turn: 1,
        model: "test".to_owned(),
        tokens: Tokens {
            input: 10,
            cached: 0,
            output: 3,
        },
        cost_micros: None,
        ms: 5,
        calls: 1,
    };
    ledger.record(&turn, next()).unwrap();
    let decided = CallDecided {
        call: 1,
        tool: "read".to_owned(),
        arguments: json!({"path": "src/lib.rs\u{1b}[2J", "ratio": 0.5}),
        verdict: Verdict::Allow,
        rule: "inside-root".to_owned(),
        reason: String::new(),
    };
    ledger.record(&decided, next()).unwrap();
    let finished = CallFinished {
        call: 1,
        outcome: "ok".to_owned(),
        bytes: 512,
        ms: 1,
    };
    ledger.record(&finished, next()).unwrap();
    let notice = Noticed {
        code: "slow".to_owned(),
        message: "no sign of life for 20 s".to_owned(),
    };
    ledger.record(&notice, next()).unwrap();
    ledger.append("custom.kind", [1, 2, 3], next()).unwrap();
    let end = RunFinished {
        status: "ok".to_owned(),
        summary: "done 🦀".to_owned(),
        evidence: 1,
        warnings: 0,
        usage: json!({"turns": 1}),
        ms: 9000,
    };
    ledger.record(&end, next()).unwrap();
}
