//! What a principal adds while the run goes on (D9): queued, and told at the next turn boundary.
//!
//! Nothing that is under way is given up for it. It is the principal's text, so it may change the
//! task; it changes no right, no limit and no verdict, which come as typed events alone.

use deputize_model::Message;

use super::{Phase, Purpose, State};
use crate::Notice;

/// The most bytes of one message: a task may be this long, an addition to it needn't be longer.
pub const MAX_STEER_BYTES: usize = 16 * 1024;

/// Messages that wait at a time. Whoever sends more hasn't waited for an answer.
pub const MAX_STEERS: usize = 8;

/// What stands before the text, so that the child can tell it from the runtime's own words.
const LABEL: &str = "[principal] Whoever gave you the task adds:\n";

impl State {
    pub(super) fn steer(&mut self, text: &str) {
        let refused = if text.trim().is_empty() || text.len() > MAX_STEER_BYTES {
            Some(Notice::SteerInvalid)
        } else if self.is_ending() {
            Some(Notice::SteerTooLate)
        } else if self.steers.len() >= MAX_STEERS {
            Some(Notice::SteerFull)
        } else {
            None
        };
        let notice = refused.unwrap_or_else(|| {
            self.steers.push_back(format!("{LABEL}{text}"));
            Notice::Steered
        });
        self.notice(notice);
    }

    /// Whether no turn will come that could hear of it.
    fn is_ending(&self) -> bool {
        let closing = match &self.phase {
            Phase::Asking(asking) => asking.purpose == Purpose::Closing,
            // The check of an answer may still fail, and the child work on; but whoever hears
            // "queued" must be able to rely on it.
            Phase::Proving(_) | Phase::Checking(_) | Phase::Done => true,
            Phase::New | Phase::Calling(_) => false,
        };
        closing || self.ending.is_some()
    }

    /// Puts what waits into the conversation, in its order.
    pub(super) fn hear_principal(&mut self) {
        let waiting = std::mem::take(&mut self.steers);
        self.messages.extend(waiting.into_iter().map(Message::User));
    }
}
