//! A mirror: a whole copy of a folder, for where no overlay can be had.

mod checkout;
mod compare;
mod index;
mod make;
mod since;

pub(crate) use checkout::index;
pub(crate) use compare::differences;
pub(crate) use index::Index;
pub(crate) use make::{Ignored, make};
pub(crate) use since::{Compared, Since, since};
