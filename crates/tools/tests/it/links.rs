//! G4: symlinks inside are followed, those that lead out are refused.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::world::{Outcome, World};

#[test]
fn links_inside_are_followed_relative_and_absolute() {
    let mut world = World::new();
    world.file("real/a.txt", "content");
    world.link("real/a.txt", "relative");
    world.link(world.path("real/a.txt"), "absolute");
    world.link(world.path("real"), "folder");
    world.link("../real/../real/./a.txt", "real/winding");
    world.link("absolute", "chain");
    // Out of the root and back in again.
    world.link("../work/real/a.txt", "detour");
    for path in [
        "relative",
        "absolute",
        "folder/a.txt",
        "real/winding",
        "chain",
        "detour",
    ] {
        let text = world.text("read", json!({ "path": path }));
        assert_eq!(text, "     1\tcontent\n", "{path}");
    }
}

#[test]
fn g4_links_that_lead_out_are_refused() {
    let mut world = World::new();
    let secret = world.base().join("out/secret");
    std::fs::write(&secret, "outside").unwrap();
    world.file("a", "x");
    world.link(&secret, "absolute");
    world.link("../out/secret", "relative");
    world.link("../out", "folder");
    world.link("..", "parent");
    world.link("/", "top");
    world.link("/proc/self/root", "magic");
    world.link(
        format!("/proc/self/cwd/../../../..{}", secret.display()),
        "winding",
    );
    for path in [
        "absolute",
        "relative",
        "folder/secret",
        "parent/out/secret",
        "top/etc/passwd",
        "winding",
        "magic/etc/passwd",
    ] {
        assert_eq!(
            world.refused("read", json!({ "path": path })),
            "path.escapes",
            "{path}"
        );
    }
    for (tool, arguments) in [
        ("ls", json!({"path": "folder"})),
        ("find", json!({"pattern": "*", "path": "folder"})),
        ("grep", json!({"pattern": "outside", "path": "folder"})),
        ("grep", json!({"terms": ["outside"], "path": "folder"})),
    ] {
        assert_eq!(world.refused(tool, arguments), "path.escapes", "{tool}");
    }
    // What is missing outside looks no different from what is there.
    assert_eq!(
        world.refused("read", json!({"path": "folder/nothing"})),
        "path.escapes"
    );
    let text = world.text("grep", json!({"pattern": "outside"}));
    assert_eq!(text, "(nothing matches in 1 file)\n");
}

#[test]
fn another_readable_root_can_be_reached_by_links() {
    let mut world = World::granting(|base| vec![base.join("out")]);
    std::fs::write(world.base().join("out/doc"), "a document").unwrap();
    world.link("../out/doc", "doc");
    world.link("../out", "docs");
    for path in ["doc", "docs/doc", "../out/doc"] {
        let text = world.text("read", json!({ "path": path }));
        assert_eq!(text, "     1\ta document\n", "{path}");
    }
    let name = world.base().join("out/doc");
    assert_eq!(
        world.text("grep", json!({"pattern": "document", "path": "docs"})),
        format!("{}:1:a document\n", name.display())
    );
}

#[test]
fn a_readable_root_can_be_a_file() {
    let mut world = World::granting(|base| {
        std::fs::write(base.join("out/one"), "1").unwrap();
        std::fs::write(base.join("out/two"), "2").unwrap();
        vec![base.join("out/one")]
    });
    assert_eq!(
        world.text("read", json!({"path": "../out/one"})),
        "     1\t1\n"
    );
    assert_eq!(
        world.refused("read", json!({"path": "../out/two"})),
        "path.outside"
    );
    assert_eq!(
        world.refused("ls", json!({"path": "../out"})),
        "path.outside"
    );
    world.link("../out/one", "one");
    world.link("../out/two", "two");
    assert_eq!(world.text("read", json!({"path": "one"})), "     1\t1\n");
    assert_eq!(
        world.refused("read", json!({"path": "two"})),
        "path.escapes"
    );
}

#[test]
fn circles_and_long_chains_end() {
    let mut world = World::new();
    world.link("b", "a");
    world.link("a", "b");
    world.link("self/x", "self");
    world.file("end", "x");
    world.link("end", "l0");
    for number in 1..45 {
        world.link(format!("l{}", number - 1), format!("l{number}"));
    }
    // Each link doubles the way: a naive walk would never end.
    world.link("g0/g0", "g1");
    world.link("g1/g1/g1/g1", "g0");
    for path in ["a", "b/x", "self", "self/y", "l44", "g0"] {
        assert_eq!(
            world.refused("read", json!({ "path": path })),
            "path.loop",
            "{path}"
        );
    }
    assert_eq!(world.text("read", json!({"path": "l39"})), "     1\tx\n");
    // A walk names links and follows none.
    assert!(
        world
            .text("find", json!({"pattern": "a"}))
            .starts_with("a@\n")
    );
}

#[test]
fn a_link_to_nothing_is_not_found() {
    let mut world = World::new();
    world.link("nothing/here", "dangling");
    assert_eq!(
        world.refused("read", json!({"path": "dangling"})),
        "not_found"
    );
}

#[test]
fn what_the_account_may_not_see_is_denied() {
    let mut world = World::new();
    world.file("locked/a", "x");
    let locked = world.path("locked");
    std::fs::set_permissions(&locked, PermissionsExt::from_mode(0o000)).unwrap();
    let outcome = world.call("read", json!({"path": "locked/a"}));
    std::fs::set_permissions(&locked, PermissionsExt::from_mode(0o700)).unwrap();
    match outcome {
        Outcome::Denied(denied) => assert_eq!(denied.rule.id, "path.denied"),
        // Root may see everything.
        Outcome::Output(_) => assert!(rustix::process::geteuid().is_root()),
        Outcome::Failed(failure) => panic!("{failure:?}"),
    }
}
