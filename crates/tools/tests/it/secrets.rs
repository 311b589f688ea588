//! G9: secrets are not read, whatever they are reached through.

use deputize_gate::Verdict;
use serde_json::json;

use crate::world::World;

fn world() -> World {
    let world = World::new();
    world.file(".env", "TOKEN=hunter2\n");
    world.file("app/.env.local", "TOKEN=hunter2\n");
    world.file(".ssh/id_ed25519", "hunter2\n");
    world.file("keys/server.p12", "hunter2\n");
    world.file(".env.example", "TOKEN=\n");
    world.file("app/main.py", "token = os.environ['TOKEN']\n");
    world
}

#[test]
fn g9_not_by_name_nor_through_a_link() {
    let mut world = world();
    world.link(".env", "notes.txt");
    world.link("../.ssh", "keys/more");
    world.link(world.path("app/.env.local"), "absolute");
    for path in [
        ".env",
        "app/../.env",
        "app/.env.local",
        ".ssh/id_ed25519",
        ".SSH/id_ed25519",
        "keys/server.p12",
        "notes.txt",
        "keys/more/id_ed25519",
        "absolute",
    ] {
        assert_eq!(
            world.refused("read", json!({ "path": path })),
            "secret.denied",
            "{path}"
        );
    }
    for path in [".ssh", "keys/more"] {
        assert_eq!(
            world.refused("ls", json!({ "path": path })),
            "secret.denied"
        );
        let arguments = json!({"pattern": "*", "path": path});
        assert_eq!(world.refused("find", arguments), "secret.denied");
    }
    let arguments = json!({"pattern": "TOKEN", "path": "notes.txt"});
    assert_eq!(world.refused("grep", arguments), "secret.denied");
    assert_eq!(
        world.text("read", json!({"path": ".env.example"})),
        "     1\tTOKEN=\n"
    );
}

#[test]
fn g9_not_by_walking() {
    let mut world = world();
    let text = world.text("grep", json!({"pattern": "hunter2|TOKEN"}));
    assert_eq!(
        text,
        ".env.example:1:TOKEN=\napp/main.py:1:token = os.environ['TOKEN']\n\
         (4 secrets were left out)\n"
    );
    let text = world.text("find", json!({"pattern": "*"}));
    assert!(
        !text.contains("id_ed25519") && !text.contains("server.p12"),
        "{text}"
    );
}

/// A hard link is the same file under another name, and no path check can see it: said, not hidden.
#[test]
fn a_hard_link_is_noted() {
    let mut world = world();
    std::fs::hard_link(world.path("app/main.py"), world.path("twin.py")).unwrap();
    let Verdict::Allow(allowed) = world.judge("read", &json!({"path": "twin.py"})) else {
        panic!("not allowed");
    };
    assert_eq!(
        allowed.notes,
        ["the file has 2 names, and others may lie outside the readable roots"]
    );
}
