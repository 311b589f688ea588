//! The room from outside, one file per topic.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking, in its helpers too"
)]

mod scripted;

use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use deputize_model::{Message, ModelClient, ModelError, Sleeper, Turn, TurnRequest};

/// Every file beside this one is a module of it, so none is forgotten.
#[test]
fn every_file_is_listed() {
    let listed = include_str!("main.rs");
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it");
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let module = name.strip_suffix(".rs").unwrap();
        assert!(
            module == "main" || listed.contains(&format!("\nmod {module};")),
            "tests/it/{name} is not listed in main.rs"
        );
    }
}

/// An edge that remembers how long it was asked to wait.
struct FakeEdge {
    waits: Arc<Waits>,
}

#[derive(Default)]
struct Waits(Mutex<Vec<u64>>);

impl Sleeper for Waits {
    fn sleep(&self, millis: u64) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        self.0.lock().unwrap().push(millis);
        Box::pin(std::future::ready(()))
    }
}

impl FakeEdge {
    fn sleeper(&self) -> Arc<dyn Sleeper> {
        Arc::clone(&self.waits) as Arc<dyn Sleeper>
    }
}

fn request(messages: Vec<Message>) -> TurnRequest {
    TurnRequest {
        system: String::new(),
        messages,
        tools: Vec::new(),
        max_output_tokens: 1_000,
    }
}

/// One turn of a client that never really waits.
fn turn(client: &dyn ModelClient, messages: Vec<Message>) -> Result<Turn, ModelError> {
    let request = request(messages);
    let mut future = pin!(client.turn(&request));
    match future
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
    {
        Poll::Ready(result) => result,
        Poll::Pending => panic!("the client waited for something"),
    }
}
