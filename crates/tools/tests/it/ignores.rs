//! Ignore files are obeyed where a person would expect it.

use insta::assert_snapshot;
use serde_json::json;

use crate::world::{World, fifo};

fn found(world: &mut World, path: &str) -> String {
    world.text("find", json!({"pattern": "*.x", "path": path}))
}

#[test]
fn rules_of_the_root_and_below_hold() {
    let mut world = World::new();
    world.file(".gitignore", "/target\n*.tmp.x\nlogs/\n!keep.tmp.x\n");
    world.file("sub/.gitignore", "local.x\n!back.tmp.x\n");
    world.file(".ignore", "quiet.x\n");
    world.file(".git/info/exclude", "excluded.x\nkept.x\n");
    world.file("deep/.gitignore", "!kept.x\n");
    for path in [
        "a.x",
        "b.tmp.x",
        "keep.tmp.x",
        "target/c.x",
        "sub/target/d.x",
        "sub/local.x",
        "sub/back.tmp.x",
        "logs/e.x",
        "sub/logs/f.x",
        "quiet.x",
        "excluded.x",
        "deep/kept.x",
        "local.x",
    ] {
        world.file(path, "");
    }
    assert_snapshot!(found(&mut world, "."), @r"
    a.x
    keep.tmp.x
    local.x
    deep/kept.x
    sub/back.tmp.x
    sub/target/d.x
    ");
    // Rules of folders above hold below, too.
    assert_snapshot!(found(&mut world, "sub"), @r"
    sub/back.tmp.x
    sub/target/d.x
    ");
}

#[test]
fn a_place_that_the_call_names_is_searched_although_it_is_ignored() {
    let mut world = World::new();
    world.file(".gitignore", "/target\n*.log\n");
    world.file("target/debug/a.x", "needle");
    world.file("run.log", "needle");
    assert_snapshot!(found(&mut world, "target"), @"target/debug/a.x");
    assert_snapshot!(found(&mut world, "target/debug"), @"target/debug/a.x");
    assert_snapshot!(
        world.text("grep", json!({"pattern": "needle", "path": "run.log"})),
        @"run.log:1:needle"
    );
}

#[test]
fn nothing_found_names_what_was_ignored() {
    let mut world = World::new();
    world.file(".gitignore", "*.log\n/target\nnode_modules\n");
    for path in ["target/a.x", "node_modules/b.x", "c.log", "d.log"] {
        world.file(path, "needle");
    }
    assert_snapshot!(found(&mut world, "."), @r"
    (nothing matches)
    (4 entries are ignored by .gitignore and not searched: c.log, d.log, node_modules, …; name an ignored folder in `path` to search it)
    ");
    assert!(
        world
            .text("grep", json!({"pattern": "needle"}))
            .contains("4 entries are ignored")
    );
    // Where something is found, nobody needs to know.
    world.file("e.x", "needle");
    assert_snapshot!(found(&mut world, "."), @"e.x");
}

#[test]
fn nothing_outside_the_root_is_read_or_obeyed() {
    let mut world = World::new();
    let outside = world.base().join(".gitignore");
    std::fs::write(outside, "*.x\n").unwrap();
    std::fs::write(world.base().join("out/rules"), "*.x\n").unwrap();
    std::fs::create_dir_all(world.base().join("out/git/info")).unwrap();
    std::fs::write(world.base().join("out/git/info/exclude"), "*.x\n").unwrap();
    world.file("a.x", "");
    world.file("sub/b.x", "");
    // Links and pointers out of the root are no rules.
    world.link("../out/rules", ".gitignore");
    world.link("../../out/rules", "sub/.ignore");
    world.file(
        ".git",
        format!("gitdir: {}/out/git\n", world.base().display()),
    );
    assert_snapshot!(found(&mut world, "."), @r"
    a.x
    sub/b.x
    ");
}

/// G10: ignore files are written by whoever wrote the tree.
#[test]
fn g10_hostile_ignore_files_neither_stop_nor_fill_the_worker() {
    let mut world = World::new();
    fifo(&world.path(".gitignore"));
    std::fs::create_dir(world.path(".ignore")).unwrap();
    world.file("a.x", "");
    world.file("sub/.gitignore", "{a,b}{a,b}[c-\n".repeat(200_000));
    world.file("sub/b.x", "");
    world.file("odd/.gitignore", b"\xff\xfe\0\n[\n**/**/**\\\n!\n/\n{\n");
    world.file("odd/c.x", "");
    let text = found(&mut world, ".");
    assert!(text.starts_with("a.x\nodd/c.x\nsub/b.x\n"), "{text}");
    assert!(
        text.contains("(1 ignore file was too large to obey in full)"),
        "{text}"
    );
}
