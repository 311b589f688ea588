//! A model's provider on loopback: it speaks the real wire formats, says what a test laid out, and
//! remembers what it was asked.

mod server;
mod speech;

pub use server::{Asked, Provider, Reply};
pub use speech::{Said, Speech};
