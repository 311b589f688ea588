//! What people should know while a run goes on.

use std::fmt;

use deputize_authority::{Dimension, escape};

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
