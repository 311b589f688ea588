//! The program is missing, of another version, mute or killed, or Pi itself is: calls are refused with the
//! reason, nothing goes on, and no result is lost (H3, B5, D9).

use std::fs;

use deputize_testkit::{Said, alive, until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::pi_scene::{Pi, Rpc, Script, beside, code, program, server, subagent, text};
use crate::scene::{call, descendants, say};

fn refused(pi: &Pi, deputize: &str) -> Value {
    let options = ["--mode", "rpc", "--deputize-program", deputize];
    let mut rpc = Rpc::start(pi.command(&options));
    rpc.prompt("What is the limit?");
    let result = rpc.called("subagent");
    rpc.settled();
    rpc.end();
    assert_eq!(result["isError"], true);
    assert!(text(&result).contains("\nFix: "), "{result}");
    result
}

fn asking() -> (Script, Pi) {
    let script = Script::of(&json!([say("MAX_WEIGHT is 31,500 g.")]));
    let pi = Pi::playing([
        subagent(&script.model(), json!({ "preset": "read-only" })),
        Said::text("It was refused."),
    ]);
    (script, pi)
}

/// H3: Pi starts without the program; each call says why it is refused.
#[test]
fn a_missing_program_refuses_each_call() {
    let (_script, pi) = asking();
    assert_eq!(code(&refused(&pi, "/nowhere/deputize")), "program_missing");
}

/// H3: a program of another version, and one that is something else, is not spoken to.
#[test]
fn another_version_is_not_spoken_to() {
    let (_script, pi) = asking();
    let other = beside(
        &pi,
        "other",
        "#!/usr/bin/env python3\n\
         import json, sys\n\
         asked = json.loads(sys.stdin.readline())\n\
         server = {'name': 'deputize', 'version': '99.0.0'}\n\
         result = {'protocolVersion': '2025-11-25', 'capabilities': {'tools': {}}, 'serverInfo': server}\n\
         print(json.dumps({'jsonrpc': '2.0', 'id': asked['id'], 'result': result}), flush=True)\n\
         sys.stdin.read()\n",
    );
    program(&other);
    pi.env.give();
    let result = refused(&pi, other.to_str().unwrap());
    assert_eq!(code(&result), "version_mismatch");
    assert!(text(&result).contains("99.0.0"), "{result}");
}

/// H3: a program that never answers is ended, and the calls are refused.
#[test]
fn a_mute_program_is_given_up() {
    let (_script, pi) = asking();
    let mute = beside(&pi, "mute", "#!/bin/sh\nexec cat > /dev/null\n");
    program(&mute);
    pi.env.give();
    let result = refused(&pi, mute.to_str().unwrap());
    assert_eq!(code(&result), "program_unusable");
    assert!(text(&result).contains("no answer in time"), "{result}");
}

/// H3: settings that can't be trusted are none: nothing is started by them.
#[test]
fn faulty_settings_refuse_each_call() {
    let (_script, pi) = asking();
    let settings = pi.env.configuration().join("deputize/pi.json");
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    fs::write(&settings, "{ \"gates\": \"explore\" }").unwrap();
    pi.env.give();
    let result = refused(&pi, crate::pi_scene::DEPUTIZE);
    assert!(text(&result).contains("[pi_settings_invalid, "), "{result}");
    assert!(text(&result).contains("no setting `gates`"), "{result}");
}

fn working() -> (Script, Pi) {
    let script = Script::of(&json!([
        call(
            "write",
            json!({ "path": "note.txt", "content": "half done\n" })
        ),
        call("bash", json!({ "command": "sleep 120" })),
        say("never"),
    ]));
    let pi = Pi::playing([
        subagent(&script.model(), json!({})),
        Said::text("It was lost."),
        Said::call("subagent_status", &json!({})),
        Said::text("Nothing goes on."),
    ]);
    (script, pi)
}

/// Starts Pi and a child whose command runs; gives the processes below Pi.
fn under_way(rpc: &mut Rpc) -> Vec<u32> {
    rpc.prompt("Work.");
    let question = rpc.dialog();
    rpc.choose(&question, "Yes, for this run");
    rpc.until("the command runs", |record| {
        record["method"] == "setWidget" && record.to_string().contains("running bash")
    });
    descendants(rpc.id())
}

fn gone(below: &[u32]) {
    until("nothing is left", || {
        below.iter().all(|id| !alive(*id)).then_some(())
    });
}

/// What the record says of the only run.
fn recorded(pi: &Pi) -> Value {
    let output = pi
        .env
        .command(crate::pi_scene::DEPUTIZE)
        .args(["audit", "show", "--json"])
        .output()
        .unwrap();
    let rows: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(rows.as_array().unwrap().len(), 1, "{rows}");
    rows[0].clone()
}

/// H3, B5: a killed program takes its runs along; the call says so, and the next one is served by a new one.
#[test]
fn a_killed_program_is_told_of_and_begun_anew() {
    let (_script, pi) = working();
    let mut rpc = pi.rpc(&[]);
    let below = under_way(&mut rpc);
    let killed = server(rpc.id());
    kill_process(Pid::from_raw(killed.cast_signed()).unwrap(), Signal::KILL).unwrap();
    let result = rpc.called("subagent");
    assert_eq!(code(&result), "program_lost", "{result}");
    gone(&below);
    rpc.settled();
    assert_eq!(recorded(&pi)["state"], "host_lost");
    rpc.prompt("What goes on?");
    let result = rpc.called("subagent_status");
    assert_eq!(result["isError"], false, "{result}");
    assert_ne!(server(rpc.id()), killed);
    rpc.end();
}

/// B5, D9: kill -9 of Pi leaves no process; what the child had done is in the record and in its copy.
#[test]
fn a_killed_pi_leaves_no_process_and_loses_nothing() {
    let (_script, pi) = working();
    let mut rpc = pi.rpc(&[]);
    let below = under_way(&mut rpc);
    rpc.kill();
    gone(&below);
    let run = recorded(&pi);
    // The program saw the end of its input and ended the run in order.
    assert_eq!(run["state"], "cancelled", "{run}");
    let diff = pi.deputize(&["diff", run["run"].as_str().unwrap()]);
    assert!(diff.contains("+half done"), "{diff}");
}

/// H3: a program that stops answering in the middle of a call is ended, its runs with it, and the call says so.
#[test]
fn a_program_that_falls_silent_is_given_up() {
    let (_script, pi) = working();
    let mut rpc = pi.rpc(&[]);
    let below = under_way(&mut rpc);
    let silent = Pid::from_raw(server(rpc.id()).cast_signed()).unwrap();
    kill_process(silent, Signal::STOP).unwrap();
    let result = rpc.called("subagent");
    assert_eq!(code(&result), "program_lost", "{result}");
    assert!(text(&result).contains("no sign of life"), "{result}");
    gone(&below);
    rpc.settled();
    rpc.end();
}

/// H3, D9: a new session has a program of its own; the old one's runs ended with the old session, in order.
#[test]
fn a_new_session_has_a_program_of_its_own() {
    let script = Script::of(&json!([say("MAX_WEIGHT is 31,500 g.")]));
    let read_only = json!({ "preset": "read-only" });
    let again = json!({ "preset": "read-only", "again": true });
    let pi = Pi::playing([
        subagent(&script.model(), read_only),
        Said::text("Done."),
        subagent(&script.model(), again),
        Said::text("Done again."),
    ]);
    let mut rpc = pi.rpc(&[]);
    rpc.prompt("What is the limit?");
    assert_eq!(rpc.called("subagent")["isError"], false);
    rpc.settled();
    let first = server(rpc.id());
    let said = rpc.ask(json!({ "type": "new_session" }));
    assert_eq!(said["success"], true, "{said}");
    until("the first program is gone", || {
        (!alive(first)).then_some(())
    });
    rpc.prompt("And now?");
    let result = rpc.called("subagent");
    assert_eq!(result["isError"], false, "{result}");
    assert_ne!(server(rpc.id()), first);
    rpc.settled();
    rpc.end();
}
