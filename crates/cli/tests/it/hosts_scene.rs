//! Hosts that somebody else wrote, as npm has them: each with a home of its own, configured by
//! `deputize install`, and with a model that a test scripts on loopback.
//!
//! `cargo xtask test --hosts` installs them below the target folder; without them these tests are ignored,
//! and counted as such.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use deputize_testkit::{
    Invocation, Outcome, Provider, Said, Size, Speech, Terminal, TestEnv, alive, processes_naming,
    until,
};
use serde_json::{Value, json};

use crate::scene::{events, only_run, runs};

const DEPUTIZE: &str = env!("CARGO_BIN_EXE_deputize");

/// Where nobody listens: a host that calls home gets no further.
const NOWHERE: &str = "http://127.0.0.1:1";

/// How long a host may take for the next thing on its screen.
const LONG: Duration = Duration::from_secs(45);

/// A terminal with room for a whole card.
pub(crate) const SCREEN: Size = Size {
    columns: 160,
    rows: 50,
};

/// A file of the hosts' packages.
#[track_caller]
fn package(path: &str) -> PathBuf {
    let target = Path::new(DEPUTIZE).ancestors().nth(2).unwrap();
    let file = target.join("tools/hosts/node_modules").join(path);
    assert!(
        file.is_file(),
        "{} is missing: `cargo xtask test --hosts` installs it",
        file.display()
    );
    file
}

/// The program of Claude Code.
#[track_caller]
pub(crate) fn claude_code() -> PathBuf {
    let machine = match std::env::consts::ARCH {
        "aarch64" => "arm64",
        _ => "x64",
    };
    package(&format!("@anthropic-ai/claude-code-linux-{machine}/claude"))
}

/// The program of Codex.
#[track_caller]
pub(crate) fn codex() -> PathBuf {
    let (machine, target) = match std::env::consts::ARCH {
        "aarch64" => ("arm64", "aarch64-unknown-linux-musl"),
        _ => ("x64", "x86_64-unknown-linux-musl"),
    };
    package(&format!(
        "@openai/codex-linux-{machine}/vendor/{target}/bin/codex"
    ))
}

/// A host at work on the small project.
pub(crate) struct Scene {
    pub(crate) env: TestEnv,
    /// The provider of the host's own model.
    pub(crate) provider: Provider,
}

impl Scene {
    /// A host whose model says these turns.
    pub(crate) fn playing(
        host: PathBuf,
        speech: Speech,
        turns: impl IntoIterator<Item = Said>,
    ) -> Self {
        let env = TestEnv::new(host);
        env.lay(|tree| {
            tree.small_project();
        });
        symlink(DEPUTIZE, env.root().join("deputize")).unwrap();
        let turns = turns.into_iter().enumerate();
        let provider = Provider::playing(turns.map(|(at, said)| speech.turn(at, &said)));
        Self { env, provider }
    }

    /// The program as this scene's host is told of it: a path that no other process names.
    pub(crate) fn program(&self) -> String {
        self.env.root().join("deputize").display().to_string()
    }

    /// Has Deputize install itself into the host, with more options.
    #[track_caller]
    pub(crate) fn install(&self, host: &str, options: &[&str]) -> String {
        let mut command = self.env.command(DEPUTIZE);
        command.args(["install", host, "--yes", "--program", &self.program()]);
        let output = command.args(options).output().unwrap();
        let told = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{told}");
        told
    }

    /// A call of the host that reaches nothing but loopback.
    pub(crate) fn call(&self, arguments: &[&str]) -> Invocation<'_> {
        let mut call = self.env.call(arguments);
        for name in ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"] {
            call = call.env(name, NOWHERE);
        }
        call.env("NO_PROXY", "127.0.0.1")
            .env("no_proxy", "127.0.0.1")
    }

    /// Runs the host to its end: it started the server, and leaves no process.
    #[track_caller]
    pub(crate) fn run(&self, call: Invocation<'_>) -> Outcome {
        let running = call.start();
        let ours = || processes_naming(&self.program());
        let started = until("the host starts the server or ends", || {
            let started = !ours().is_empty();
            (started || !alive(running.id())).then_some(started)
        });
        let outcome = running.wait().expect_code(0);
        assert!(started, "the server was never there: {outcome}");
        assert!(!outcome.streams_held, "{outcome}");
        until("the server is gone", || ours().is_empty().then_some(()));
        outcome
    }

    /// What the model was asked: exactly as often as it had turns.
    #[track_caller]
    pub(crate) fn requests(&self, turns: usize, outcome: &Outcome) -> Vec<Value> {
        let bodies = self.provider.bodies();
        let lines: Vec<String> = self
            .provider
            .asked()
            .into_iter()
            .map(|one| one.line)
            .collect();
        assert_eq!(bodies.len(), turns, "{lines:?}\n{outcome}");
        bodies
    }
}

/// A search for the weight limit, as arguments of the tool `subagent`.
pub(crate) fn look() -> Value {
    json!({ "prompt": "Where is the weight limit?", "preset": "read-only", "model": "scout" })
}

/// Asserts that this is the answer of the only run, and that its evidence stands where it says.
#[track_caller]
pub(crate) fn is_evidence(env: &TestEnv, answer: &str) {
    let answer: Value = serde_json::from_str(answer).unwrap();
    assert_eq!(answer["status"], "ok", "{answer:#}");
    let run = only_run(env);
    assert_eq!(answer["run"], run.file_name().unwrap().to_str().unwrap());
    let evidence = answer["evidence"].as_array().unwrap();
    let quotes = evidence.iter().map(|one| {
        let quote = one["quote"].as_str().unwrap();
        let text = fs::read_to_string(env.workspace().join(one["path"].as_str().unwrap())).unwrap();
        let line = usize::try_from(one["line"].as_u64().unwrap()).unwrap();
        assert_eq!(text.lines().nth(line - 1).unwrap().trim(), quote.trim());
        quote
    });
    let found: Vec<&str> = quotes.collect();
    let limit = found.iter().any(|quote| quote.contains("MAX_WEIGHT"));
    assert!(limit, "{found:?}");
}

/// Asserts that nothing was handed over.
#[track_caller]
pub(crate) fn no_run(env: &TestEnv) {
    assert!(runs(env).is_empty());
}

/// Presses a key until something is shown: what comes while a dialog is built isn't heard.
#[track_caller]
pub(crate) fn press(terminal: &mut Terminal, key: &[u8], shown: &str) {
    let began = Instant::now();
    let mut pressed: Option<Instant> = None;
    until(shown, || {
        let screen = terminal.screen();
        let there = screen.contains(shown);
        assert!(there || began.elapsed() < LONG, "no {shown:?} in\n{screen}");
        if !there && pressed.is_none_or(|at| at.elapsed() > Duration::from_secs(3)) {
            terminal.press(key);
            pressed = Some(Instant::now());
        }
        there.then_some(())
    });
}

/// Through whom the only run was agreed to.
#[track_caller]
pub(crate) fn agreed_by(env: &TestEnv) -> String {
    let events = events(&only_run(env));
    let approval = events.iter().find(|event| event["kind"] == "approval");
    approval.unwrap()["data"].to_string()
}
