//! The gate for Pi's own agent, where the person turned it on (G3).

use std::fs;

use deputize_testkit::Said;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::pi_scene::{Pi, Rpc, beside, program, text};

fn bash(command: &str) -> Said {
    Said::call("bash", &json!({ "command": command }))
}

fn gated(pi: &Pi, mode: &str) -> Rpc {
    pi.rpc(&["--deputize-gate", mode])
}

/// G3, G6: what a mode allows passes; what is asked about runs by a yes alone, and the question names the rule; what
/// the person types is theirs.
#[test]
fn calls_of_pis_agent_are_judged() {
    let pi = Pi::playing([
        Said::call("read", &json!({ "path": "README.md" })),
        Said::call("write", &json!({ "path": "new.txt", "content": "new\n" })),
        bash("sudo touch no.txt"),
        bash("echo yes > yes.txt"),
        Said::text("Done."),
    ]);
    let mut rpc = gated(&pi, "auto-edit");
    rpc.prompt("Do it.");
    let allowed = rpc.called("read");
    assert!(text(&allowed).contains("# Parcel"), "{allowed}");
    assert_eq!(rpc.called("write")["isError"], false);
    let question = rpc.dialog();
    let card = question["title"].as_str().unwrap();
    for row in [
        "call   bash",
        "sudo touch no.txt",
        "rule   ",
        "(mode auto-edit)",
        "reason ",
    ] {
        assert!(card.contains(row), "{card}");
    }
    assert_eq!(question["options"][0], "No");
    rpc.choose(&question, "No");
    let refused = rpc.called("bash");
    assert_eq!(refused["isError"], true);
    assert!(
        text(&refused).contains("the person's answer was no"),
        "{refused}"
    );
    let question = rpc.dialog();
    rpc.choose(&question, "Yes");
    assert_eq!(rpc.called("bash")["isError"], false);
    rpc.settled();
    assert!(!pi.env.workspace().join("no.txt").exists());
    assert_eq!(pi.read("yes.txt"), "yes\n");
    let asked = rpc.dialogs();
    let own = rpc.ask(json!({ "type": "bash", "command": "touch own.txt && echo mine" }));
    assert!(own.to_string().contains("mine"), "{own}");
    assert_eq!(rpc.dialogs(), asked);
    rpc.end();
}

/// G3: explore looks and changes nothing.
#[test]
fn explore_changes_nothing() {
    let pi = Pi::playing([
        Said::call("write", &json!({ "path": "new.txt", "content": "new\n" })),
        bash("touch new.txt"),
        Said::call("read", &json!({ "path": "README.md" })),
        Said::text("Done."),
    ]);
    let mut rpc = gated(&pi, "explore");
    rpc.prompt("Do it.");
    for tool in ["write", "bash"] {
        let result = rpc.called(tool);
        assert_eq!(result["isError"], true, "{result}");
        assert!(
            text(&result).contains("Blocked by Deputize's gate"),
            "{result}"
        );
    }
    assert!(text(&rpc.called("read")).contains("# Parcel"));
    rpc.settled();
    rpc.end();
    assert!(!pi.env.workspace().join("new.txt").exists());
}

/// S4, G3: where nobody can be asked, what would be asked about is blocked.
#[test]
fn without_a_person_a_question_is_a_no() {
    let pi = Pi::playing([bash("touch asked.txt && ./asked.sh"), Said::text("Done.")]);
    let outcome = pi.once(&["--deputize-gate", "ask", "--mode", "json", "Do it."]);
    assert!(
        outcome.out().contains("nobody can be asked here"),
        "{outcome}"
    );
    assert!(!pi.env.workspace().join("asked.txt").exists());
}

/// G3: a lost program blocks, with the reason; what the person types still passes.
#[test]
fn a_lost_gate_blocks() {
    let pi = Pi::playing([bash("cat README.md"), Said::text("Done.")]);
    let gone = beside(&pi, "deputize", "");
    fs::copy(crate::pi_scene::DEPUTIZE, &gone).unwrap();
    program(&gone);
    pi.env.give();
    let options = [
        "--mode",
        "rpc",
        "--deputize-gate",
        "auto-all",
        "--deputize-program",
        gone.to_str().unwrap(),
    ];
    let mut rpc = Rpc::start(pi.command(&options));
    rpc.ask(json!({ "type": "get_state" }));
    let id = crate::scene::descendants(rpc.id());
    fs::remove_file(&gone).unwrap();
    for id in id {
        // One of them may have ended with another.
        let _ = kill_process(Pid::from_raw(id.cast_signed()).unwrap(), Signal::KILL);
    }
    rpc.prompt("Do it.");
    let result = rpc.called("bash");
    assert_eq!(result["isError"], true, "{result}");
    assert!(text(&result).contains("gate_lost"), "{result}");
    rpc.settled();
    let own = rpc.ask(json!({ "type": "bash", "command": "echo mine" }));
    assert!(own.to_string().contains("mine"), "{own}");
    rpc.end();
}

/// G3, S4: a project's files don't turn it on, nor off, nor name the program.
#[test]
fn a_projects_files_set_nothing() {
    let pi = Pi::playing([bash("touch passed.txt"), Said::text("Done.")]);
    let planted: Value = json!({
        "deputize-gate": "explore", "gate": "explore", "program": "/nowhere",
        "deputize": { "gate": "explore" }, "flags": { "deputize-gate": "explore" }
    });
    for path in [
        ".pi/settings.json",
        ".deputize/pi.json",
        ".config/deputize/pi.json",
    ] {
        let file = pi.env.workspace().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, planted.to_string()).unwrap();
    }
    pi.env.give();
    let _ = pi.once(&["--approve", "-p", "Do it."]).expect_code(0);
    assert!(pi.env.workspace().join("passed.txt").exists());
}
