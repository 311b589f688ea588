//! What the tests share: a workspace, a scripted model, a result to look at.

use std::fs;
use std::path::{Path, PathBuf};

pub(crate) use deputize_testkit::descendants;
use deputize_testkit::{Outcome, Running, TestEnv};
use serde_json::{Value, json};

/// A home and an empty workspace for the program under test.
pub(crate) fn scene() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_deputize"))
}

/// The same with the small project in the workspace.
pub(crate) fn project() -> TestEnv {
    let env = scene();
    env.lay(|tree| {
        tree.small_project();
    });
    env
}

/// Writes a script beside the workspace; returns the model that plays it.
pub(crate) fn script(env: &TestEnv, document: &Value) -> String {
    let path = env.root().join("script.json");
    fs::write(&path, document.to_string()).unwrap();
    env.give();
    format!("script:{}", path.display())
}

/// A turn that calls one tool.
pub(crate) fn call(tool: &str, arguments: Value) -> Value {
    json!({ "calls": [{ "name": tool, "arguments": arguments }] })
}

/// A turn that ends a run.
pub(crate) fn say(text: &str) -> Value {
    json!({ "text": text })
}

/// A run that was played, with its JSON result.
pub(crate) struct Played {
    pub(crate) outcome: Outcome,
    pub(crate) result: Value,
}

/// Plays these turns in a read-only run with `--json` and more options.
#[track_caller]
pub(crate) fn play(env: &TestEnv, turns: Value, options: &[&str]) -> Played {
    play_script(env, &json!({ "turns": turns }), options)
}

/// Plays a whole script document.
#[track_caller]
pub(crate) fn play_script(env: &TestEnv, document: &Value, options: &[&str]) -> Played {
    let model = script(env, document);
    let mut arguments = vec!["run", "--preset", "read-only", "--model", &model, "--json"];
    arguments.extend(options);
    arguments.push("Find the weight limit.");
    let outcome = env.run(arguments);
    let result = parsed(&outcome);
    Played { outcome, result }
}

impl Played {
    /// Asserts how the run ended, in its result and in its exit code.
    #[track_caller]
    pub(crate) fn ended(&self, status: &str, code: i32) -> &Self {
        let found = (self.result["status"].as_str(), self.outcome.code());
        assert_eq!(found, (Some(status), Some(code)), "{}", self.outcome);
        self
    }

    /// The warnings, one a line.
    pub(crate) fn warnings(&self) -> String {
        texts(&self.result["warnings"]).join("\n")
    }

    /// The rules of the calls that were refused, in their order.
    pub(crate) fn refused_by(&self) -> Vec<&str> {
        let details = self.result["blocked"]["details"].as_array();
        let refused = details.into_iter().flatten();
        refused.map(|one| one["rule"].as_str().unwrap()).collect()
    }
}

/// The texts in a JSON list.
pub(crate) fn texts(list: &Value) -> Vec<&str> {
    let items = list.as_array().map(Vec::as_slice).unwrap_or_default();
    items.iter().filter_map(Value::as_str).collect()
}

/// Standard output as JSON.
#[track_caller]
pub(crate) fn parsed(outcome: &Outcome) -> Value {
    match serde_json::from_slice(&outcome.stdout) {
        Ok(value) => value,
        Err(error) => panic!("no JSON: {error}\n{outcome}"),
    }
}

/// The code of a refusal that was told in words, which must have named a fix.
#[track_caller]
pub(crate) fn refused_code(outcome: &Outcome) -> String {
    let told = outcome.err();
    assert!(told.contains("\n  fix: "), "no fix was named: {outcome}");
    let first = told.lines().find(|line| line.starts_with("deputize: "));
    let bracket = first.and_then(|line| line.rsplit_once('[')).unwrap().1;
    bracket.split(',').next().unwrap().to_owned()
}

/// The folders of runs that were kept.
pub(crate) fn runs(env: &TestEnv) -> Vec<PathBuf> {
    let listing = fs::read_dir(env.state().join("deputize/runs"));
    let mut runs: Vec<PathBuf> = listing
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().path())
        .collect();
    runs.sort();
    runs
}

/// The only run.
#[track_caller]
pub(crate) fn only_run(env: &TestEnv) -> PathBuf {
    let mut runs = runs(env);
    assert_eq!(runs.len(), 1, "{runs:?}");
    runs.remove(0)
}

/// The events of a run's ledger.
#[track_caller]
pub(crate) fn events(run: &Path) -> Vec<Value> {
    let text = fs::read_to_string(run.join("ledger.jsonl")).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Runs a shell script in a boundary of the workspace.
#[track_caller]
pub(crate) fn shell(env: &TestEnv, options: &[&str], script: &str) -> Outcome {
    let mut arguments = vec!["exec"];
    arguments.extend(options);
    arguments.extend(["--", "sh", "-c", script]);
    env.run(arguments)
}

/// Starts a command that waits in a boundary of the workspace.
pub(crate) fn waiting(env: &TestEnv, options: &[&str]) -> Running {
    let mut arguments = vec!["exec"];
    arguments.extend(options);
    arguments.extend(["--", "sh", "-c", "echo up; sleep 60"]);
    let mut running = env.call(arguments).start();
    let _ = running.until_said("up");
    running
}

/// An empty folder beside the workspace.
pub(crate) fn beside(env: &TestEnv, name: &str) -> PathBuf {
    let folder = env.root().join(name);
    fs::create_dir(&folder).unwrap();
    env.give();
    folder
}
