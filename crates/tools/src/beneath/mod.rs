//! The only way to a file: below a folder handle that was opened once.
//!
//! Every granted root is opened when the worker starts. Paths are then resolved by the kernel
//! (`openat2`) below those handles, with no symlink followed by it: a symlink is read and followed
//! by hand, and each step is opened below a handle again. So a link that points back inside works,
//! also an absolute one, and a folder that becomes a link between check and use leads nowhere.
//!
//! # Invariants
//! - A [`Beneath`] was opened below a granted root; its canonical path held no symlink then.
//! - Contents are opened below the same handle, and only if the inode is still the one that was
//!   found.

mod error;
mod find;
mod open;
mod place;
mod roots;

pub(crate) use error::Lost;
pub use error::OpenError;
pub(crate) use open::{Purpose, create, open};
pub(crate) use place::{Beneath, kind_of};
pub(crate) use roots::Roots;
