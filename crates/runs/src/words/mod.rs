//! Plans, cards and changes as text for people, whatever the screen: the caller says how wide it is.
//! Foreign text in them is escaped here.

mod card;
mod diff;
pub mod facts;
mod parent;
mod question;
mod repository;
mod text;

pub use card::card;
pub use diff::{
    Colours, change as diff_change, exceptions as diff_exceptions, listed as diff_listed,
    stat as diff_stat, sums as diff_sums,
};
pub use parent::{MAX_TOLD, for_parent, previous, structured};
pub use question::call_question;
pub use repository::Repositories;
pub use text::{cut, one_line, wrap};
