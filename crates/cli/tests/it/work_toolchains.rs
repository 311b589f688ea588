//! Builds and tests of a working child, with the toolchains of the person who runs the tests (B9), and
//! a server of its own that is reached from outside (B10).

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;

use deputize_testkit::{Invocation, TestEnv, until};
use serde_json::{Value, json};

use crate::scene::{call, parsed, say, scene, script};

/// Runs a child that only says it is done, with a check that must pass.
fn checked(
    env: &TestEnv,
    check: &str,
    with: impl FnOnce(Invocation<'_>) -> Invocation<'_>,
) -> Value {
    let model = script(
        env,
        &json!({ "turns": [say("Done."), say("Done."), say("Done."), say("Done.")] }),
    );
    let invocation = env.call([
        "run", "--json", "--allow", "shell", "--model", &model, "--check", check, "Test it.",
    ]);
    let outcome = with(invocation)
        .within(std::time::Duration::from_secs(240))
        .run();
    parsed(&outcome)
}

#[track_caller]
fn passed(result: &Value) {
    let shown = serde_json::to_string_pretty(&result["checks"]).unwrap();
    assert_eq!(result["checks"][0]["outcome"], "passed", "{shown}");
    assert_eq!(result["status"], "ok", "{result:#}");
}

/// Where this program is, for somebody who may run it from a folder that everybody can enter.
fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|file| Command::new(file).arg("--version").output().is_ok())
}

/// B9: `cargo test --offline` passes in a copy, and its output lands there.
#[test]
fn a_rust_project_is_tested_in_a_copy() {
    let home = std::env::var_os("HOME")
        .map(PathBuf::from)
        .unwrap_or_default();
    let place = |variable: &str, below: &str| {
        std::env::var_os(variable).map_or_else(|| home.join(below), PathBuf::from)
    };
    let (cargo, rustup) = (
        place("CARGO_HOME", ".cargo"),
        place("RUSTUP_HOME", ".rustup"),
    );
    if !cargo.join("bin/cargo").exists() || fs::read_dir(rustup.join("toolchains")).is_err() {
        println!("there is no rustup that this user may use");
        return;
    }
    let env = scene();
    env.lay(|tree| {
        tree.file("Cargo.toml", "[package]\nname = \"sum\"\nversion = \"0.1.0\"\nedition = \"2021\"\n")
            .file(
                "src/lib.rs",
                "pub fn sum(a: i32, b: i32) -> i32 { a + b }\n#[test]\nfn adds() { assert_eq!(sum(2, 3), 5); }\n",
            );
    });
    let path = format!(
        "{}:/usr/local/bin:/usr/bin:/bin",
        cargo.join("bin").display()
    );
    let result = checked(&env, "cargo test --offline", |invocation| {
        invocation
            .env("PATH", path)
            .env("CARGO_HOME", &cargo)
            .env("RUSTUP_HOME", &rustup)
    });
    passed(&result);
    assert!(!env.workspace().join("target").exists());
}

/// B9: `npm test` passes in a copy.
#[test]
fn a_node_project_is_tested_in_a_copy() {
    let Some(npm) = program("npm") else {
        println!("there is no npm");
        return;
    };
    let env = scene();
    env.lay(|tree| {
        tree.file("package.json", "{\"name\": \"sum\", \"version\": \"1.0.0\", \"scripts\": {\"test\": \"node test.js\"}}")
            .file("test.js", "require('assert').strictEqual(2 + 3, 5); console.log('passed')\n");
    });
    let path = format!(
        "{}:/usr/bin:/bin",
        npm.parent().unwrap_or(Path::new("/")).display()
    );
    passed(&checked(&env, "npm test", |invocation| {
        invocation.env("PATH", path)
    }));
}

/// B9: `pytest` passes in a copy.
#[test]
fn a_python_project_is_tested_in_a_copy() {
    let there = Command::new("/usr/bin/python3")
        .args(["-m", "pytest", "--version"])
        .output();
    if !there.is_ok_and(|output| output.status.success()) {
        println!("there is no pytest for the system's python3");
        return;
    }
    let env = scene();
    env.lay(|tree| {
        tree.file("test_sum.py", "def test_adds():\n    assert 2 + 3 == 5\n");
    });
    passed(&checked(
        &env,
        "/usr/bin/python3 -m pytest -q",
        |invocation| invocation,
    ));
}

/// B9: `go build` passes in a copy.
#[test]
fn a_go_project_is_built_in_a_copy() {
    if !Path::new("/usr/bin/go").exists() {
        println!("there is no go");
        return;
    }
    let env = scene();
    env.lay(|tree| {
        tree.file("go.mod", "module sum\n\ngo 1.19\n").file(
            "main.go",
            "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(2 + 3) }\n",
        );
    });
    passed(&checked(
        &env,
        "go build ./... && go vet ./...",
        |invocation| invocation,
    ));
}

/// B10: a server that the child starts is reached from outside, where its port was asked for.
#[test]
fn a_childs_server_is_reached_on_the_port_that_was_asked_for() {
    let env = scene();
    env.lay(|tree| {
        tree.file("page.txt", "from inside\n");
    });
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let serve = format!("python3 -m http.server {port} --bind 127.0.0.1");
    let turns = json!([
        call("bash", json!({ "command": serve, "timeout_seconds": 60 })),
        say("Served."),
    ]);
    let model = script(&env, &json!({ "turns": turns }));
    let published = port.to_string();
    let mut running = env
        .call([
            "run",
            "--json",
            "--allow",
            "shell,network",
            "--port",
            &published,
            "--model",
            &model,
            "Serve.",
        ])
        .start();
    until("the page comes", || {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok()?;
        write!(stream, "GET /page.txt HTTP/1.0\r\n\r\n").ok()?;
        let mut page = String::new();
        stream.read_to_string(&mut page).ok()?;
        page.contains("from inside").then_some(())
    });
    running.signal(rustix::process::Signal::INT);
    let outcome = running.wait();
    assert_eq!(outcome.code(), Some(130), "{outcome}");
    until("the port is free again", || {
        TcpListener::bind((Ipv4Addr::LOCALHOST, port))
            .ok()
            .map(drop)
    });
}
