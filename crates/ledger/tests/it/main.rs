//! The ledger from outside: what a stranger, a crash and a full disk do to it.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

mod canary;
mod chain;
mod crash;
mod disk;
mod fixture;
mod listed;
mod sample;
mod writer;
