//! `deputize install` and `uninstall`: a host's own files, and nothing of them but the entry (H9).

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use deputize_testkit::TestEnv;

use crate::scene::{parsed, scene};

const CLAUDE: &str = "{\n\t// kept by hand\n\t\"token\": \"SECRET\",\n\t\"mcpServers\": { \"x\": { \"command\": \"y\" } }\n}\n";
const CODEX: &str = "model = \"m\"   # mine\n\n[mcp_servers.x]\ncommand = \"y\"\n";

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

fn done(env: &TestEnv, options: &[&str]) {
    let _shown = env.run(options).expect_code(0);
}

/// Every file below home but the state folder's, with its content and its permissions.
fn files(env: &TestEnv) -> Vec<(String, String, u32)> {
    let mut found = Vec::new();
    let mut folders = vec![env.home()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path == env.home().join(".local") {
                continue;
            }
            if path.is_dir() && !path.is_symlink() {
                found.push((path.display().to_string(), String::new(), 0));
                folders.push(path);
            } else {
                let mode = fs::metadata(&path).unwrap().permissions().mode();
                found.push((path.display().to_string(), read(&path), mode));
            }
        }
    }
    found.sort();
    found
}

/// H9: what was there is there afterwards, byte for byte, with its permissions; what wasn't is gone.
#[test]
fn an_installation_is_taken_back_exactly() {
    let env = scene();
    write(&env.home().join(".claude.json"), CLAUDE);
    write(&env.home().join(".codex/config.toml"), CODEX);
    let private = fs::Permissions::from_mode(0o640);
    fs::set_permissions(env.home().join(".claude.json"), private).unwrap();
    env.give();
    let before = files(&env);
    let hosts: [&[&str]; 3] = [&["claude", "--gate"], &["codex", "--gate"], &["pi"]];
    for host in hosts {
        let options = [&["install"], host, &["--yes"]].concat();
        done(&env, &options);
        let again = env.run(&options).expect_code(0);
        assert!(again.out().starts_with("Nothing to do"), "{again}");
    }
    let claude = read(&env.home().join(".claude.json"));
    assert!(
        claude.starts_with("{\n\t// kept by hand\n\t\"token\": \"SECRET\",\n"),
        "{claude}"
    );
    assert!(claude.contains("\"x\": { \"command\": \"y\" }"), "{claude}");
    assert!(claude.contains("\"args\": [\"mcp\"]"), "{claude}");
    let hook = read(&env.home().join(".claude/settings.json"));
    assert!(hook.contains("gate --stdin --host claude-code"), "{hook}");
    let codex = read(&env.home().join(".codex/config.toml"));
    assert!(codex.starts_with(CODEX), "{codex}");
    for part in ["[mcp_servers.deputize]", "[[hooks.PreToolUse.hooks]]"] {
        assert!(codex.contains(part), "{codex}");
    }
    let pi = read(&env.home().join(".pi/agent/settings.json"));
    assert!(pi.contains("npm:@deputize/pi@"), "{pi}");
    for host in ["claude", "codex", "pi"] {
        done(&env, &["uninstall", host, "--yes"]);
    }
    assert_eq!(files(&env), before);
    let refused = env
        .run(["uninstall", "pi", "--yes", "--json"])
        .expect_code(2);
    assert_eq!(parsed(&refused)["error"]["code"], "not_installed");
}

/// H9: what the person, or the host, wrote afterwards stays; only the entry goes.
#[test]
fn what_was_written_since_stays() {
    let env = scene();
    let path = env.home().join(".codex/config.toml");
    write(&path, CODEX);
    env.give();
    done(&env, &["install", "codex", "--yes"]);
    let edited = format!(
        "approval = \"never\"\n{}\n[tui]\ntheme = \"dark\"\n",
        read(&path)
    );
    fs::write(&path, &edited).unwrap();
    done(&env, &["uninstall", "codex", "--yes"]);
    let now = read(&path);
    assert!(
        now.starts_with(&format!("approval = \"never\"\n{CODEX}")),
        "{now}"
    );
    assert!(now.contains("[tui]\ntheme = \"dark\"\n"), "{now}");
    assert!(!now.contains("deputize"), "{now}");
}

/// H9: it is shown before it is written, other lines than those that change aren't shown, and nobody's
/// silence is a yes.
#[test]
fn it_is_shown_first() {
    let env = scene();
    write(&env.home().join(".claude.json"), CLAUDE);
    env.give();
    let before = files(&env);
    let shown = env.run(["install", "claude", "--print"]).expect_code(0);
    assert!(shown.out().contains("\"deputize\": {"), "{shown}");
    assert!(shown.out().contains("changed file: "), "{shown}");
    assert!(!shown.out().contains("SECRET"), "{shown}");
    let refused = env.run(["install", "claude", "--json"]).expect_code(2);
    assert_eq!(parsed(&refused)["error"]["code"], "needs_yes");
    assert_eq!(files(&env), before);
    let told = parsed(
        &env.run(["install", "claude", "--yes", "--json"])
            .expect_code(0),
    );
    assert_eq!(told["status"], "installed");
    assert_eq!(told["files"][0]["what"], "changed file");
    // Keys of the host stay in its file alone.
    let record = read(&env.state().join("deputize/hosts/claude.json"));
    assert!(!record.contains("SECRET"), "{record}");
}

/// H9: what can't be read, or is somebody else's, is refused, and nothing is changed.
#[test]
fn what_can_not_be_changed_safely_is_refused() {
    let cases = [
        ("{ \"mcpServers\": ", "host_config_invalid"),
        ("{ \"mcpServers\": [] }", "host_config_shape"),
        (
            "{ \"mcpServers\": { \"deputize\": { \"command\": \"other\" } } }",
            "host_entry_taken",
        ),
    ];
    for (text, code) in cases {
        let env = scene();
        write(&env.home().join(".claude.json"), text);
        env.give();
        let before = files(&env);
        let refused = env
            .run(["install", "claude", "--yes", "--json"])
            .expect_code(2);
        assert_eq!(parsed(&refused)["error"]["code"], code, "{refused}");
        assert_eq!(files(&env), before);
    }
    let env = scene();
    for (options, code) in [
        (
            ["install", "mcp", "--yes", "--json"].as_slice(),
            "file_missing",
        ),
        (
            &["install", "pi", "--gate", "--yes", "--json"],
            "gate_unusable",
        ),
        (
            &["install", "codex", "--file", "x", "--yes", "--json"],
            "file_unusable",
        ),
    ] {
        let refused = env.run(options).expect_code(2);
        assert_eq!(parsed(&refused)["error"]["code"], code, "{refused}");
    }
}

/// H9: a file that is kept behind a link stays there, and so does the link.
#[test]
fn a_link_to_a_file_stays_a_link() {
    let env = scene();
    let real = env.home().join("dotfiles/claude.json");
    write(&real, CLAUDE);
    std::os::unix::fs::symlink(&real, env.home().join(".claude.json")).unwrap();
    env.give();
    done(&env, &["install", "claude", "--yes"]);
    assert!(env.home().join(".claude.json").is_symlink());
    assert!(read(&real).contains("deputize"));
    done(&env, &["uninstall", "claude", "--yes"]);
    assert_eq!(read(&real), CLAUDE);
}

/// H9: a kill between the record and the file leaves nothing to clean up, and a file that the host put
/// back is as good.
#[test]
fn a_half_done_installation_is_harmless() {
    let env = scene();
    let path = env.home().join(".codex/config.toml");
    write(&path, CODEX);
    env.give();
    done(&env, &["install", "codex", "--yes"]);
    fs::write(&path, CODEX).unwrap();
    done(&env, &["uninstall", "codex", "--yes"]);
    assert_eq!(read(&path), CODEX);
    assert!(!env.state().join("deputize/hosts/codex.json").exists());
}

/// H9: any client of MCP, by its file; what it would be told is printed for the others.
#[test]
fn any_client_can_be_told() {
    let env = scene();
    let shown = env.run(["install", "mcp", "--print"]).expect_code(0);
    let entry = &parsed(&shown)["mcpServers"]["deputize"];
    assert_eq!(entry["args"][0], "mcp");
    let path = env.home().join("client.json");
    let file = path.display().to_string();
    done(
        &env,
        &[
            "install",
            "mcp",
            "--file",
            &file,
            "--program",
            "/opt/d",
            "--yes",
        ],
    );
    let text = read(&path);
    let told: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(told["mcpServers"]["deputize"]["command"], "/opt/d");
    done(&env, &["uninstall", "mcp", "--yes"]);
    assert!(!path.exists());
}

/// H9: Codex runs no hook that nobody looked at, and says nothing of it: so the installation does.
#[test]
fn a_hook_that_has_to_be_trusted_is_told_of() {
    for (options, told) in [
        (&["install", "codex", "--yes"][..], false),
        (&["install", "codex", "--gate", "--yes"], true),
        (&["install", "claude", "--gate", "--yes"], false),
    ] {
        let env = scene();
        let installed = env.run(options).expect_code(0);
        assert_eq!(
            installed.out().contains("trust the hook"),
            told,
            "{installed}"
        );
    }
}
