//! What isn't a file or a folder never stops the worker.

use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::world::{World, fifo};

#[test]
fn pipes_sockets_and_devices_are_refused_at_once() {
    let mut world = World::granting(|_| vec!["/dev/null".into()]);
    fifo(&world.path("pipe"));
    let _socket = UnixListener::bind(world.path("socket")).unwrap();
    world.link("pipe", "to-pipe");
    world.file("a", "needle\n");
    let started = Instant::now();
    for path in ["pipe", "to-pipe", "socket", "/dev/null"] {
        assert_eq!(
            world.refused("read", json!({ "path": path })),
            "path.not_a_file",
            "{path}"
        );
        let arguments = json!({"pattern": "x", "path": path});
        assert_eq!(
            world.refused("grep", arguments),
            "path.not_a_file",
            "{path}"
        );
    }
    assert_eq!(
        world.text("grep", json!({"pattern": "needle"})),
        "a:1:needle\n"
    );
    assert!(started.elapsed() < Duration::from_secs(5));
}
