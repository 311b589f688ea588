//! Results, plans and events as text for people. Foreign text is escaped here and nowhere else.

mod card;
mod diff;
mod event;
mod facts;
mod plan;
mod repository;
mod result;
mod text;

pub(crate) use card::card;
pub(crate) use diff::{
    Colours, change as diff_change, exceptions as diff_exceptions, listed as diff_listed,
    stat as diff_stat, sums as diff_sums,
};
pub(crate) use event::event;
pub(crate) use plan::{exec_plan, plan};
pub(crate) use repository::Repositories;
pub(crate) use result::result;
pub(crate) use text::cut;
