//! The real Pi with the extension: its home, its scripted model, and its RPC mode.
//!
//! `cargo xtask test` installs Pi and builds the extension in `packages/pi`.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use deputize_testkit::{Canary, Outcome, PATIENCE, Provider, Reply, Said, Speech, TestEnv, until};
use serde_json::{Value, json};

pub(crate) const DEPUTIZE: &str = env!("CARGO_BIN_EXE_deputize");

/// A file of the extension's package, as it was installed or built.
#[track_caller]
pub(crate) fn package(path: &str) -> PathBuf {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packages/pi");
    let file = fs::canonicalize(folder).unwrap().join(path);
    assert!(
        file.exists(),
        "{} is missing: `cargo xtask test` installs and builds it",
        file.display()
    );
    file
}

pub(crate) fn node() -> PathBuf {
    let machine = match std::env::consts::ARCH {
        "aarch64" => "arm64",
        _ => "x64",
    };
    package(&format!("node_modules/node-linux-{machine}/bin/node"))
}

pub(crate) fn cli() -> PathBuf {
    package("node_modules/@earendil-works/pi-coding-agent/dist/bundle/cli.js")
}

/// A home with Pi's configuration, the small project, and a provider that plays these turns.
pub(crate) struct Pi {
    pub(crate) env: TestEnv,
    pub(crate) provider: Provider,
    /// The key of Pi's own provider.
    pub(crate) key: Canary,
}

/// The options that load the extension, with the program of this build.
pub(crate) const EXTENSION: [&str; 2] = ["--deputize-program", DEPUTIZE];

impl Pi {
    pub(crate) fn playing(turns: impl IntoIterator<Item = Said>) -> Self {
        let turns = turns.into_iter().enumerate();
        Self::answering(turns.map(|(serial, said)| Speech::OpenaiChat.turn(serial, &said)))
    }

    pub(crate) fn answering(replies: impl IntoIterator<Item = Reply>) -> Self {
        let env = TestEnv::new(node());
        env.lay(|tree| {
            tree.small_project();
        });
        let provider = Provider::playing(replies);
        let key = Canary::new("PI_KEY");
        let agent = env.home().join(".pi/agent");
        fs::create_dir_all(&agent).unwrap();
        let models = json!({ "providers": { "host": {
            "baseUrl": format!("{}/v1", provider.url()),
            "api": "openai-completions",
            "apiKey": key.value(),
            "models": [{
                "id": "scripted", "reasoning": false, "input": ["text"],
                "contextWindow": 128_000, "maxTokens": 4_096,
                "cost": { "input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75 }
            }]
        }}});
        fs::write(agent.join("models.json"), models.to_string()).unwrap();
        Self { env, provider, key }
    }

    /// The arguments of Pi with the extension and these options.
    pub(crate) fn arguments(options: &[&str]) -> Vec<String> {
        let mut all = vec![cli().display().to_string()];
        all.extend(["--offline", "--model", "host/scripted", "-e"].map(str::to_owned));
        all.push(package("dist/deputize.mjs").display().to_string());
        all.extend(options.iter().map(|option| (*option).to_owned()));
        all
    }

    pub(crate) fn command(&self, options: &[&str]) -> Command {
        let mut command = self.env.command(node());
        command
            .args(Self::arguments(options))
            .env("PI_OFFLINE", "1");
        command
    }

    /// Pi in its RPC mode, with the program of this build.
    pub(crate) fn rpc(&self, options: &[&str]) -> Rpc {
        let all = [&["--mode", "rpc"], &EXTENSION[..], options].concat();
        Rpc::start(self.command(&all))
    }

    /// Pi in a mode that ends by itself.
    pub(crate) fn once(&self, options: &[&str]) -> Outcome {
        let all = [&EXTENSION[..], options].concat();
        self.env
            .call(Self::arguments(&all))
            .env("PI_OFFLINE", "1")
            .run()
    }

    /// The program `deputize` in the same home.
    #[track_caller]
    pub(crate) fn deputize(&self, arguments: &[&str]) -> String {
        let output = self.env.command(DEPUTIZE).args(arguments).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr)
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.env.workspace().join(path)).unwrap()
    }

    /// The requests that Pi's model got.
    pub(crate) fn asked(&self) -> Vec<Value> {
        self.provider.bodies()
    }
}

/// A call of the tool `subagent` by Pi's agent, with a child that plays the script.
pub(crate) fn subagent(model: &str, more: Value) -> Said {
    let mut arguments = json!({ "prompt": "Find the weight limit.", "model": model });
    for (name, value) in more.as_object().unwrap() {
        arguments[name] = value.clone();
    }
    Said::call("subagent", &arguments)
}

/// A child's script, in a file of its own: calls name it before the scene is there.
pub(crate) struct Script(PathBuf);

impl Script {
    pub(crate) fn of(turns: &Value) -> Self {
        use std::sync::atomic::{AtomicU32, Ordering};
        static SERIAL: AtomicU32 = AtomicU32::new(0);
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let name = format!("dp-script-{}-{serial}.json", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::write(&path, json!({ "turns": turns }).to_string()).unwrap();
        Self(path)
    }

    pub(crate) fn model(&self) -> String {
        format!("script:{}", self.0.display())
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        // A temporary file that can't be removed harms nobody.
        let _ = fs::remove_file(&self.0);
    }
}

/// Pi in its RPC mode.
pub(crate) struct Rpc {
    child: Child,
    input: Option<ChildStdin>,
    records: Receiver<Value>,
    stderr: Option<thread::JoinHandle<String>>,
    pub(crate) seen: Vec<Value>,
    /// How many had been seen when Pi was last prompted.
    prompted: usize,
    serial: u32,
}

impl Rpc {
    #[track_caller]
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut told = child.stderr.take().unwrap();
        let stderr = thread::spawn(move || {
            let mut text = String::new();
            // What was read is kept; a stream that breaks has said what it had to say.
            let _ = told.read_to_string(&mut text);
            text
        });
        let (sender, records) = channel();
        thread::spawn(move || {
            for line in output.split(b'\n').map_while(Result::ok) {
                // The reader may be gone.
                let _ = sender.send(serde_json::from_slice(&line).unwrap_or_default());
            }
        });
        Self {
            input: child.stdin.take(),
            child,
            records,
            stderr: Some(stderr),
            seen: Vec::new(),
            prompted: 0,
            serial: 0,
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    #[track_caller]
    pub(crate) fn send(&mut self, record: &Value) {
        let input = self.input.as_mut().unwrap();
        input.write_all(format!("{record}\n").as_bytes()).unwrap();
        input.flush().unwrap();
    }

    /// A command, and its response.
    #[track_caller]
    pub(crate) fn ask(&mut self, mut command: Value) -> Value {
        self.serial += 1;
        let id = format!("c{}", self.serial);
        command["id"] = json!(id);
        self.send(&command);
        self.until("the response", |record| {
            record["type"] == "response" && record["id"] == id
        })
    }

    #[track_caller]
    pub(crate) fn prompt(&mut self, message: &str) {
        self.prompted = self.seen.len();
        let said = self.ask(json!({ "type": "prompt", "message": message }));
        assert_eq!(said["success"], true, "{said}");
    }

    /// A command of an extension that asks something itself: its response comes at its end.
    #[track_caller]
    pub(crate) fn prompt_in_background(&mut self, message: &str) {
        self.prompted = self.seen.len();
        self.send(&json!({ "type": "prompt", "message": message }));
    }

    /// Waits for a record that comes after those that were waited for.
    #[track_caller]
    pub(crate) fn until(&mut self, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        let started = Instant::now();
        loop {
            let mut found = None;
            while let Ok(record) = self.records.try_recv() {
                self.seen.push(record.clone());
                if is_it(&record) {
                    found = Some(record);
                    break;
                }
            }
            if found.is_none()
                && let Ok(Some(status)) = self.child.try_wait()
            {
                let told = self.stderr.take().map(|told| told.join().unwrap());
                panic!(
                    "Pi ended ({status}) before {what}: {told:?}\n{}",
                    self.lately()
                );
            }
            if let Some(found) = found {
                return found;
            }
            assert!(
                started.elapsed() < PATIENCE,
                "waited in vain for {what}:\n{}",
                self.lately()
            );
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// The beginnings of the last records, for a failure.
    fn lately(&self) -> String {
        let last = self.seen.iter().rev().take(12).rev();
        last.map(|record| record.to_string().chars().take(300).collect::<String>() + "\n")
            .collect()
    }

    /// Waits for the end of a tool call, and returns it.
    #[track_caller]
    pub(crate) fn called(&mut self, tool: &str) -> Value {
        self.until(&format!("the end of {tool}"), |record| {
            record["type"] == "tool_execution_end" && record["toolName"] == tool
        })
    }

    /// Waits for a child that ended well, and for what Pi's agent makes of it, and ends Pi.
    #[track_caller]
    pub(crate) fn end_well(mut self) {
        let result = self.called("subagent");
        let answer = &result["result"]["details"]["answer"];
        assert_eq!(answer["status"], "ok", "{result}");
        self.settled();
        self.end();
    }

    /// Waits until Pi's agent has nothing to do about the last prompt. An entry of the session may have come after
    /// that, and so may have been waited for first.
    #[track_caller]
    pub(crate) fn settled(&mut self) {
        let is_it = |record: &Value| record["type"] == "agent_settled";
        let mut since = self.seen.iter().skip(self.prompted);
        if !since.any(is_it) {
            self.until("the agent settles", is_it);
        }
    }

    /// Waits for a dialog with choices.
    #[track_caller]
    pub(crate) fn dialog(&mut self) -> Value {
        self.until("a dialog", |record| {
            record["type"] == "extension_ui_request" && record["method"] == "select"
        })
    }

    /// Answers a dialog by the choice that begins so.
    #[track_caller]
    pub(crate) fn choose(&mut self, dialog: &Value, beginning: &str) {
        let options = dialog["options"].as_array().unwrap();
        let mut texts = options.iter().map(|option| option.as_str().unwrap());
        let Some(value) = texts.find(|text| text.starts_with(beginning)) else {
            panic!("no choice {beginning:?} in {dialog}");
        };
        self.send(&json!({ "type": "extension_ui_response", "id": dialog["id"], "value": value }));
    }

    /// An entry of the session that no model sees: one that came already, or the next.
    #[track_caller]
    pub(crate) fn entry(&mut self, kind: &str) -> Value {
        let is_it = |record: &Value| {
            record["type"] == "entry_appended" && record["entry"]["customType"] == kind
        };
        let seen = self.seen.iter().find(|record| is_it(record)).cloned();
        let record = seen.unwrap_or_else(|| self.until(&format!("the entry {kind}"), is_it));
        record["entry"]["data"].clone()
    }

    /// What was asked so far.
    pub(crate) fn dialogs(&self) -> usize {
        let dialogs = self.seen.iter();
        dialogs
            .filter(|record| {
                record["type"] == "extension_ui_request"
                    && ["select", "confirm", "input", "editor"]
                        .contains(&record["method"].as_str().unwrap())
            })
            .count()
    }

    /// Closes its input and waits for its end.
    #[track_caller]
    pub(crate) fn end(&mut self) {
        drop(self.input.take());
        until("Pi ends", || self.child.try_wait().unwrap());
    }

    #[track_caller]
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Rpc {
    fn drop(&mut self) {
        // It may have ended; then there is nothing to kill.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The text of a tool's result.
pub(crate) fn text(result: &Value) -> String {
    let parts = result["result"]["content"].as_array();
    let texts = parts
        .into_iter()
        .flatten()
        .map(|part| part["text"].as_str());
    texts.flatten().collect()
}

/// The code of a refusal that a call was answered with.
#[track_caller]
pub(crate) fn code(result: &Value) -> &str {
    let code = result["result"]["details"]["answer"]["error"]["code"].as_str();
    code.unwrap_or_else(|| panic!("no refusal: {result}"))
}

/// The program's process below Pi.
#[track_caller]
pub(crate) fn server(pi: u32) -> u32 {
    until("the program runs", || {
        let below = crate::scene::descendants(pi);
        below.into_iter().find(|id| {
            let line = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
            line.starts_with(DEPUTIZE.as_bytes()) && line.windows(5).any(|at| at == b"\0mcp\0")
        })
    })
}

/// A file for a test, beside the workspace.
pub(crate) fn beside(pi: &Pi, name: &str, text: &str) -> PathBuf {
    let path = pi.env.root().join(name);
    fs::write(&path, text).unwrap();
    path
}

/// Makes a file a program.
pub(crate) fn program(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}
