//! A client of the protocol server that writes and reads JSON-RPC itself, line by line.
//!
//! Whatever comes on standard output has to be one message of JSON-RPC a line: anything else fails the
//! test that saw it.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::process::{Child, ChildStdin, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use deputize_testkit::{Invocation, PATIENCE, TestEnv, until};
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Value, json};
use sha2::Sha256;

/// The newest revision that the server speaks.
pub(crate) const REVISION: &str = "2025-11-25";

/// A server with the pipes to it. Dropping it kills the server and nothing else.
pub(crate) struct Client {
    server: Child,
    input: Option<ChildStdin>,
    messages: Receiver<Value>,
    errors: Receiver<String>,
    /// What came while something else was waited for.
    kept: VecDeque<Value>,
    last_id: u64,
}

/// The secret of the host in these tests.
pub(crate) const SECRET: [u8; 32] = [7; 32];

/// The proof of an answer, as a host computes it.
pub(crate) fn proof(question: &Value, answer: &str, scope: &str) -> String {
    let about = about(question);
    let id = about["id"].as_str().unwrap();
    let mut mac = Hmac::<Sha256>::new_from_slice(&SECRET).unwrap();
    mac.update(format!("deputize-answer-1\n{id}\n{answer}\n{scope}").as_bytes());
    let bytes = mac.finalize().into_bytes();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What a question is about, as hosts see it.
pub(crate) fn about(question: &Value) -> Value {
    question["params"]["_meta"]["deputize/question"].clone()
}

/// An answer with its scope and proof.
pub(crate) fn accept(answer: &str, scope: Option<&str>, proof: &str) -> Value {
    let mut content = json!({ "answer": answer, "proof": proof });
    if let Some(scope) = scope {
        content["scope"] = json!(scope);
    }
    json!({ "action": "accept", "content": content })
}

/// What a client that shows questions declares.
pub(crate) fn asking() -> Value {
    json!({ "elicitation": {} })
}

impl Client {
    /// Starts `deputize mcp` and says hello with these capabilities.
    #[track_caller]
    pub(crate) fn begin(env: &TestEnv, options: &[&str], capabilities: &Value) -> Self {
        let mut client = Self::start(env, options);
        let hello = client.hello(REVISION, capabilities);
        assert_eq!(hello["protocolVersion"], REVISION);
        client
    }

    /// The same, as the host `pi` with this secret.
    #[track_caller]
    pub(crate) fn host(env: &TestEnv, options: &[&str], secret: &[u8]) -> Self {
        let reader = secret_pipe(secret);
        let number = reader.as_raw_fd().to_string();
        let mut all = vec!["--host", "pi", "--host-secret-fd", &number];
        all.extend(options);
        let mut client = Self::start(env, &all);
        drop(reader);
        client.hello(REVISION, &asking());
        client
    }

    /// Starts `deputize mcp`, without a word.
    pub(crate) fn start(env: &TestEnv, options: &[&str]) -> Self {
        let mut arguments = vec!["mcp"];
        arguments.extend(options);
        Self::of(env.call(arguments))
    }

    /// Starts this call as the server.
    pub(crate) fn of(call: Invocation<'_>) -> Self {
        let mut command = call.into_command();
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut server = command.spawn().unwrap();
        let output = BufReader::new(server.stdout.take().unwrap());
        let mut error = server.stderr.take().unwrap();
        let (tell, messages) = channel();
        thread::spawn(move || {
            for line in output.lines() {
                let Ok(line) = line else { break };
                // The message that isn't one is told as a text, and fails whoever takes it.
                let message = serde_json::from_str(&line).unwrap_or(Value::String(line));
                if tell.send(message).is_err() {
                    break;
                }
            }
        });
        let (tell_error, errors) = channel();
        thread::spawn(move || {
            let mut text = String::new();
            // What isn't UTF-8 isn't ours.
            let _ = error.read_to_string(&mut text);
            let _ = tell_error.send(text);
        });
        Self {
            input: server.stdin.take(),
            server,
            messages,
            errors,
            kept: VecDeque::new(),
            last_id: 0,
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.server.id()
    }

    /// Says hello; gives what the server says of itself.
    #[track_caller]
    pub(crate) fn hello(&mut self, revision: &str, capabilities: &Value) -> Value {
        let params = json!({
            "protocolVersion": revision,
            "capabilities": capabilities,
            "clientInfo": { "name": "raw", "version": "1" },
        });
        let id = self.ask("initialize", params);
        let hello = self.result(id);
        self.notify("notifications/initialized", json!({}));
        hello
    }

    /// Writes bytes as they are.
    #[track_caller]
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(bytes).unwrap();
        input.flush().unwrap();
    }

    #[track_caller]
    pub(crate) fn send(&mut self, message: &Value) {
        self.write(format!("{message}\n").as_bytes());
    }

    #[track_caller]
    pub(crate) fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Sends a request; gives its id.
    #[track_caller]
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// Begins a call of a tool; gives the request's id.
    #[track_caller]
    pub(crate) fn begin_call(&mut self, tool: &str, arguments: Value) -> u64 {
        self.ask(
            "tools/call",
            json!({ "name": tool, "arguments": arguments }),
        )
    }

    /// Calls a tool to its answer.
    #[track_caller]
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let id = self.begin_call(tool, arguments);
        self.result(id)
    }

    /// Calls a tool; gives its answer's object.
    #[track_caller]
    pub(crate) fn told(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.call(tool, arguments);
        assert_ne!(answer["isError"], true, "{answer:#}");
        answer["structuredContent"].clone()
    }

    /// Calls a tool that refuses; gives the refusal, which has every part.
    #[track_caller]
    pub(crate) fn refused(&mut self, tool: &str, arguments: Value) -> Value {
        refusal(&self.call(tool, arguments))
    }

    /// The whole answer to a request.
    #[track_caller]
    pub(crate) fn answer(&mut self, id: u64) -> Value {
        self.take(&format!("an answer to {id}"), |message| {
            message["id"] == id && message["method"].is_null()
        })
    }

    /// The result of a request.
    #[track_caller]
    pub(crate) fn result(&mut self, id: u64) -> Value {
        let answer = self.answer(id);
        assert!(answer["error"].is_null(), "{answer:#}");
        answer["result"].clone()
    }

    /// The next message with this method, from the server.
    #[track_caller]
    pub(crate) fn next(&mut self, method: &str) -> Value {
        self.take(method, |message| message["method"] == method)
    }

    /// The next log notification about this event.
    #[track_caller]
    pub(crate) fn event(&mut self, event: &str) -> Value {
        let message = self.take(event, |message| {
            message["method"] == "notifications/message"
                && message["params"]["data"]["event"] == event
        });
        message["params"]["data"].clone()
    }

    /// The next question.
    #[track_caller]
    pub(crate) fn question(&mut self) -> Value {
        self.next("elicitation/create")
    }

    /// Answers something that the server asked.
    #[track_caller]
    pub(crate) fn reply(&mut self, request: &Value, result: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "id": request["id"], "result": result }));
    }

    /// Answers a question with yes or no.
    #[track_caller]
    pub(crate) fn say(&mut self, question: &Value, answer: &str) {
        let content = json!({ "action": "accept", "content": { "answer": answer } });
        self.reply(question, content);
    }

    /// What came so far and nobody took, with this method.
    pub(crate) fn so_far(&mut self, method: &str) -> Vec<Value> {
        while let Ok(message) = self.messages.try_recv() {
            self.kept.push_back(checked(message));
        }
        let of_method = |message: &&Value| message["method"] == method;
        self.kept.iter().filter(of_method).cloned().collect()
    }

    /// Takes the first message that is meant; keeps the others.
    #[track_caller]
    pub(crate) fn take(&mut self, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.kept.iter().position(&is_it) {
            return self.kept.remove(at).unwrap();
        }
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let message = match self.messages.recv_timeout(left) {
                Ok(message) => checked(message),
                Err(RecvTimeoutError::Timeout) => {
                    panic!("waited in vain for {what}; there was {:#?}", self.kept)
                }
                Err(RecvTimeoutError::Disconnected) => {
                    let errors = self.errors.recv_timeout(PATIENCE);
                    panic!(
                        "it ended before {what}: {errors:?}; there was {:#?}",
                        self.kept
                    )
                }
            };
            if is_it(&message) {
                return message;
            }
            self.kept.push_back(message);
        }
    }

    /// Closes the input and waits for the end; gives the status and standard error.
    #[track_caller]
    pub(crate) fn end(mut self) -> (ExitStatus, String) {
        self.close();
        self.wait()
    }

    pub(crate) fn close(&mut self) {
        self.input = None;
    }

    /// Waits for the server's end; every last line was a message.
    #[track_caller]
    pub(crate) fn wait(mut self) -> (ExitStatus, String) {
        let status = until("the server ends", || self.server.try_wait().unwrap());
        let errors = self.errors.recv_timeout(PATIENCE).unwrap();
        while let Ok(message) = self.messages.recv_timeout(Duration::from_secs(5)) {
            checked(message);
        }
        (status, errors)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // After `wait` there is nothing to kill, and std knows it.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// The refusal in an answer, which must have every part.
#[track_caller]
pub(crate) fn refusal(answer: &Value) -> Value {
    assert_eq!(answer["isError"], true, "{answer:#}");
    let refusal = answer["structuredContent"]["error"].clone();
    for part in ["code", "field", "reason", "fix"] {
        let text = refusal[part].as_str().unwrap_or_default();
        assert!(!text.is_empty(), "no {part} in {answer:#}");
    }
    let text = answer["content"][0]["text"].as_str().unwrap();
    assert!(text.contains(refusal["code"].as_str().unwrap()), "{text}");
    refusal
}

/// The end of a pipe that a server reads its secret from.
pub(crate) fn secret_pipe(secret: &[u8]) -> OwnedFd {
    // Inherited by the one program that this test starts next.
    let (reader, writer) = rustix::pipe::pipe().unwrap();
    rustix::io::fcntl_setfd(&writer, rustix::io::FdFlags::CLOEXEC).unwrap();
    rustix::io::write(&writer, secret).unwrap();
    reader
}

#[track_caller]
fn checked(message: Value) -> Value {
    let kinds = ["method", "result", "error"];
    let is_message = message["jsonrpc"] == "2.0"
        && kinds
            .iter()
            .filter(|kind| !message[**kind].is_null())
            .count()
            == 1;
    assert!(is_message, "standard output held {message:#}");
    message
}
