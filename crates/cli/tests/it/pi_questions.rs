//! Pi's dialog is the host's own channel: whoever writes into the connection can't answer for it (S9).

use deputize_testkit::Said;
use serde_json::json;

use crate::allowances::own_rules;
use crate::pi_scene::{Pi, Script, subagent};
use crate::scene::{call, say};

/// A process of the agent's: it takes the sockets to the program from Pi and writes answers into them, for every id that
/// the question may have.
const ATTACK: &str = r#"
import ctypes, json, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
pi = int(sys.argv[1])
handle = os.pidfd_open(pi)
wrote = stopped = 0
def is_socket(name):
    try:
        return os.readlink(f"/proc/{pi}/fd/{name}").startswith("socket:")
    except OSError:
        return False
names = sorted(os.listdir(f"/proc/{pi}/fd"), key=int)
# The program was started before anything else: its sockets come first. Those of this command come later, and Pi
# itself doesn't outlive bytes in them.
for name in list(filter(is_socket, names))[:3]:
    mine = libc.syscall(438, handle, int(name), 0)
    if mine < 0:
        stopped += 1
        continue
    for number in range(40):
        for answer in ("yes", "no"):
            content = {"answer": answer, "scope": "run", "proof": "0" * 64}
            result = {"action": "accept", "content": content}
            line = json.dumps({"jsonrpc": "2.0", "id": number, "result": result}) + "\n"
            try:
                os.write(mine, line.encode())
                wrote += 1
            except OSError:
                pass
print("wrote" if wrote else "stopped" if stopped else "nothing", flush=True)
"#;

/// S9: answers without the proof start nothing and refuse nothing, and are told of; the person's answer counts.
#[test]
fn an_answer_from_beside_the_dialog_is_dropped() {
    let script = Script::of(&json!([say("MAX_WEIGHT is 31,500 g.")]));
    let holder = std::env::temp_dir();
    let attack = holder.join(format!("dp-attack-{}.py", std::process::id()));
    std::fs::write(&attack, ATTACK).unwrap();
    let mut turn = subagent(&script.model(), json!({}));
    let command = format!("python3 {} $PPID", attack.display());
    turn.calls.push((
        "bash".to_owned(),
        vec![json!({ "command": command }).to_string()],
    ));
    let pi = Pi::playing([turn, Said::text("Done.")]);
    let mut rpc = pi.rpc(&[]);
    rpc.prompt("Lower the limit.");
    let mut question = None;
    let mut attacked = None;
    while question.is_none() || attacked.is_none() {
        let record = rpc.until("the dialog and the attack", |record| {
            record["method"] == "select"
                || (record["type"] == "tool_execution_end" && record["toolName"] == "bash")
        });
        match record["method"] == "select" {
            true => question = Some(record),
            false => attacked = Some(record),
        }
    }
    let said = attacked.unwrap().to_string();
    std::fs::remove_file(&attack).unwrap();
    assert!(said.contains("wrote") || said.contains("stopped"), "{said}");
    let ended = rpc
        .seen
        .iter()
        .any(|record| record["type"] == "tool_execution_end" && record["toolName"] == "subagent");
    assert!(
        !ended,
        "the question was answered by the attack: {:?}",
        rpc.seen
    );
    rpc.choose(&question.unwrap(), "Yes, for this run");
    rpc.end_well();
    if said.contains("wrote") {
        // They reached the program: that is the control of this test.
        let record = pi.deputize(&["audit", "show", "--json"]);
        let rows: serde_json::Value = serde_json::from_str(&record).unwrap();
        let run = rows[0]["run"].as_str().unwrap();
        let folder = pi.env.state().join("deputize/runs");
        let folders = std::fs::read_dir(folder).unwrap();
        let mut folders = folders.map(|entry| entry.unwrap().path());
        let ledger = folders
            .find(|path| path.to_string_lossy().ends_with(run))
            .unwrap()
            .join("ledger.jsonl");
        let ledger = std::fs::read_to_string(ledger).unwrap();
        assert!(
            ledger.contains("answers without the host's proof"),
            "{ledger}"
        );
    }
}

/// S9, S5: a question about one call in the middle of a run: the whole call, its rule, No first, and a yes for this time
/// or for the same call in this run.
#[test]
fn a_single_call_is_asked_about_in_pi() {
    let touch = |name: &str| call("bash", json!({ "command": format!("touch {name}") }));
    let script = Script::of(&json!([
        touch("a"),
        touch("b"),
        touch("b"),
        touch("c"),
        say("Done."),
    ]));
    let pi = Pi::playing([subagent(&script.model(), json!({})), Said::text("Done.")]);
    let rule = "[[ask]]\ncommand = \"touch\"\nreason = \"leaves files behind\"\n";
    own_rules(&pi.env, rule);
    let mut rpc = pi.rpc(&[]);
    rpc.prompt("Touch them.");
    let start = rpc.dialog();
    rpc.choose(&start, "Yes, for this run");
    let mut asked = 0;
    for (command, answer) in [
        ("touch a", "Yes, this time"),
        ("touch b", "Yes, and for the same call in this run"),
        ("touch c", "No"),
    ] {
        let question = rpc.dialog();
        let card = question["title"].as_str().unwrap();
        for part in [command, "leaves files behind", "rules.toml:1"] {
            assert!(card.contains(part), "no {part:?} in {card}");
        }
        assert_eq!(question["options"][0], "No");
        rpc.choose(&question, answer);
        asked += 1;
    }
    let result = rpc.called("subagent");
    let answer = &result["result"]["details"]["answer"];
    assert_eq!(answer["usage"]["refused_calls"], 1, "{answer}");
    let changed = answer["changes"].as_array().unwrap().len();
    assert_eq!((changed, rpc.dialogs()), (2, asked + 1), "{answer}");
    rpc.settled();
    rpc.end();
}

/// S9: two questions come one after the other; an aborted turn takes both away, the one that waits too.
#[test]
fn questions_come_one_by_one_and_go_together() {
    let script = Script::of(&json!([say("never")]));
    let mut turn = subagent(&script.model(), json!({ "prompt": "One." }));
    let other = subagent(&script.model(), json!({ "prompt": "Two." }));
    turn.calls.extend(other.calls);
    let pi = Pi::playing([turn, Said::text("never")]);
    let mut rpc = pi.rpc(&[]);
    rpc.prompt("Do both.");
    rpc.dialog();
    // The agent settles before that is answered.
    rpc.ask(json!({ "type": "abort" }));
    assert_eq!(rpc.dialogs(), 1);
    rpc.end();
    assert!(
        crate::scene::runs(&pi.env).is_empty(),
        "something was started"
    );
}
