//! The tool `find`.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;

use insta::assert_snapshot;
use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use serde_json::json;

use crate::world::World;

#[test]
fn names_and_paths_are_matched_in_order() {
    let mut world = World::new();
    for path in [
        "src/a.rs",
        "src/deep/b.rs",
        "c.rs",
        ".hidden/d.rs",
        "e.md",
        ".git/f.rs",
    ] {
        world.file(path, "");
    }
    world.link("c.rs", "link.rs");
    world.link("src", "to-src");
    assert_snapshot!(world.text("find", json!({"pattern": "*.rs"})), @r"
    c.rs
    link.rs@
    .hidden/d.rs
    src/a.rs
    src/deep/b.rs
    ");
    assert_snapshot!(world.text("find", json!({"pattern": "src/**/*.rs"})), @r"
    src/a.rs
    src/deep/b.rs
    ");
    assert_snapshot!(world.text("find", json!({"pattern": "*.rs", "path": "src"})), @r"
    src/a.rs
    src/deep/b.rs
    ");
    assert_snapshot!(world.text("find", json!({"pattern": "s*"})), @"src/");
    assert_snapshot!(world.text("find", json!({"pattern": "*.nope"})), @"(nothing matches)");
    assert_eq!(
        world.refused("find", json!({"pattern": "["})),
        "invalid_glob"
    );
    // A link to a folder inside is followed when the call names it.
    assert_snapshot!(world.text("find", json!({"pattern": "a.*", "path": "to-src"})), @"src/a.rs");
}

#[test]
fn results_are_bounded_with_a_total() {
    let mut world = World::new();
    for number in 0..25 {
        world.file(format!("f{number:02}"), "");
    }
    let text = world.text("find", json!({"pattern": "f*", "limit": 3}));
    assert_eq!(
        text,
        "f00\nf01\nf02\n(3 of 25 results: use a narrower pattern or path, or a higher limit)\n"
    );
}

#[test]
fn odd_names_are_found_and_escaped() {
    let mut world = World::new();
    world.file(OsStr::from_bytes(b"x\n-\xff"), "");
    assert_eq!(
        world.text("find", json!({"pattern": "x*"})),
        "x\\u{a}-\\xff\n"
    );
}

/// G10: a tree deeper than a path is long is walked as far as paths reach.
#[test]
fn g10_ten_thousand_nested_folders_end_the_walk_not_the_worker() {
    let mut world = World::in_memory();
    world.file("top.rs", "");
    let _nest = Nest::new(world.path("nest"), 10_000);
    let text = world.text("find", json!({"pattern": "*.rs"}));
    assert_eq!(text, "top.rs\n(1 folder could not be read)\n");
    let text = world.text("grep", json!({"pattern": "x"}));
    assert!(text.contains("(1 folder could not be read)"), "{text}");
}

/// Folders in folders. Recursive removal would run out of handles, so they are taken out by hand.
struct Nest(std::path::PathBuf);

impl Nest {
    fn new(path: std::path::PathBuf, depth: usize) -> Self {
        std::fs::create_dir(&path).unwrap();
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut folder: OwnedFd = rustix::fs::openat(CWD, &path, flags, Mode::empty()).unwrap();
        for _ in 0..depth {
            rustix::fs::mkdirat(&folder, "d", Mode::from_raw_mode(0o700)).unwrap();
            folder = rustix::fs::openat(&folder, "d", flags, Mode::empty()).unwrap();
        }
        Self(path)
    }
}

impl Drop for Nest {
    fn drop(&mut self) {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let Ok(top) = rustix::fs::openat(CWD, &self.0, flags, Mode::empty()) else {
            return;
        };
        while rustix::fs::renameat(&top, "d/d", &top, "next").is_ok() {
            let _ = rustix::fs::unlinkat(&top, "d", AtFlags::REMOVEDIR);
            let _ = rustix::fs::renameat(&top, "next", &top, "d");
        }
        let _ = rustix::fs::unlinkat(&top, "d", AtFlags::REMOVEDIR);
    }
}
