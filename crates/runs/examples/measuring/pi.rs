//! The real Pi in its RPC mode, whose agent hands work to children; the models are scripted.
//!
//! What is installed is named by the environment: `DEPUTIZE_BENCH_NODE` is the Node that Pi runs on,
//! `DEPUTIZE_BENCH_PI` the folder of the extension's package, with Pi installed and the extension
//! built, and `DEPUTIZE_BENCH_PROGRAM` the program.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use deputize_testkit::{Asked, Provider, Reply, Said, Speech, TestEnv};
use serde_json::{Value, json};

use crate::measuring::Failure;

/// How long anything may take here: twenty times what it does on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

/// How often a provider is looked at that is waited for.
const POLL: Duration = Duration::from_millis(20);

/// Pi below the folder of the extension's package.
const PI: &str = "node_modules/@earendil-works/pi-coding-agent";

/// Who works for Pi's agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hands {
    /// Pi's own example of a subagent: each child is a Pi.
    Example,
    /// The extension's, and Pi's model answers.
    Served,
    /// The extension's, and a provider of Deputize's own answers.
    Own,
}

impl Hands {
    /// All of them, the anchor last.
    pub(crate) const ALL: [Self; 3] = [Self::Served, Self::Own, Self::Example];

    /// The anchor's name.
    pub(crate) const ANCHOR: &str = "Pi's own example";

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Example => Self::ANCHOR,
            Self::Served => "Deputize, Pi's model",
            Self::Own => "Deputize, a provider of its own",
        }
    }

    /// What it is held against, where it isn't the anchor itself.
    pub(crate) fn beside(self, anchor: &'static str) -> Option<&'static str> {
        (self != Self::Example).then_some(anchor)
    }

    /// A turn of Pi's agent that hands over these tasks: in one call, or in several of four tasks each,
    /// which is as many as the example does at once.
    pub(crate) fn handing(self, serial: usize, tasks: &[String]) -> Reply {
        let arguments: Vec<Value> = match tasks {
            [task] => vec![self.task(task)],
            tasks => tasks
                .chunks(4)
                .map(|four| four.iter().map(|task| self.task(task)).collect())
                .map(|four: Vec<Value>| json!({ "tasks": four }))
                .collect(),
        };
        let call = |arguments: Value| ("subagent".to_owned(), vec![arguments.to_string()]);
        let said = Said {
            calls: arguments.into_iter().map(call).collect(),
            ..Said::text("")
        };
        Speech::OpenaiChat.turn(serial, &said)
    }

    fn task(self, task: &str) -> Value {
        match self {
            Self::Example => json!({ "agent": "looker", "task": task }),
            Self::Served => json!({ "prompt": task, "preset": "read-only" }),
            Self::Own => json!({ "prompt": task, "preset": "read-only", "model": "own:scripted" }),
        }
    }
}

/// A turn of words.
pub(crate) fn saying(serial: usize, text: &str) -> Reply {
    Speech::OpenaiChat.turn(serial, &Said::text(text))
}

/// Who asks in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asking {
    /// Somebody who hasn't been told this.
    Another,
    /// Whoever was told this, for the first time.
    First,
    /// The same, later on.
    Again,
}

impl Asking {
    /// Who asks, seen from the one that was told this. A call that holds it tells nobody.
    pub(crate) fn of(asked: &Asked, told: &str) -> Self {
        let body: Value = serde_json::from_str(&asked.body).unwrap_or_default();
        let messages = body["messages"].as_array().map_or(&[][..], Vec::as_slice);
        let has = |role: &str, text: &str| {
            let mut messages = messages.iter();
            messages.any(|message| message["role"] == role && message.to_string().contains(text))
        };
        match (has("user", told), has("assistant", "")) {
            (false, _) => Self::Another,
            (true, false) => Self::First,
            (true, true) => Self::Again,
        }
    }
}

/// A Pi that runs.
pub(crate) struct Pi {
    provider: Provider,
    child: Child,
    input: Option<ChildStdin>,
    settled: Receiver<()>,
    /// Holds its home.
    _env: TestEnv,
}

impl Pi {
    /// Starts one whose models are this provider's.
    pub(crate) fn start(hands: Hands, provider: Provider) -> Result<Self, Failure> {
        let node = named("DEPUTIZE_BENCH_NODE")?;
        let package = named("DEPUTIZE_BENCH_PI")?;
        let env = TestEnv::new(&node);
        env.lay(|tree| {
            tree.small_project();
        });
        lay(&env, &provider)?;
        let mut command = env.command(&node);
        command
            .arg(package.join(PI).join("dist/bundle/cli.js"))
            .args([
                "--mode",
                "rpc",
                "--offline",
                "--model",
                "host/scripted",
                "-e",
            ])
            .env("PI_OFFLINE", "1")
            .env("OWN_KEY", "measured");
        match hands {
            Hands::Example => {
                command.arg(
                    package
                        .join(PI)
                        .join("examples/extensions/subagent/index.ts"),
                );
            }
            Hands::Served | Hands::Own => {
                command
                    .arg(package.join("dist/deputize.mjs"))
                    .arg("--deputize-program")
                    .arg(named("DEPUTIZE_BENCH_PROGRAM")?);
            }
        }
        let mut child = spawn(&mut command)?;
        let output = child.stdout.take().ok_or("Pi has no output")?;
        let (sender, settled) = channel();
        thread::spawn(move || {
            for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
                if line.starts_with(br#"{"type":"agent_settled""#) && sender.send(()).is_err() {
                    break;
                }
            }
        });
        Ok(Self {
            provider,
            input: child.stdin.take(),
            child,
            settled,
            _env: env,
        })
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Prompts its agent.
    pub(crate) fn prompt(&mut self, message: &str) -> Result<(), Failure> {
        self.send(&json!({ "type": "prompt", "message": message }))
    }

    /// Waits until its agent has nothing to do.
    pub(crate) fn settle(&mut self) -> Result<(), Failure> {
        let came = self.settled.recv_timeout(LIMIT);
        came.map_err(|_| "Pi's agent didn't settle".into())
    }

    /// What its models were asked, once it is this much.
    pub(crate) fn asked(&self, number: usize) -> Result<Vec<Asked>, Failure> {
        let started = Instant::now();
        loop {
            let asked = self.provider.asked();
            if asked.len() >= number {
                return Ok(asked);
            }
            if started.elapsed() > LIMIT {
                return Err(format!("{} of {number} requests came", asked.len()).into());
            }
            thread::sleep(POLL);
        }
    }

    /// Takes back what goes on, and ends it.
    pub(crate) fn end(mut self) -> Result<(), Failure> {
        self.send(&json!({ "type": "abort" }))?;
        drop(self.input.take());
        let started = Instant::now();
        while self.child.try_wait()?.is_none() {
            if started.elapsed() > LIMIT {
                return Err("Pi didn't end".into());
            }
            thread::sleep(POLL);
        }
        Ok(())
    }

    fn send(&mut self, record: &Value) -> Result<(), Failure> {
        let input = self.input.as_mut().ok_or("Pi's input is closed")?;
        input.write_all(format!("{record}\n").as_bytes())?;
        Ok(input.flush()?)
    }
}

impl Drop for Pi {
    fn drop(&mut self) {
        // It may have ended; then there is nothing to kill.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn spawn(command: &mut Command) -> Result<Child, Failure> {
    let streams = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    Ok(streams.stderr(Stdio::null()).spawn()?)
}

/// Pi's models and agents, and Deputize's configuration.
fn lay(env: &TestEnv, provider: &Provider) -> Result<(), Failure> {
    let base = format!("{}/v1", provider.url());
    let models = json!({ "providers": { "host": {
        "baseUrl": base, "api": "openai-completions", "apiKey": "measured",
        "models": [{
            "id": "scripted", "reasoning": false, "input": ["text"],
            "contextWindow": 128_000, "maxTokens": 4_096,
            "cost": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0 }
        }]
    }}});
    let agent = env.home().join(".pi/agent");
    write(&agent.join("models.json"), &models.to_string())?;
    let looker = "---\nname: looker\ndescription: Looks things up\ntools: read, grep, find, ls\n---\n\n\
        You look things up and change nothing.\n";
    write(&agent.join("agents/looker.md"), looker)?;
    // More at once, and more in a minute, than people do.
    let config = format!(
        "[runs]\nat_once = 8\nper_minute = 10000\n\n\
        [providers.own]\nkind = \"openai-chat\"\nbase_url = \"{base}\"\nkey_env = \"OWN_KEY\"\n"
    );
    write(&env.configuration().join("deputize/config.toml"), &config)
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    fs::create_dir_all(path.parent().ok_or("a file without a folder")?)?;
    Ok(fs::write(path, text)?)
}

fn named(variable: &str) -> Result<PathBuf, Failure> {
    let path = std::env::var_os(variable).ok_or_else(|| format!("{variable} isn't set"))?;
    Ok(path.into())
}
