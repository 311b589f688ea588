//! G1, G10: the hook of another host fails closed, whatever it is fed.

use deputize_gate::{Decision, Host, OnAsk, Seat, hook};
use deputize_shell::{Opinion, User};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use crate::world::agrees;

/// Another parser that can't be asked.
fn absent(_: &str) -> Option<Opinion> {
    None
}

fn seat(host: Option<Host>, on_ask: OnAsk) -> Seat {
    Seat {
        rules: Vec::new(),
        host,
        roots: Vec::new(),
        home: "/home/u".to_owned(),
        user: User::Ordinary,
        on_ask,
        second: agrees,
    }
}

fn call(tool: &str, input: Value) -> Vec<u8> {
    let call = json!({
        "hook_event_name": "PreToolUse", "cwd": "/w", "tool_name": tool, "tool_input": input,
    });
    call.to_string().into_bytes()
}

fn decided(input: &[u8], seat: &Seat) -> Decision {
    hook(input, seat).map_or(Decision::Deny, |answer| answer.decision)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn g10_no_bytes_are_an_allowance(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        prop_assert!(hook(&bytes, &seat(None, OnAsk::Leave)).is_err());
    }

    /// A file tool is never allowed from the text of its path.
    #[test]
    fn g1_a_path_is_never_allowed(
        tool in select(vec!["Read", "Write", "Edit", "MultiEdit"]),
        path in "[a-z./~@ \\PC]{0,40}",
    ) {
        let decision = decided(&call(tool, json!({ "file_path": path })), &seat(None, OnAsk::Ask));
        prop_assert_ne!(decision, Decision::Allow);
    }

    /// Whatever the line, Codex is given a denial or nothing, and denials don't hang on the host.
    #[test]
    fn g1_the_hosts_differ_in_questions_alone(
        parts in prop::collection::vec(
            select(vec!["ls", "rm -rf /", "make", "; ", " && ", " | ", "$(", ")", "'", "\"", "x", " "]),
            0..8,
        ),
    ) {
        let input = call("Bash", json!({ "command": parts.concat() }));
        let claude = decided(&input, &seat(Some(Host::ClaudeCode), OnAsk::Ask));
        let codex = hook(&input, &seat(Some(Host::Codex), OnAsk::Ask)).unwrap();
        let expected = match claude {
            Decision::Ask => Decision::Deny,
            other => other,
        };
        prop_assert_eq!(codex.decision, expected);
        prop_assert_eq!(codex.output.is_some(), expected == Decision::Deny);
    }
}

/// The laws above would hold for a hook that allows nothing; and without the other parser it does.
#[test]
fn an_allowance_needs_both_parsers() {
    let input = call("Bash", json!({ "command": "ls src" }));
    let with = seat(None, OnAsk::Ask);
    assert_eq!(decided(&input, &with), Decision::Allow);
    let without = Seat {
        second: absent,
        ..with
    };
    assert_eq!(decided(&input, &without), Decision::Ask);
}
