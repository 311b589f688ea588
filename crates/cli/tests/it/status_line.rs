//! What a person sees on a terminal while a run goes on (A4).

use deputize_testkit::{Size, Terminal, TestEnv};
use serde_json::{Value, json};

use crate::scene::{call, project, say, script};

const SCREEN: Size = Size {
    columns: 100,
    rows: 24,
};

fn start(env: &TestEnv, turns: Value, size: Size, more: &[&str]) -> Terminal {
    let model = script(env, &json!({ "turns": turns }));
    let mut arguments = vec!["run", "--preset", "read-only", "--model", &model];
    arguments.extend(more);
    arguments.push("Look.");
    Terminal::start(env.call(arguments).into_command(), size)
}

/// One turn that looks, and one that takes its time.
fn slow(millis: u64) -> Value {
    let mut last = say("The limit is in src/limits.rs:4.");
    last["delay_ms"] = millis.into();
    json!([call("read", json!({ "path": "src/limits.rs" })), last])
}

/// A4: preset, what it does, counters against the budget and the time; at the end the line is cleared.
#[test]
fn the_live_line_shows_where_a_run_stands_and_is_cleared() {
    let env = project();
    let mut terminal = start(&env, slow(700), SCREEN, &[]);
    terminal.until_shown(" read-only · thinking · turns 1/30 · calls 1/100 · ");
    assert!(terminal.wait().success(), "{}", terminal.screen());
    let screen = terminal.screen();
    assert!(
        screen.contains("ok · scripted, no language model"),
        "{screen}"
    );
    assert!(screen.contains("#1 read "), "{screen}");
    assert!(
        !screen.contains("thinking"),
        "the line is still there\n{screen}"
    );
    let raw = String::from_utf8_lossy(terminal.raw()).into_owned();
    // Colours on a terminal: the status is green.
    assert!(raw.contains("\u{1b}[1;32mok\u{1b}[0m"), "{raw:?}");
}

/// A4: a silent model is seen to be silent.
#[test]
fn silence_is_shown() {
    let env = project();
    let mut terminal = start(&env, slow(3_600_000), SCREEN, &[]);
    terminal.until_shown("· silent 3 s").interrupt();
    assert_eq!(terminal.wait().code(), Some(130));
}

/// H1: NO_COLOR takes the colours away, and an empty one doesn't.
#[test]
fn no_color_is_obeyed() {
    let env = project();
    for (value, coloured) in [("1", false), ("", true)] {
        let model = script(&env, &json!({ "turns": [say("Plain.")] }));
        let command = env
            .call(["run", "--preset", "read-only", "--model", &model, "Look."])
            .env("NO_COLOR", value)
            .into_command();
        let mut terminal = Terminal::start(command, SCREEN);
        assert!(terminal.wait().success());
        let raw = String::from_utf8_lossy(terminal.raw()).into_owned();
        assert_eq!(raw.contains("\u{1b}[1;32m"), coloured, "{raw:?}");
    }
}

/// H1, B5: Ctrl-C in the middle of a turn ends the run and still prints a result.
#[test]
fn ctrl_c_still_prints_a_result() {
    let env = project();
    let mut terminal = start(&env, slow(3_600_000), SCREEN, &[]);
    terminal.until_shown("thinking · turns 1/30").interrupt();
    assert_eq!(terminal.wait().code(), Some(130), "{}", terminal.screen());
    let screen = terminal.screen();
    assert!(
        screen.contains("cancelled · scripted, no language model"),
        "{screen}"
    );
    assert!(screen.contains("cancelled: it was stopped"), "{screen}");
    assert!(screen.contains("turns 2/30 · calls 1/100"), "{screen}");
}

/// A terminal of 20 columns: no line of the status is wider, and it stays one line.
#[test]
fn a_narrow_terminal_is_not_overrun() {
    let env = project();
    let narrow = Size {
        columns: 20,
        rows: 40,
    };
    let mut terminal = start(&env, slow(700), narrow, &[]);
    terminal.until_shown("read-only · th");
    let live: Vec<String> = terminal
        .screen()
        .lines()
        .filter(|line| line.contains("read-only · th"))
        .map(str::to_owned)
        .collect();
    assert_eq!(live.len(), 1, "{live:?}");
    assert!(live[0].chars().count() < 20, "{live:?}");
    assert!(terminal.wait().success());
    let screen = terminal.screen();
    assert!(screen.contains("ok · "), "{screen}");
    assert!(!screen.contains("read-only · th"), "{screen}");
}

/// D8: a tool's name and arguments can't steer the terminal.
#[test]
fn hostile_names_do_not_steer_the_terminal() {
    let env = project();
    let hostile = "\u{1b}[2J\u{1b}]0;pwned\u{7}\u{9b}5n\r\n";
    let turns = json!([
        call(hostile, json!({ "path": hostile })),
        call("read", json!({ "path": hostile })),
        say(hostile),
        say("x")
    ]);
    let mut terminal = start(&env, turns, SCREEN, &[]);
    terminal.wait();
    let raw = String::from_utf8_lossy(terminal.raw()).into_owned();
    for sequence in ["\u{1b}[2J", "\u{1b}]", "\u{7}", "\u{9b}"] {
        assert!(!raw.contains(sequence), "{sequence:?} in {raw:?}");
    }
}

/// H1: `--quiet` and `--json` show nothing but the result, on a terminal too.
#[test]
fn quiet_and_json_show_nothing_but_the_result() {
    let env = project();
    for option in ["--quiet", "--json"] {
        let mut terminal = start(&env, slow(300), SCREEN, &[option]);
        assert!(terminal.wait().success());
        let raw = String::from_utf8_lossy(terminal.raw()).into_owned();
        assert!(
            !raw.contains("thinking") && !raw.contains("\u{1b}[2K"),
            "{raw:?}"
        );
    }
}

/// D1: on a terminal nobody is kept waiting for a prompt that doesn't come.
#[test]
fn a_prompt_is_not_waited_for_on_a_terminal() {
    let env = project();
    let command = env
        .call(["run", "--preset", "read-only", "--model", "scout"])
        .into_command();
    let mut terminal = Terminal::start(command, SCREEN);
    assert_eq!(terminal.wait().code(), Some(2));
    assert!(
        terminal.screen().contains("there is no prompt"),
        "{}",
        terminal.screen()
    );
}
