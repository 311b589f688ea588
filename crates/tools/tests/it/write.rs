//! The tool `write`.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::process::Command;

use insta::assert_snapshot;
use serde_json::json;

use crate::world::{Outcome, World, fifo};

fn masked(text: &str) -> String {
    text.lines()
        .map(|line| match line.split_once("sha256:") {
            Some((before, _)) => format!("{before}sha256:…)\n"),
            None => format!("{line}\n"),
        })
        .collect()
}

#[test]
fn a_new_file_is_made_with_the_folders_on_the_way() {
    let mut world = World::changing();
    let text = world.text(
        "write",
        json!({"path": "a/b c/é.txt", "content": "one\ntwo\n"}),
    );
    assert_snapshot!(masked(&text), @r"
    created a/b c/é.txt: 2 lines, 8 bytes
    (content sha256:…)
    ");
    assert_eq!(world.content("a/b c/é.txt"), b"one\ntwo\n");
    assert_eq!(world.names("a/b c"), ["é.txt"]);
    let Outcome::Output(output) = world.call("write", json!({"path": "new", "content": ""})) else {
        panic!("no output");
    };
    assert_eq!(output.changed, ["new"]);
    assert_eq!(world.content("new"), b"");
}

/// C3: what was never seen isn't replaced.
#[test]
fn c3_a_file_that_was_not_read_is_not_replaced() {
    let mut world = World::changing();
    world.file("a", "old\n");
    let write = json!({"path": "a", "content": "new\n"});
    assert_eq!(world.refused("write", write.clone()), "stale");
    assert_eq!(world.content("a"), b"old\n");
    world.text("read", json!({"path": "a"}));
    let text = world.text("write", write);
    assert_snapshot!(masked(&text), @r"
    replaced a: 1 line added, 1 line removed
    @ line 1
    -old
    +new
    (content sha256:…)
    ");
    // What it wrote itself, it knows.
    world.text("write", json!({"path": "a", "content": "newer\n"}));
    assert_eq!(world.content("a"), b"newer\n");
    assert_eq!(world.names(""), ["a"]);
}

#[test]
fn the_permissions_stay_and_set_id_bits_go() {
    let mut world = World::changing();
    for (name, before, after) in [
        ("tool", 0o755, 0o755),
        ("odd", 0o4711, 0o711),
        ("own", 0o600, 0o600),
    ] {
        world.file(name, "old");
        fs::set_permissions(world.path(name), fs::Permissions::from_mode(before)).unwrap();
        world.text("read", json!({"path": name}));
        world.text("write", json!({"path": name, "content": "new"}));
        let mode = fs::metadata(world.path(name)).unwrap().mode() & 0o7777;
        assert_eq!(mode, after, "{name}");
    }
    world.text("write", json!({"path": "fresh/x", "content": "new"}));
    let plain = world.path("plain");
    fs::write(&plain, "").unwrap();
    assert_eq!(
        fs::metadata(world.path("fresh/x")).unwrap().mode(),
        fs::metadata(plain).unwrap().mode(),
        "the umask decides"
    );
}

#[test]
fn g4_only_regular_files_with_one_name_are_replaced() {
    let mut world = World::changing();
    world.file("a", "x");
    fs::hard_link(world.path("a"), world.path("b")).unwrap();
    fs::create_dir(world.path("d")).unwrap();
    fifo(&world.path("pipe"));
    let mut refused = |path: &str| world.refused("write", json!({"path": path, "content": "y"}));
    assert_eq!(refused("a"), "write.hard_link");
    assert_eq!(refused("d"), "path.not_a_file");
    assert_eq!(refused("pipe"), "path.not_a_file");
    assert_eq!(refused("a/below"), "not_a_folder");
    assert_eq!(refused("../out/x"), "write.outside");
    assert_eq!(refused(".env"), "secret.denied");
    assert_eq!(world.content("a"), b"x");
}

/// A link is followed as reading follows it, and what is protected stays so behind a link.
#[test]
fn g4_links_lead_to_what_is_judged() {
    let mut world = World::changing();
    world.file("real/a", "old");
    fs::create_dir_all(world.path(".git/hooks")).unwrap();
    fs::create_dir_all(world.path("sub/.git")).unwrap();
    world.link("real", "folder");
    world.link("real/a", "file");
    world.link("real/dangling", "future");
    world.link(".git", "g");
    world.link("sub/.git", "s");
    world.link("../out", "away");
    world.text("read", json!({"path": "file"}));
    world.text("write", json!({"path": "file", "content": "new"}));
    assert_eq!(world.content("real/a"), b"new");
    assert!(world.path("file").is_symlink());
    world.text("write", json!({"path": "folder/b/c", "content": "x"}));
    assert_eq!(world.content("real/b/c"), b"x");
    world.text("write", json!({"path": "future", "content": "x"}));
    assert_eq!(world.content("real/dangling"), b"x");
    for (path, rule) in [
        ("g/hooks/pre-commit", "write.protected_git"),
        ("g/config", "write.protected_git"),
        ("s/hooks/pre-commit", "write.protected_git"),
        ("s/config", "write.protected_git"),
        ("sub/.git/info/attributes", "write.protected_git"),
        ("new/.GIT/hooks/x", "write.protected_git"),
        ("new/.git", "write.protected_git"),
        (".claude/settings.json", "write.protected_agent"),
        ("AGENTS.md", "write.protected_instructions"),
        (".vscode/tasks.json", "write.protected_editor"),
        ("away/x", "path.escapes"),
    ] {
        let refused = world.refused("write", json!({"path": path, "content": "x"}));
        assert_eq!(refused, rule, "{path}");
    }
    assert!(world.names(".git/hooks").is_empty());
}

#[test]
fn a_file_at_the_limit_is_written_and_one_above_is_not() {
    let mut world = World::changing();
    let most = "x".repeat(1 << 20);
    world.text("write", json!({"path": "a", "content": most}));
    assert_eq!(world.content("a").len(), 1 << 20);
    // Every byte of it costs six on the wire.
    world.text(
        "write",
        json!({"path": "b", "content": "\u{1}".repeat(1 << 20)}),
    );
    let refused = world.refused("write", json!({"path": "c", "content": format!("{most}x")}));
    assert_eq!(refused, "arguments.limit");
    world.file("large", "y".repeat((4 << 20) + 1));
    world.text("read", json!({"path": "large", "limit": 1}));
    assert_eq!(
        world.refused("write", json!({"path": "large", "content": "x"})),
        "too_large"
    );
    assert_eq!(world.names(""), ["a", "b", "large"]);
}

#[test]
fn odd_names_are_only_names() {
    let mut world = World::changing();
    for name in ["-rf", "a\nb", " ", "\u{202e}x", "%s", "..x", "~x", "a\\b"] {
        world.text(
            "write",
            json!({"path": format!("./{name}"), "content": name}),
        );
        assert_eq!(world.content(name), name.as_bytes(), "{name:?}");
    }
    let long = "n".repeat(256);
    assert_eq!(
        world.refused("write", json!({"path": long, "content": ""})),
        "path.failed"
    );
}

/// A full disk leaves the old file whole, and nothing of ours beside it.
#[test]
fn without_room_the_old_file_stays_whole() {
    // A limit on the size of files fails a write as a full disk does. It holds for a whole process,
    // so this test runs once more in one that has it.
    if std::env::var_os("DEPUTIZE_TEST_NO_ROOM").is_none() {
        let limited = r#"trap '' XFSZ; ulimit -f 8; exec "$@""#;
        let output = Command::new("sh")
            .args(["-c", limited, "sh"])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "write::without_room_the_old_file_stays_whole"])
            .env("DEPUTIZE_TEST_NO_ROOM", "1")
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && told.contains("1 passed"),
            "{output:?}"
        );
        return;
    }
    let mut world = World::changing();
    world.file("a", "old");
    world.text("read", json!({"path": "a"}));
    let content = "x".repeat(10_000);
    for path in ["a", "new/deep/b"] {
        let refused = world.refused("write", json!({"path": path, "content": content}));
        assert_eq!(refused, "no_space", "{path}");
    }
    assert_eq!(world.content("a"), b"old");
    assert_eq!(world.names(""), ["a"]);
}

/// As an ordinary user: root may write anywhere.
#[test]
fn a_folder_without_write_permission_is_said_so() {
    if rustix::process::geteuid().is_root() {
        return;
    }
    let mut world = World::changing();
    world.file("d/a", "old");
    world.file("locked", "old");
    world.text("read", json!({"path": "d/a"}));
    world.text("read", json!({"path": "locked"}));
    fs::set_permissions(world.path("d"), fs::Permissions::from_mode(0o555)).unwrap();
    fs::set_permissions(world.path("locked"), fs::Permissions::from_mode(0o444)).unwrap();
    let mut refused = |path: &str| world.refused("write", json!({"path": path, "content": "y"}));
    assert_eq!(refused("d/a"), "permission_denied");
    assert_eq!(refused("d/new"), "permission_denied");
    assert_eq!(refused("locked"), "permission_denied");
    assert_eq!(world.content("d/a"), b"old");
    fs::set_permissions(world.path("d"), fs::Permissions::from_mode(0o755)).unwrap();
}
