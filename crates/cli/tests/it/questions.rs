//! Questions about single calls while a run goes on (S9, S5).

use std::process::Command;
use std::time::Duration;

use deputize_testkit::{Size, Terminal, TestEnv, until};
use serde_json::{Value, json};

use crate::allowances::own_rules;
use crate::scene::{call, events, only_run, project, say, script};

const SCREEN: Size = Size {
    columns: 200,
    rows: 60,
};

/// The person wants to be asked about `touch`, whatever contains it.
const RULES: &str = "[[ask]]\ncommand = \"touch\"\nreason = \"leaves files behind\"\n";
const PROMPT: &str = "[N]o:";

fn touch(name: &str) -> Value {
    call("bash", json!({ "command": format!("touch {name}") }))
}

/// A run whose child makes these calls and ends.
fn asked(calls: &[Value]) -> (TestEnv, Terminal) {
    let env = project();
    own_rules(&env, RULES);
    let mut turns = calls.to_vec();
    turns.push(say("Done."));
    let model = script(&env, &json!({ "turns": turns }));
    let command = env
        .call(["run", "--allow", "shell", "--model", &model, "Go."])
        .into_command();
    let terminal = Terminal::start(command, SCREEN);
    (env, terminal)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// What the only run's ledger holds of one kind of event, each with the number of its call.
fn told(env: &TestEnv, kind: &str) -> Vec<(u64, Value)> {
    let events = events(&only_run(env)).into_iter();
    let told = events.filter(|event| event["kind"] == kind);
    told.map(|event| {
        (
            event["data"]["call"].as_u64().unwrap(),
            event["data"].clone(),
        )
    })
    .collect()
}

/// Who answered what, of every question that was put.
fn answers(env: &TestEnv) -> Vec<(u64, String, String, String)> {
    let answered = told(env, "call.answered").into_iter();
    answered
        .map(|(call, data)| {
            (
                call,
                text(&data["answer"]),
                text(&data["by"]),
                text(&data["scope"]),
            )
        })
        .collect()
}

fn verdicts(env: &TestEnv) -> Vec<(u64, String, String)> {
    let decided = told(env, "call.decided").into_iter();
    decided
        .map(|(call, data)| (call, text(&data["verdict"]), text(&data["rule"])))
        .collect()
}

/// S9: the question shows the whole call, why it is asked and by which rule; a yes is for this one
/// time, so the same call is asked about again.
#[test]
fn a_yes_is_for_the_call_that_was_shown() {
    let (env, mut terminal) = asked(&[touch("a"), touch("b"), touch("a")]);
    terminal.until_shown(PROMPT);
    let screen = terminal.screen();
    for part in [
        "(general) asks before its call #1.",
        "  tool     bash",
        "  call     {\"command\":\"touch a\"}",
        "leaves files behind",
        "rules.toml:1",
    ] {
        assert!(screen.contains(part), "no {part:?} in\n{screen}");
    }
    terminal.press(b"y\n");
    for call in ["call #2.", "call #3."] {
        terminal.until_shown(call).until_shown(PROMPT).press(b"y\n");
    }
    let status = terminal.wait();
    assert_eq!(status.code(), Some(0), "{}", terminal.screen());
    let yes = |call| {
        let by = "an answer on the terminal".to_owned();
        (call, "yes".to_owned(), by, "once".to_owned())
    };
    assert_eq!(answers(&env), [yes(1), yes(2), yes(3)]);
    let allowed = verdicts(&env);
    let allowed: Vec<_> = allowed
        .iter()
        .map(|(call, verdict, _)| (*call, verdict.as_str()))
        .collect();
    let both = |call| [(call, "ask"), (call, "allow")];
    assert_eq!(allowed, [both(1), both(2), both(3)].concat());
}

/// S9: a run that was stopped on its terminal shows the open question again when it goes on.
#[test]
fn a_question_is_shown_again_after_a_stop() {
    let (_env, mut terminal) = asked(&[touch("a")]);
    terminal.until_shown(PROMPT);
    let signal = |name: &str| {
        let status = Command::new("kill")
            .args(["-s", name, &terminal.id().to_string()])
            .status();
        assert!(status.unwrap().success());
    };
    signal("STOP");
    std::thread::sleep(Duration::from_millis(1_500));
    signal("CONT");
    let shown = |terminal: &mut Terminal| {
        let raw = String::from_utf8_lossy(terminal.raw()).into_owned();
        raw.matches(PROMPT).count()
    };
    until("the question is shown again", || {
        (shown(&mut terminal) == 2).then_some(())
    });
    terminal.press(b"y\n");
    assert_eq!(terminal.wait().code(), Some(0), "{}", terminal.screen());
}

/// S9: a yes for the run covers exactly this call, as often as it comes, and no other.
#[test]
fn a_yes_for_the_run_covers_the_same_call_alone() {
    let (env, mut terminal) = asked(&[touch("a"), touch("b"), touch("a")]);
    terminal.until_shown(PROMPT).press(b"r\n");
    terminal
        .until_shown("call #2.")
        .until_shown(PROMPT)
        .press(b"r\n");
    let status = terminal.wait();
    assert_eq!(status.code(), Some(0), "{}", terminal.screen());
    let scopes: Vec<_> = answers(&env)
        .into_iter()
        .map(|(call, answer, _, scope)| (call, answer, scope))
        .collect();
    let yes = |call| (call, "yes".to_owned(), "run".to_owned());
    assert_eq!(scopes, [yes(1), yes(2)]);
    let last = verdicts(&env).pop().unwrap();
    assert_eq!((last.0, last.1.as_str()), (3, "allow"));
}

/// S9: Enter is a no: the call isn't run, the child is told, and goes on.
#[test]
fn the_default_is_no() {
    for (keys, answer, told) in [
        (&b"\n"[..], "no", "said no"),
        (
            &b"\x04"[..],
            "nobody",
            "nobody answered; nobody said no either",
        ),
    ] {
        let (env, mut terminal) = asked(&[touch("a")]);
        terminal.until_shown(PROMPT).press(keys);
        let status = terminal.wait();
        let screen = terminal.screen();
        assert_eq!(status.code(), Some(3), "{screen}");
        assert_eq!(answers(&env)[0].1, answer);
        let transcript = std::fs::read_to_string(only_run(&env).join("transcript.json")).unwrap();
        assert!(transcript.contains(told), "{transcript}");
        assert!(!screen.contains("+ a"), "{screen}");
    }
}

/// S9, P7: whatever a call holds stays in its row; one that is too long to be shown is never asked
/// about, since nobody could say yes to it.
#[test]
fn a_hostile_call_stays_in_its_row() {
    let hostile = "touch a\n\n  why      nothing\u{1b}[2J\u{202e}\u{7}";
    let long = format!("touch a #{}", "x".repeat(9_000));
    let bash = |command: &str| call("bash", json!({ "command": command }));
    let (env, mut terminal) = asked(&[bash(hostile), bash(&long)]);
    terminal.until_shown(PROMPT);
    let screen = terminal.screen();
    let whys = screen.lines().filter(|line| line.starts_with("  why "));
    assert_eq!(whys.count(), 1, "{screen}");
    let raw = String::from_utf8_lossy(terminal.raw()).into_owned();
    for obeyed in ["\u{1b}[2J", "\u{202e}"] {
        assert!(!raw.contains(obeyed), "{obeyed:?} in {raw:?}");
    }
    terminal.press(b"n\n");
    let status = terminal.wait();
    assert_eq!(status.code(), Some(3), "{}", terminal.screen());
    assert_eq!(answers(&env).len(), 1);
}

/// S9: who ends the run while it asks, ends it: the question goes with it.
#[test]
fn ctrl_c_at_a_question_ends_the_run() {
    let (env, mut terminal) = asked(&[touch("a")]);
    terminal.until_shown(PROMPT).press(b"\x03");
    let status = terminal.wait();
    assert_eq!(status.code(), Some(130), "{}", terminal.screen());
    assert_eq!(answers(&env), []);
}

/// S4, S9: without a terminal nobody is asked, and the refusal says so.
#[test]
fn without_a_terminal_nobody_is_asked() {
    let env = project();
    own_rules(&env, RULES);
    let model = script(&env, &json!({ "turns": [touch("a"), say("Done.")] }));
    let outcome = env
        .run(["run", "--allow", "shell", "--model", &model, "Go."])
        .expect_code(3);
    assert!(!outcome.err().contains(PROMPT), "{outcome}");
    assert_eq!(answers(&env), []);
    let transcript = std::fs::read_to_string(only_run(&env).join("transcript.json")).unwrap();
    assert!(transcript.contains("nobody can be asked"), "{transcript}");
}

/// G8, S9: a call that runs code which it doesn't hold is agreed to this one time, whatever the person
/// types: the child may have changed the script before the next.
#[test]
fn a_script_is_never_agreed_to_for_the_run() {
    let env = project();
    let rules = ["sh", "cat"].map(|name| RULES.replace("touch", name));
    own_rules(&env, &rules.join("\n"));
    let bash = |command: &str| call("bash", json!({ "command": command }));
    let turns = [
        bash("echo 'echo one' > run.sh"),
        bash("sh run.sh"),
        bash("echo 'echo two' > run.sh"),
        bash("sh run.sh"),
        bash("cat $(head -n 1 run.sh)"),
        say("Done."),
    ];
    let model = script(&env, &json!({ "turns": turns }));
    let command = env
        .call(["run", "--allow", "shell", "--model", &model, "Go."])
        .into_command();
    let mut terminal = Terminal::start(command, SCREEN);
    for call in ["call #2.", "call #4.", "call #5."] {
        terminal.until_shown(call).until_shown(PROMPT);
        assert!(!terminal.screen().contains("[r]"), "{}", terminal.screen());
        terminal.press(b"r\n");
    }
    let status = terminal.wait();
    assert_eq!(status.code(), Some(0), "{}", terminal.screen());
    let scopes: Vec<_> = answers(&env)
        .into_iter()
        .map(|(call, answer, _, scope)| (call, answer, scope))
        .collect();
    let yes = |call| (call, "yes".to_owned(), "once".to_owned());
    assert_eq!(scopes, [yes(2), yes(4), yes(5)]);
}
