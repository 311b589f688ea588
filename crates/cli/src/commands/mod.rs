//! One file per command.

pub(crate) mod audit;
pub(crate) mod auth;
pub(crate) mod completions;
pub(crate) mod doctor;
pub(crate) mod exec;
pub(crate) mod explain;
pub(crate) mod man;
pub(crate) mod run;
