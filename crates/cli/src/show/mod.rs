//! Results, plans and events as text for this program's screens. What every face shows alike comes
//! from `runs`.

mod event;
mod plan;
mod result;

pub(crate) use deputize_runs::words::{
    Colours, card, cut, diff_change, diff_exceptions, diff_listed, diff_stat, diff_sums,
};
pub(crate) use event::event;
pub(crate) use plan::{exec_plan, plan};
pub(crate) use result::result;
