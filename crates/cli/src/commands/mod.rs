//! One file per command.

pub(crate) mod apply;
pub(crate) mod audit;
pub(crate) mod auth;
pub(crate) mod completions;
mod copies;
pub(crate) mod demo;
pub(crate) mod diff;
pub(crate) mod discard;
pub(crate) mod doctor;
pub(crate) mod exec;
pub(crate) mod explain;
pub(crate) mod gate;
pub(crate) mod gc;
pub(crate) mod install;
pub(crate) mod man;
pub(crate) mod mcp;
pub(crate) mod rules;
pub(crate) mod run;
pub(crate) mod undo;
