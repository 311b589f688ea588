//! Notices calls that go round in circles (D7).
//!
//! A command is one of them: a line that is read as a mere look, or that gave the same answer again
//! with nothing else done since, changed nothing that the next call of it could show.

use std::collections::HashMap;

use deputize_ledger::{Digest, canonical};
use deputize_model::{ToolOutcome, ToolUse};
use deputize_shell::{
    Answer, Completeness, Place, Role, What, World, analyse, first_opinion, judge,
};

use crate::CallKind;

/// So many identical calls run while nothing changes; the next is refused.
const MAX_IDENTICAL: u64 = 2;
/// Programs that wait for something: a line with one of them looks at what changes by itself.
const WAITS: [&str; 3] = ["sleep", "wait", "inotifywait"];

/// The calls since something last changed.
#[derive(Debug, Default)]
pub(crate) struct LoopGuard {
    seen: HashMap<Digest, Seen>,
    /// The latest answer of each call that may change something.
    answers: HashMap<Digest, Digest>,
    /// The latest call that changed something, as far as anybody can tell.
    changer: Option<Digest>,
}

#[derive(Debug)]
struct Seen {
    count: u64,
    /// The number of the latest one that ran.
    latest: u64,
}

impl LoopGuard {
    /// Notes a call; the number of the earlier one whose result will do, when this is one too many.
    ///
    /// Two calls are identical when tool and arguments are, whatever the order of the keys.
    pub(crate) fn admit(&mut self, number: u64, tool: &ToolUse) -> Result<(), u64> {
        if line(tool).is_some_and(waits) {
            return Ok(());
        }
        let seen = self.seen.entry(key(tool)).or_insert(Seen {
            count: 0,
            latest: number,
        });
        if seen.count >= MAX_IDENTICAL {
            return Err(seen.latest);
        }
        seen.count += 1;
        seen.latest = number;
        Ok(())
    }

    /// A call has ended: what may have changed makes others worth repeating.
    pub(crate) fn finished(
        &mut self,
        tool: &ToolUse,
        kind: CallKind,
        told: ToolOutcome,
        answer: &str,
    ) {
        let failed = told != ToolOutcome::Answered;
        // A change that failed is none: files are changed in whole or not at all.
        if !kind.may_change_state() || kind == CallKind::Change && failed {
            return;
        }
        let key = key(tool);
        let answer = Digest::of(answer.as_bytes());
        let before = self.answers.insert(key, answer);
        let is_new = before.is_some_and(|before| before != answer);
        if line(tool).is_some_and(looks) {
            // What it looks at is different now: others may see that, too.
            if is_new {
                self.seen.clear();
            }
            return;
        }
        let again = self
            .changer
            .replace(key)
            .is_some_and(|changer| changer == key);
        if is_new || !again {
            self.changed_by(&key);
        }
    }

    /// Something changed that was no call: any call may see something new.
    pub(crate) fn changed(&mut self) {
        self.seen.clear();
        self.changer = None;
    }

    /// All but the call itself may see something new: it counts from this one on.
    fn changed_by(&mut self, key: &Digest) {
        let own = self.seen.remove(key);
        self.seen.clear();
        if let Some(Seen { latest, .. }) = own {
            self.seen.insert(*key, Seen { count: 1, latest });
        }
    }
}

fn key(tool: &ToolUse) -> Digest {
    Digest::of(format!("{}\n{}", tool.name, canonical(&tool.arguments)).as_bytes())
}

/// The line of a call that runs one.
fn line(tool: &ToolUse) -> Option<&str> {
    (tool.name == "bash").then(|| tool.arguments["command"].as_str())?
}

/// Whether a line waits: repeating it is its purpose.
fn waits(line: &str) -> bool {
    first_opinion(line).is_some_and(|names| WAITS.iter().any(|wait| names.contains(*wait)))
}

/// Whether every part of a line was followed, and none of it changes anything.
fn looks(line: &str) -> bool {
    // Where the workspace lies doesn't matter: a change is one wherever it lands.
    let analysis = analyse(line, &World::workspace("/workspace", "/home/anybody"));
    analysis.completeness == Completeness::Complete
        && judge(&analysis).answer != Answer::Deny
        && analysis.effects.iter().all(|effect| match &effect.what {
            What::Run { .. } => true,
            What::Path { role, target } => {
                matches!(role, Role::Read | Role::Enter) || target.place == Place::Stream
            }
            What::Network { .. } | What::Act(_) => false,
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn call(arguments: serde_json::Value) -> ToolUse {
        ToolUse {
            id: "any".to_owned(),
            name: "grep".to_owned(),
            arguments,
        }
    }

    fn bash(command: &str) -> ToolUse {
        ToolUse {
            name: "bash".to_owned(),
            ..call(json!({ "command": command }))
        }
    }

    /// Makes these calls one after the other, each with its answer; which of them were refused.
    fn refused(calls: &[(ToolUse, CallKind, &str)]) -> Vec<usize> {
        let mut guard = LoopGuard::default();
        let refused = calls
            .iter()
            .enumerate()
            .filter(|(at, (tool, kind, answer))| {
                let refused = guard.admit(u64::try_from(*at).unwrap(), tool).is_err();
                if !refused {
                    guard.finished(tool, *kind, ToolOutcome::Answered, answer);
                }
                refused
            });
        refused.map(|(at, _)| at).collect()
    }

    fn run<'a>(command: &str, answer: &'a str) -> (ToolUse, CallKind, &'a str) {
        (bash(command), CallKind::Run, answer)
    }

    #[test]
    fn the_third_identical_call_is_refused_until_something_changes() {
        let mut guard = LoopGuard::default();
        let same = call(json!({"pattern": "x", "path": "src"}));
        let spelled_otherwise = call(json!({"path": "src", "pattern": "x"}));
        assert_eq!(guard.admit(1, &same), Ok(()));
        assert_eq!(guard.admit(2, &call(json!({"pattern": "y"}))), Ok(()));
        assert_eq!(guard.admit(3, &spelled_otherwise), Ok(()));
        assert_eq!(guard.admit(4, &same), Err(3));
        assert_eq!(guard.admit(5, &same), Err(3));
        guard.changed();
        assert_eq!(guard.admit(6, &same), Ok(()));
    }
    /// D7: a command is refused the third time when it can't say anything new.
    #[test]
    fn a_command_that_goes_round_in_circles_is_refused() {
        // One that nobody can look into, and that says the same.
        let test = || run("cargo test", "1 failed");
        assert_eq!(refused(&[test(), test(), test(), test()]), [2, 3]);
        // Looks in turn: what the one does is nothing to the other.
        let (ls, cat) = (|| run("ls -la src", "a"), || run("cat a | head", "x"));
        assert_eq!(refused(&[ls(), cat(), ls(), cat(), ls(), cat()]), [4, 5]);
        // A look between says nothing new either.
        assert_eq!(refused(&[test(), ls(), test(), ls(), test()]), [4]);
    }

    /// D7: as long as something may have changed, every call may be made again.
    #[test]
    fn a_command_that_may_say_something_new_is_not_refused() {
        let test = || run("cargo test", "1 failed");
        let edit = || (call(json!({"path": "a"})), CallKind::Change, "edited");
        assert_eq!(refused(&[test(), edit(), test(), edit(), test()]), [0; 0]);
        // Other answers each time.
        let told = ["1 failed", "2 failed", "3 failed", "4 failed"];
        let flaky: Vec<_> = told.iter().map(|told| run("cargo test", told)).collect();
        assert_eq!(refused(&flaky), [0; 0]);
        // Two that undo each other, and a look after each.
        let (there, back) = (|| run("sed -i s/1/2/ x", ""), || run("sed -i s/2/1/ x", ""));
        let look = |answer| run("cat x", answer);
        let turns = [
            there(),
            look("2"),
            back(),
            look("1"),
            there(),
            look("2"),
            back(),
            look("1"),
        ];
        assert_eq!(refused(&turns), [0; 0]);
        // Whoever waits asks again.
        let poll = || run("sleep 1; tail -n 1 log", "…");
        assert_eq!(refused(&[poll(), poll(), poll(), poll()]), [0; 0]);
    }

    /// D7: a change that fails changes nothing.
    #[test]
    fn a_change_that_fails_again_and_again_is_refused() {
        let mut guard = LoopGuard::default();
        let edit = call(json!({"path": "a", "edits": []}));
        for number in 1..=2 {
            assert_eq!(guard.admit(number, &edit), Ok(()));
            guard.finished(&edit, CallKind::Change, ToolOutcome::Failed, "no such text");
        }
        assert_eq!(guard.admit(3, &edit), Err(2));
    }
}
