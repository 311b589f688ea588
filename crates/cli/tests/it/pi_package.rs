//! The packages as people install them: `pi install` and `deputize install pi` bring the extension with its program
//! (H9).

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::thread;

use deputize_testkit::Said;
use serde_json::{Value, json};

use crate::pi_scene::{DEPUTIZE, Pi, Rpc, Script, beside, cli, node, package, subagent};
use crate::scene::say;

fn platform() -> &'static str {
    match std::env::consts::ARCH {
        "aarch64" => "linux-arm64",
        _ => "linux-x64",
    }
}

/// Where a packed program says that it was the one that was started.
fn started(pi: &Pi) -> PathBuf {
    pi.env.root().join("started")
}

/// Packs the extension into a folder of the scene's, with a program that says where it lies and goes on as the one
/// of this build, which would take a minute to pack with all that a debugger wants.
fn packed(pi: &Pi) -> PathBuf {
    let out = pi.env.root().join("pack");
    let place = started(pi);
    let script = format!(
        "#!/bin/sh\necho \"$0\" > {}\nexec {DEPUTIZE} \"$@\"\n",
        place.display()
    );
    let stand_in = beside(pi, "stand-in", &script);
    let packed = pi
        .env
        .command(node())
        .arg(package("pack.mjs"))
        .arg(&out)
        .arg(format!("{}={}", platform(), stand_in.display()))
        .output()
        .unwrap();
    assert!(
        packed.status.success(),
        "{}",
        String::from_utf8_lossy(&packed.stderr)
    );
    out
}

/// A registry of npm's on loopback, with what was packed.
fn registry(out: PathBuf) -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let index = fs::read_to_string(out.join("index.json")).unwrap();
    let index: Value = serde_json::from_str(&index).unwrap();
    let shared = Arc::new((out, index, url.clone()));
    // It ends with the test's process.
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let shared = Arc::clone(&shared);
            thread::spawn(move || serve(stream, &shared.0, &shared.1, &shared.2));
        }
    });
    url
}

fn serve(stream: TcpStream, out: &Path, index: &Value, url: &str) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut stream = stream;
    loop {
        let mut first = String::new();
        // A closed connection asks for nothing more.
        if reader.read_line(&mut first).unwrap_or(0) == 0 {
            return;
        }
        let mut header = String::new();
        while reader.read_line(&mut header).unwrap_or(0) > 2 {
            header.clear();
        }
        let path = first
            .split(' ')
            .nth(1)
            .unwrap_or("")
            .trim_start_matches('/');
        let wanted = path.replace("%2f", "/").replace("%2F", "/");
        let packages = index.as_array().unwrap();
        let (status, body) = if let Some(file) = wanted.strip_prefix("files/") {
            ("200 OK", fs::read(out.join(file)).unwrap())
        } else if let Some(one) = packages.iter().find(|one| one["name"] == wanted) {
            let mut about = one["about"].clone();
            let file = one["file"].as_str().unwrap();
            about["dist"] = json!({
                "tarball": format!("{url}/files/{file}"), "integrity": one["integrity"],
            });
            let version = about["version"].as_str().unwrap().to_owned();
            let document = json!({
                "name": wanted, "dist-tags": { "latest": version }, "versions": { version: about },
            });
            ("200 OK", document.to_string().into_bytes())
        } else {
            ("404 Not Found", b"{}".to_vec())
        };
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let sent = stream
            .write_all(head.as_bytes())
            .and_then(|()| stream.write_all(&body));
        if sent.is_err() {
            return;
        }
    }
}

fn scene() -> (Script, Pi) {
    let script = Script::of(&json!([say("MAX_WEIGHT is 31,500 g.")]));
    let pi = Pi::playing([
        subagent(&script.model(), json!({ "preset": "read-only" })),
        Said::text("Done."),
    ]);
    (script, pi)
}

/// Pi itself, without our options.
fn plain(pi: &Pi, registry: Option<&str>) -> Command {
    let mut command = pi.env.command(node());
    command.arg(cli());
    match registry {
        Some(url) => command
            .env("npm_config_registry", url)
            .env("PI_SKIP_VERSION_CHECK", "1"),
        None => command.env("PI_OFFLINE", "1"),
    };
    command
}

/// Starts Pi as it is configured: the extension is there, hands work out, and its program is the one below `folder`.
fn works(pi: &Pi, registry: Option<&str>, folder: &Path) {
    let mut command = plain(pi, registry);
    command.args(["--mode", "rpc", "--model", "host/scripted"]);
    let mut rpc = Rpc::start(command);
    rpc.prompt("What is the limit?");
    let result = rpc.called("subagent");
    assert_eq!(
        result["result"]["details"]["answer"]["status"], "ok",
        "{result}"
    );
    let program = fs::read_to_string(started(pi)).unwrap();
    let folder = fs::canonicalize(folder).unwrap();
    assert!(Path::new(program.trim()).starts_with(&folder), "{program}");
    rpc.settled();
    rpc.end();
}

/// H9: `pi install npm:…` brings the program along; `pi remove` takes it away.
#[test]
fn pi_installs_the_package_with_its_program() {
    let (_script, pi) = scene();
    let url = registry(packed(&pi));
    let named = format!("npm:@deputize/pi@{}", env!("CARGO_PKG_VERSION"));
    let installed = plain(&pi, Some(&url))
        .args(["install", &named])
        .output()
        .unwrap();
    assert!(installed.status.success(), "{installed:?}");
    works(&pi, None, &pi.env.home().join(".pi/agent/npm"));
    let removed = plain(&pi, Some(&url))
        .args(["remove", &named])
        .output()
        .unwrap();
    assert!(removed.status.success(), "{removed:?}");
}

/// H9: what `deputize install pi` writes is what Pi understands: at its next start it fetches the package, with
/// the program; `uninstall` leaves nothing of it.
#[test]
fn deputize_installs_itself_into_pi() {
    let (_script, pi) = scene();
    let url = registry(packed(&pi));
    let said = pi.deputize(&["install", "pi", "--yes"]);
    assert!(said.contains("It is "), "{said}");
    works(&pi, Some(&url), &pi.env.home().join(".pi/agent/npm"));
    let said = pi.deputize(&["uninstall", "pi", "--yes"]);
    assert!(said.contains("It is "), "{said}");
    let settings = pi.env.home().join(".pi/agent/settings.json");
    let left = fs::read_to_string(settings).unwrap_or_default();
    assert!(!left.contains("deputize"), "{left}");
}

/// H9: the packed folder needs no registry.
#[test]
fn a_packed_folder_is_installed_as_it_is() {
    let (_script, pi) = scene();
    let out = packed(&pi);
    let folder = out.join("node_modules/@deputize/pi");
    let said = pi.deputize(&[
        "install",
        "pi",
        "--package",
        folder.to_str().unwrap(),
        "--yes",
    ]);
    assert!(said.contains("It is "), "{said}");
    works(&pi, None, &out);
}
