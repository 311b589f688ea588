//! Notices calls that go round in circles (D7).

use std::collections::HashMap;

use deputize_ledger::{Digest, canonical};
use deputize_model::ToolUse;

/// So many identical calls run while nothing changes; the next is refused.
const MAX_IDENTICAL: u64 = 2;

/// The calls since something last changed.
#[derive(Debug, Default)]
pub(crate) struct LoopGuard {
    seen: HashMap<Digest, Seen>,
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
        let key = format!("{}\n{}", tool.name, canonical(&tool.arguments));
        let seen = self.seen.entry(Digest::of(key.as_bytes())).or_insert(Seen {
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

    /// Something changed: any call may see something new.
    pub(crate) fn changed(&mut self) {
        self.seen.clear();
    }
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
}
