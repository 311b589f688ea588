//! How runs of the protocol server end: cancelled, with their client, or with their server (B5, D9).

use std::fs;
use std::path::Path;

use deputize_testkit::{TestEnv, alive, processes_naming, until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::mcp_client::Client;
use crate::scene::{call, descendants, only_run, project, say, script};

/// A client that begins a run and then only waits, to be killed.
const CLIENT: &str = r#"
import json, subprocess, sys
server = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
def send(**message):
    server.stdin.write(json.dumps(dict(message, jsonrpc="2.0")) + "\n")
    server.stdin.flush()
send(id=1, method="initialize", params={"protocolVersion": "2025-11-25", "capabilities": {},
     "clientInfo": {"name": "doomed", "version": "1"}})
server.stdout.readline()
send(method="notifications/initialized")
send(id=2, method="tools/call", params={"name": "subagent", "arguments": json.loads(sys.argv[1])})
for line in server.stdout:
    print(line, end="", flush=True)
"#;

/// A client that is killed, by the test or by its failure.
struct Doomed(std::process::Child);

impl Drop for Doomed {
    fn drop(&mut self) {
        // After `wait` there is nothing to kill, and std knows it.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A child whose command leaves processes that try to stay, and waits for an hour.
fn stubborn(env: &TestEnv, mark: &str) -> Value {
    let command = format!(
        "(setsid sleep {mark} &); trap '' TERM; nohup sleep {mark} & echo began > began; sleep {mark}"
    );
    let turns = [call("bash", json!({ "command": command })), say("Done.")];
    let model = script(env, &json!({ "turns": turns }));
    json!({ "prompt": "Wait.", "model": model })
}

fn mark(number: u32) -> String {
    format!("5{number}7.{}", std::process::id())
}

fn until_it_works(mark: &str) {
    until("the child's processes", || {
        (processes_naming(mark).len() >= 3).then_some(())
    });
}

fn until_gone(below: &[u32], mark: &str) {
    until("nothing is left", || {
        let gone = below.iter().all(|id| !alive(*id)) && processes_naming(mark).is_empty();
        gone.then_some(())
    });
}

#[track_caller]
fn result(run: &Path) -> Value {
    let text = fs::read(run.join("result.json")).unwrap();
    serde_json::from_slice(&text).unwrap()
}

/// B5, D9: a cancelled call stops its run and its whole tree; the result is kept.
#[test]
fn mcp_a_cancelled_call_stops_the_tree() {
    let env = project();
    let mark = mark(1);
    let mut client = Client::begin(&env, &["--allow", "shell"], &json!({}));
    let id = client.begin_call("subagent", stubborn(&env, &mark));
    until_it_works(&mark);
    let below = descendants(client.id());
    client.notify("notifications/cancelled", json!({ "requestId": id }));
    client.event("ended");
    until_gone(&below, &mark);
    let run = only_run(&env);
    assert_eq!(result(&run)["status"], "cancelled");
    let id = run.file_name().unwrap().to_str().unwrap();
    let status = client.told("subagent_status", json!({ "run": id }));
    assert_eq!(status["status"], "cancelled");
}

/// B5, D9: stop gives the result once nothing of the run is left.
#[test]
fn mcp_stop_returns_when_the_tree_is_gone() {
    let env = project();
    let mark = mark(2);
    let mut client = Client::begin(&env, &["--allow", "shell"], &json!({}));
    let mut task = stubborn(&env, &mark);
    task["background"] = json!(true);
    let run = client.told("subagent", task)["run"].clone();
    until_it_works(&mark);
    let below = descendants(client.id());
    let ended = client.told("subagent_stop", json!({ "run": run }));
    assert_eq!(ended["status"], "cancelled");
    let left: Vec<u32> = below.into_iter().filter(|id| alive(*id)).collect();
    assert_eq!(left, [0; 0]);
    assert_eq!(processes_naming(&mark), [0; 0]);
}

/// B5, D9: a client that closes the pipe ends its runs, whose results are kept.
#[test]
fn mcp_a_closed_input_ends_every_run_and_loses_no_result() {
    let env = project();
    let mark = mark(3);
    let mut client = Client::begin(&env, &["--allow", "shell"], &json!({}));
    client.begin_call("subagent", stubborn(&env, &mark));
    until_it_works(&mark);
    let below = descendants(client.id());
    let (status, errors) = client.end();
    assert_eq!((status.code(), errors.as_str()), (Some(0), ""));
    until_gone(&below, &mark);
    let run = only_run(&env);
    assert_eq!(result(&run)["status"], "cancelled");
    let id = run.file_name().unwrap().to_str().unwrap();
    let mut other = Client::begin(&env, &[], &json!({}));
    let status = other.told("subagent_status", json!({ "run": id }));
    assert_eq!(status["status"], "cancelled");
    let changes = other.told("subagent_diff", json!({ "run": id }));
    assert_eq!(changes["changes"][0]["path"], "began");
}

/// B5, D9: kill -9 of the client ends its server with every run, and the results are kept.
#[test]
fn mcp_a_killed_client_leaves_no_process() {
    let env = project();
    let mark = mark(4);
    let task = stubborn(&env, &mark).to_string();
    let mut command = env.command("python3");
    command
        .args([
            "-c",
            CLIENT,
            &task,
            env!("CARGO_BIN_EXE_deputize"),
            "mcp",
            "--allow",
            "shell",
        ])
        .stdout(std::process::Stdio::null());
    let mut client = Doomed(command.spawn().unwrap());
    until_it_works(&mark);
    let below = descendants(client.0.id());
    assert!(below.len() >= 4, "{below:?}");
    client.0.kill().unwrap();
    let _ = client.0.wait().unwrap();
    until_gone(&below, &mark);
    assert_eq!(result(&only_run(&env))["status"], "cancelled");
}

/// B5, A2: kill -9 of the server leaves no process either, and the run is known as one whose host was
/// lost.
#[test]
fn mcp_a_killed_server_leaves_no_process() {
    let env = project();
    let mark = mark(5);
    let mut client = Client::begin(&env, &["--allow", "shell"], &json!({}));
    client.begin_call("subagent", stubborn(&env, &mark));
    until_it_works(&mark);
    let below = descendants(client.id());
    let id = Pid::from_raw(i32::try_from(client.id()).unwrap()).unwrap();
    kill_process(id, Signal::KILL).unwrap();
    until_gone(&below, &mark);
    let run = only_run(&env);
    let id = run.file_name().unwrap().to_str().unwrap();
    let mut other = Client::begin(&env, &[], &json!({}));
    let status = other.told("subagent_status", json!({ "run": id }));
    assert_eq!(status["host_lost"], true, "{status}");
}
