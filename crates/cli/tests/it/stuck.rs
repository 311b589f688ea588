//! A boundary whose processes are stuck: whoever may end the run still can (B5, D4).

use std::time::{Duration, Instant};

use deputize_testkit::{Size, Terminal, TestEnv, alive, until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::scene::{call, descendants, events, only_run, parsed, project, runs, say, script};

/// Arguments of a run whose second call comes late enough to find everything stuck, and whose time
/// is used up by that call. The places that its last words name are looked up then.
fn arguments(env: &TestEnv, more: &[&str]) -> Vec<String> {
    let mut late = call("read", json!({ "path": "src/limits.rs", "offset": 2 }));
    late["delay_ms"] = 2_000.into();
    let turns = json!([
        call("read", json!({ "path": "src/limits.rs" })),
        late,
        say("The limit is in src/limits.rs:4."),
    ]);
    let model = script(env, &json!({ "turns": turns }));
    let base = ["run", "--preset", "read-only", "--model", &model];
    let budget = ["--budget", "wall_seconds=4"];
    let all = base.iter().chain(&budget).chain(more).chain(&["Look."]);
    all.map(|word| (*word).to_owned()).collect()
}

/// Stops, as with a debugger, all that stands below the run after its first call.
fn stop_all(env: &TestEnv, id: u32) -> Vec<u32> {
    until("the first call has ended", || {
        let run = runs(env)
            .pop()
            .filter(|run| run.join("ledger.jsonl").exists())?;
        let ended = |event: &serde_json::Value| event["kind"] == "call.finished";
        events(&run).iter().any(ended).then_some(())
    });
    let below = descendants(id);
    assert!(below.len() >= 2, "no boundary stands: {below:?}");
    for each in &below {
        let each = Pid::from_raw(i32::try_from(*each).unwrap()).unwrap();
        kill_process(each, Signal::STOP).unwrap();
    }
    below
}

/// D4, B5: the time that runs out ends a run whose worker doesn't answer and whose init gives no new
/// one; what couldn't be looked up is no evidence, and nothing is left.
#[test]
fn a_budget_ends_a_run_whose_boundary_is_stuck() {
    let env = project();
    let begun = Instant::now();
    let running = env.call(arguments(&env, &["--json"])).start();
    let below = stop_all(&env, running.id());
    let outcome = running.wait().expect_code(4);
    assert!(begun.elapsed() < Duration::from_secs(40), "{outcome}");
    let result = parsed(&outcome);
    assert_eq!(result["status"], "budget_exhausted");
    assert_eq!(result["usage"]["exhausted"], "wall_seconds");
    assert!(result["evidence"].as_array().unwrap().is_empty());
    assert!(!outcome.streams_held);
    assert!(below.iter().all(|id| !alive(*id)));
    assert_eq!(
        events(&only_run(&env)).last().unwrap()["kind"],
        "run.finished"
    );
}

/// B5: a person's interrupt is heard while a new worker is waited for.
#[test]
fn an_interrupt_is_heard_while_the_boundary_is_stuck() {
    let env = project();
    let size = Size {
        columns: 100,
        rows: 24,
    };
    let command = env.call(arguments(&env, &[])).into_command();
    let mut terminal = Terminal::start(command, size);
    let below = stop_all(&env, terminal.id());
    terminal.until_shown("checking").interrupt();
    assert_eq!(terminal.wait().code(), Some(130), "{}", terminal.screen());
    assert!(below.iter().all(|id| !alive(*id)));
    assert_eq!(
        events(&only_run(&env)).last().unwrap()["data"]["status"],
        "cancelled"
    );
}
