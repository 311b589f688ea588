//! The table for command lines: what a mode makes of what holds a line in and of what it was read as
//! (G2, G3, G11). `docs/verdicts.md` shows it; children and agents of other hosts meet the same one.

use deputize_authority::Mode;
use deputize_shell::Answer;

/// What holds a line's effects in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hold {
    /// They can't leave a full boundary, and a copy takes them.
    pub(crate) contained: bool,
    /// They can't all be taken back.
    pub(crate) reaches: bool,
    /// A person approved commands for the run.
    pub(crate) approved: bool,
}

/// What becomes of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stance {
    /// Denied: this mode runs nothing.
    Explore,
    /// Allowed, whatever it does.
    Contained,
    /// Denied, by the rule that the reading names.
    Harmful,
    /// Allowed: it was read as harmless.
    Proven,
    /// Allowed: this mode asks nothing.
    Auto,
    /// Allowed: a person approved it for the run.
    Approved,
    /// A question.
    Ask,
}

/// The table. From the top, the first row that fits.
pub(crate) fn of(mode: Mode, hold: Hold, read: Answer) -> Stance {
    match mode {
        Mode::Explore => Stance::Explore,
        Mode::AutoEdit | Mode::AutoAll if hold.contained => Stance::Contained,
        // Nobody is asked about plain harm, nor does an approval for the run cover it.
        _ if read == Answer::Deny && (hold.reaches || mode == Mode::Ask) => Stance::Harmful,
        Mode::AutoAll if read == Answer::Allow => Stance::Proven,
        Mode::AutoAll => Stance::Auto,
        Mode::AutoEdit if hold.approved => Stance::Approved,
        Mode::AutoEdit | Mode::Ask => Stance::Ask,
    }
}
