//! A model that runs on this machine: an Ollama, and what it says that it can do.

use deputize_model::Endpoint;
use hyper::Method;
use hyper::body::Bytes;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use crate::http::{Line, Sent, beginning};
use crate::limits::{LOCAL, LOCAL_BYTES, LOCAL_MODELS};

#[derive(Deserialize)]
struct List {
    #[serde(default)]
    models: Vec<Listed>,
}

#[derive(Deserialize)]
struct Listed {
    name: String,
}

#[derive(Deserialize)]
struct Shown {
    #[serde(default)]
    capabilities: Vec<String>,
}

/// The first model of an Ollama on this machine that says it can call tools; `None` where nothing
/// answers in time. Nothing but the question goes there: no key, no prompt.
#[must_use]
pub fn model_on_this_machine(endpoint: &Endpoint) -> Option<String> {
    if !endpoint.base.is_loopback() {
        return None;
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .ok()?;
    runtime.block_on(async { timeout(LOCAL, first_with_tools(endpoint)).await.ok()? })
}

async fn first_with_tools(endpoint: &Endpoint) -> Option<String> {
    let mut line = Line::new(endpoint.base.clone()).ok()?;
    let list: List = ask(&mut line, Method::GET, "/api/tags", Bytes::new()).await?;
    for model in list.models.into_iter().take(LOCAL_MODELS) {
        let body = serde_json::json!({ "model": model.name }).to_string();
        let shown: Option<Shown> =
            ask(&mut line, Method::POST, "/api/show", Bytes::from(body)).await;
        let calls = |shown: Shown| shown.capabilities.iter().any(|can| can == "tools");
        if shown.is_some_and(calls) {
            return Some(model.name);
        }
    }
    None
}

async fn ask<T: DeserializeOwned>(
    line: &mut Line,
    method: Method,
    path: &str,
    body: Bytes,
) -> Option<T> {
    let sent = Sent {
        method,
        path,
        headers: &[],
        body,
    };
    let response = line.send(&sent).await.ok()?;
    if response.status() != 200 {
        return None;
    }
    let body = beginning(response.into_body(), LOCAL_BYTES).await;
    serde_json::from_slice(&body).ok()
}
