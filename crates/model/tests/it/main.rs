//! The room from outside, one file per topic.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking, in its helpers too"
)]

mod chained;
mod scout;
mod scripted;
mod selected;
mod wires;

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use deputize_model::{Edge, Message, ModelClient, ModelError, Sleeper, Turn, TurnRequest};

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

/// An edge that holds one script and remembers how long it was asked to wait.
struct FakeEdge {
    script: Vec<u8>,
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
    fn holding(script: &str) -> Self {
        Self {
            script: script.as_bytes().to_vec(),
            waits: Arc::default(),
        }
    }
}

impl Edge for FakeEdge {
    fn script(&self, path: &str, limit: u64) -> Result<Vec<u8>, String> {
        if path == "absent.json" {
            return Err("no such file".to_owned());
        }
        assert!(limit > 0);
        Ok(self.script.clone())
    }

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
        allowance: deputize_model::Allowance::default(),
    }
}

/// One turn of a client that never really waits.
fn turn(client: &dyn ModelClient, messages: Vec<Message>) -> Result<Turn, ModelError> {
    turn_of(client, &request(messages))
}

fn turn_of(client: &dyn ModelClient, request: &TurnRequest) -> Result<Turn, ModelError> {
    let mut future = client.turn(request, &deputize_model::Unwatched);
    match future
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
    {
        Poll::Ready(result) => result,
        Poll::Pending => panic!("the client waited for something"),
    }
}
