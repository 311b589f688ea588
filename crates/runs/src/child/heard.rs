//! What a model's client says beside its turns: that it lives, and what a person should know.

use deputize_model::Watch;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Something that was said.
#[derive(Debug)]
pub(super) enum Heard {
    /// The answer to a turn has begun, or goes on.
    Streaming {
        /// The turn.
        turn: u64,
    },
    /// Something to show and to write down.
    Notice {
        /// Its code.
        code: &'static str,
        /// Its sentence.
        message: String,
    },
}

/// Where it is said. It is kept by the loop, so that the other end never closes.
pub(super) struct Hearing(UnboundedSender<Heard>);

/// As one turn says it.
pub(super) struct OfTurn {
    turn: u64,
    to: UnboundedSender<Heard>,
}

impl Hearing {
    pub(super) fn new() -> (Self, UnboundedReceiver<Heard>) {
        let (to, heard) = unbounded_channel();
        (Self(to), heard)
    }

    pub(super) fn of_turn(&self, turn: u64) -> OfTurn {
        OfTurn {
            turn,
            to: self.0.clone(),
        }
    }
}

impl Watch for OfTurn {
    fn streaming(&self) {
        // A loop that has ended needs no more signs of life.
        let _ = self.to.send(Heard::Streaming { turn: self.turn });
    }

    fn notice(&self, code: &'static str, message: String) {
        // As above.
        let _ = self.to.send(Heard::Notice { code, message });
    }
}
