//! What people should know while a run goes on.

use std::fmt;

use deputize_authority::{Dimension, escape};

use crate::{MAX_STEER_BYTES, MAX_STEERS};

/// Something worth showing and recording. It changes nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// The child was told to come to an end: four fifths of these are used.
    WrapUp(Vec<Dimension>),
    /// A dimension is used up: the child writes its result now.
    Exhausted(Dimension),
    /// A person raised limits.
    Extended,
    /// A person raised limits after the child was already writing its result.
    ExtendedTooLate,
    /// What the principal added is queued for the next turn.
    Steered,
    /// The principal added something after the last turn that could hear of it.
    SteerTooLate,
    /// Too many of the principal's messages wait already.
    SteerFull,
    /// The principal's message is empty or too long.
    SteerInvalid,
    /// A call was refused because it was the third of its kind with nothing changed between.
    Repeated {
        /// The number of the refused call.
        call: u64,
        /// The tool, as the model named it.
        tool: String,
        /// The number of the call whose result will do.
        earlier: u64,
    },
    /// Nothing happened for 20 s.
    Slow,
    /// Nothing happened for 60 s.
    Stalled,
    /// Something happened again.
    Awake,
}

impl Notice {
    /// A stable name for scripts and ledgers.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::WrapUp(_) => "wrap_up",
            Self::Exhausted(_) => "exhausted",
            Self::Extended => "extended",
            Self::ExtendedTooLate => "extended_too_late",
            Self::Steered => "steered",
            Self::SteerTooLate => "steer_too_late",
            Self::SteerFull => "steer_full",
            Self::SteerInvalid => "steer_invalid",
            Self::Repeated { .. } => "repeated_call",
            Self::Slow => "slow",
            Self::Stalled => "stalled",
            Self::Awake => "awake",
        }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WrapUp(dimensions) => {
                let names: Vec<&str> = dimensions.iter().map(|one| one.name()).collect();
                write!(f, "told to wrap up: 80 % of {} used", names.join(", "))
            }
            Self::Exhausted(dimension) => write!(f, "the budget for {dimension} is used up"),
            Self::Extended => f.write_str("the budget was extended"),
            Self::ExtendedTooLate => {
                f.write_str("the budget was extended too late: the result is being written")
            }
            Self::Steered => f.write_str("the principal's message is queued for the next turn"),
            Self::SteerTooLate => {
                f.write_str("the principal's message came too late: the result is being made")
            }
            Self::SteerFull => write!(
                f,
                "{MAX_STEERS} messages of the principal wait already; this one was not taken"
            ),
            Self::SteerInvalid => write!(
                f,
                "the principal's message is empty or has more than {MAX_STEER_BYTES} bytes"
            ),
            Self::Repeated {
                call,
                tool,
                earlier,
            } => write!(
                f,
                "call #{call} ({}) repeats call #{earlier} and was not run",
                escape(tool)
            ),
            Self::Slow => f.write_str("nothing happened for 20 s"),
            Self::Stalled => f.write_str("nothing happened for 60 s"),
            Self::Awake => f.write_str("it goes on"),
        }
    }
}
