//! Clients of the protocol server that somebody else wrote: the official Python SDK, and the MCP
//! Inspector in its CLI mode (H2, N5, S9).
//!
//! `cargo xtask test` installs them below the target folder; without them nothing is tested, and that is
//! said.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use deputize_testkit::{Outcome, TestEnv};
use serde_json::{Value, json};

use crate::scene::{call, parsed, runs, say, script, texts};

const DEPUTIZE: &str = env!("CARGO_BIN_EXE_deputize");

/// A file of a client that was installed; `None`, and said so, where it wasn't.
fn installed(client: &str, file: &str) -> Option<PathBuf> {
    let target = Path::new(DEPUTIZE).ancestors().nth(2).unwrap();
    let path = target.join("tools").join(client).join(file);
    if path.exists() {
        return Some(path);
    }
    println!("{client} isn't installed: `cargo xtask test` does that");
    None
}

/// A program that this user may run; `None`, and said so, where there is none.
fn runnable(program: PathBuf) -> Option<PathBuf> {
    if Command::new(&program).arg("--version").output().is_ok() {
        return Some(program);
    }
    println!("this user can't run {}", program.display());
    None
}

fn python() -> Option<PathBuf> {
    let system = PathBuf::from("/usr/bin/python3");
    let python = if system.is_file() {
        system
    } else {
        "python3".into()
    };
    runnable(python)
}

/// The node that came with Pi.
fn node() -> Option<PathBuf> {
    let machine = match std::env::consts::ARCH {
        "aarch64" => "arm64",
        _ => "x64",
    };
    let packages = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../packages/pi/node_modules"
    );
    runnable(Path::new(packages).join(format!("node-linux-{machine}/bin/node")))
}

/// H2, S9, N5, C2: a host that is written with the official SDK goes the whole way: tools, a run with
/// progress, its own model as the child's, questions, changes, and a refusal.
#[test]
fn mcp_the_official_python_sdk_goes_the_whole_way() {
    let (Some(sdk), Some(python)) = (installed("mcp-python", "mcp"), python()) else {
        return;
    };
    let env = TestEnv::new(python);
    env.lay(|tree| {
        tree.small_project();
    });
    let write = call("write", json!({ "path": "new.txt", "content": "new\n" }));
    let model = script(&env, &json!({ "turns": [write, say("Done.")] }));
    let driver = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients/official.py");
    let outcome = env
        .call([driver, DEPUTIZE, &model])
        .env("PYTHONPATH", sdk.parent().unwrap())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .run()
        .expect_code(0);
    let came = parsed(&outcome);
    assert_eq!(came["protocol"], "2025-11-25");
    assert_eq!(came["tools"].as_array().unwrap().len(), 8);
    assert_eq!(came["scout"]["status"], "ok", "{came:#}");
    assert_eq!(came["scout"]["model_label"], "scout");
    assert!(came["progress"].as_u64().unwrap() > 0);
    for event in ["started", "ended"] {
        assert!(
            texts(&came["logged"]).contains(&event),
            "{}",
            came["logged"]
        );
    }
    let own = &came["own"];
    assert_eq!(
        (&own["status"], &own["model_label"]),
        (&json!("ok"), &json!("host"))
    );
    assert_eq!(own["usage"]["tool_calls"], 1);
    assert_eq!(came["turns"].as_array().unwrap().len(), 2);
    assert_eq!(came["wrote"]["changes"][0]["path"], "new.txt");
    let questions = texts(&came["questions"]);
    assert_eq!(questions.len(), 3, "{questions:?}");
    assert!(
        questions[0].contains("the agent in official"),
        "{}",
        questions[0]
    );
    assert!(questions[2].contains("new.txt"), "{}", questions[2]);
    let code = |answer: &Value| answer["structuredContent"]["error"]["code"].clone();
    assert_eq!(code(&came["declined"]), "declined");
    assert_eq!(came["applied"]["structuredContent"]["status"], "applied");
    assert_eq!(code(&came["bad"]), "arguments_invalid");
    let new = fs::read_to_string(env.workspace().join("new.txt")).unwrap();
    assert_eq!(new, "new\n");
}

/// H2: the MCP Inspector lists the tools, runs one to its end, and shows a refusal.
#[test]
fn mcp_the_inspector_lists_and_calls_the_tools() {
    let client = "node_modules/@modelcontextprotocol/inspector/package.json";
    let (Some(package), Some(node)) = (installed("mcp-inspector", client), node()) else {
        return;
    };
    let env = TestEnv::new(node);
    env.lay(|tree| {
        tree.small_project();
    });
    let text = fs::read_to_string(&package).unwrap();
    let described: Value = serde_json::from_str(&text).unwrap();
    let start = described["bin"]["mcp-inspector"].as_str().unwrap();
    let start = package.parent().unwrap().join(start);
    let inspect = |arguments: &[&str]| -> Outcome {
        let start = start.to_str().unwrap();
        let all = [&[start, "--cli", DEPUTIZE, "mcp", "--method"], arguments].concat();
        env.call(all).run()
    };
    let listed = parsed(&inspect(&["tools/list"]).expect_code(0));
    assert_eq!(listed["tools"].as_array().unwrap().len(), 8);
    let task = ["tools/call", "--tool-name", "subagent", "--tool-arg"];
    let look = [
        "preset=read-only",
        "model=scout",
        "prompt=Where is the weight limit?",
    ];
    let called = parsed(&inspect(&[&task[..], &look].concat()).expect_code(0));
    assert_eq!(called["structuredContent"]["status"], "ok", "{called:#}");
    let refused = inspect(&[&task[..], &["prompt=Go.", "model=scout"]].concat());
    assert!(refused.out().contains("confirmation_needed"), "{refused}");
    assert_eq!(runs(&env).len(), 1);
}
