//! The tool `ls`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::UnixListener;

use insta::assert_snapshot;
use serde_json::json;

use crate::world::{World, fifo};

#[test]
fn kinds_sizes_targets_and_secrets_are_shown() {
    let mut world = World::new();
    world.file("src/a.rs", "x");
    world.file("b.txt", "12345");
    world.file(".hidden", "");
    world.file(".env", "TOKEN=1");
    world.file(".env.example", "TOKEN=");
    world.file(".git/config", "");
    world.link("src/a.rs", "to-a");
    world.link("../out\n", "to-out");
    fifo(&world.path("pipe"));
    let _socket = UnixListener::bind(world.path("socket")).unwrap();
    assert_snapshot!(world.text("ls", json!({})), @r"
    .env  (secret: not readable)
    .env.example  6
    .git/
    .hidden  0
    b.txt  5
    pipe  (a named pipe)
    socket  (a socket)
    src/
    to-a@ -> src/a.rs
    to-out@ -> ../out\u{a}
    ");
    assert_snapshot!(world.text("ls", json!({"path": "b.txt"})), @"b.txt  5");
    assert_snapshot!(world.text("ls", json!({"path": "pipe"})), @"pipe  (a named pipe)");
    assert_snapshot!(world.text("ls", json!({"path": "src/.."})), @r"
    .env  (secret: not readable)
    .env.example  6
    .git/
    .hidden  0
    b.txt  5
    pipe  (a named pipe)
    socket  (a socket)
    src/
    to-a@ -> src/a.rs
    to-out@ -> ../out\u{a}
    ");
}

#[test]
fn odd_names_are_one_line_each() {
    let mut world = World::new();
    for name in [
        &b"-rf"[..],
        b"a\nb",
        b"\x1b[2J",
        b"\xff\xfe",
        "\u{202e}evil".as_bytes(),
        "naïve \u{1f980}".as_bytes(),
    ] {
        world.file(OsStr::from_bytes(name), "");
    }
    assert_snapshot!(world.text("ls", json!({})), @r"
    \u{1b}[2J  0
    -rf  0
    a\u{a}b  0
    naïve 🦀  0
    \u{202e}evil  0
    \xff\xfe  0
    ");
}

#[test]
fn large_and_empty_folders_say_so() {
    let mut world = World::in_memory();
    assert_eq!(world.text("ls", json!({})), "(the folder is empty)\n");
    for number in 0..1_003 {
        world.file(format!("f{number:04}"), "");
    }
    let text = world.text("ls", json!({}));
    assert_eq!(text.lines().count(), 1_001);
    assert!(text.ends_with(
        "f0999  0\n(the first 1000 of 1003 entries: use find with a pattern for the others)\n"
    ));
}
