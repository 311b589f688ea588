//! C3: no change is made from a content that the child hasn't seen, and writers don't race.

use std::fs;
use std::time::{Duration, Instant};

use deputize_gate::{Verdict, admit, decide, queries};
use deputize_tools::{Request, Response, Worker};
use rustix::fs::{FlockOperation, flock};
use serde_json::{Value, json};

use crate::world::{Outcome, World, ask};

fn hash_in(text: &str) -> &str {
    let at = text.find("sha256:").unwrap();
    &text[at..at + "sha256:".len() + 12]
}

#[test]
fn c3_a_change_from_another_content_is_refused_with_the_newer_hash() {
    let mut world = World::changing();
    world.file("a", "one\n");
    let first = world.text("read", json!({"path": "a"}));
    fs::write(world.path("a"), "two\n").unwrap();
    let edit = json!({"path": "a", "edits": [{"old": "two", "new": "three"}]});
    for (tool, arguments) in [
        ("edit", edit.clone()),
        ("write", json!({"path": "a", "content": "three\n"})),
    ] {
        let Outcome::Failed(failure) = world.call(tool, arguments) else {
            panic!("{tool} was not refused");
        };
        assert_eq!(failure.code, "stale");
        assert!(failure.message.contains("Read it again"), "{failure:?}");
        assert_eq!(world.content("a"), b"two\n");
        let now = hash_in(&failure.message).to_owned();
        assert_ne!(now, hash_in(&first));
        // What it says is what a read says.
        let mut other = world.another_worker();
        let read = through(&world, &mut other, "read", json!({"path": "a"})).unwrap();
        assert_eq!(hash_in(&read), now);
    }
    world.text("read", json!({"path": "a"}));
    world.text("edit", edit);
    assert_eq!(world.content("a"), b"three\n");
}

/// Only a child that may change files is told what tells contents apart.
#[test]
fn c3_a_child_that_only_looks_is_told_no_hashes() {
    let mut world = World::new();
    world.file("a", "one\n");
    assert_eq!(world.text("read", json!({"path": "a"})), "     1\tone\n");
}

/// A call on its whole way through a worker of its own.
fn through(
    world: &World,
    worker: &mut Worker,
    tool: &str,
    arguments: Value,
) -> Result<String, String> {
    let context = world.context();
    let call = admit(tool, &arguments, &context).unwrap();
    let asked = Request::Facts(queries(&call, &context));
    let Response::Facts(facts) = ask(worker, &asked) else {
        panic!("no facts");
    };
    match decide(call, &facts, &context) {
        Verdict::Allow(allowed) => match ask(worker, &Request::Run(Box::new(allowed.sealed))) {
            Response::Output(output) => Ok(output.rendered()),
            Response::Failed(failure) => Err(failure.code),
            other => panic!("{other:?}"),
        },
        // The file is away for a moment.
        Verdict::Deny(denied) => Err(denied.rule.id.to_owned()),
        Verdict::Ask(asked) => panic!("{asked:?}"),
    }
}

/// Two children count in one file. None of their changes is lost, and each refusal is one of those
/// that say to look again.
#[test]
fn c3_two_children_lose_no_change() {
    const ROUNDS: u64 = 150;
    let world = World::changing();
    world.file("count", "0\n");
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut worker = world.another_worker();
                let deadline = Instant::now() + Duration::from_secs(60);
                let mut done = 0;
                while done < ROUNDS {
                    assert!(Instant::now() < deadline, "{done} done");
                    let read = through(&world, &mut worker, "read", json!({"path": "count"}));
                    let Ok(read) = read else { continue };
                    let line = read.lines().next().unwrap();
                    let count: u64 = line.split('\t').nth(1).unwrap().parse().unwrap();
                    let content = format!("{}\n", count + 1);
                    let arguments = json!({"path": "count", "content": content});
                    match through(&world, &mut worker, "write", arguments) {
                        Ok(_) => done += 1,
                        Err(code) => {
                            assert!(
                                ["stale", "changed_since_check"].contains(&code.as_str()),
                                "{code}"
                            );
                        }
                    }
                }
            });
        }
    });
    assert_eq!(
        world.content("count"),
        format!("{}\n", 2 * ROUNDS).as_bytes()
    );
    assert_eq!(world.names(""), ["count"]);
}

#[test]
fn c3_a_file_that_another_process_holds_is_busy() {
    let mut world = World::changing();
    world.file("a", "one\n");
    let held = fs::File::open(world.path("a")).unwrap();
    flock(&held, FlockOperation::LockExclusive).unwrap();
    let edit = json!({"path": "a", "edits": [{"old": "one", "new": "two"}]});
    assert_eq!(world.refused("edit", edit.clone()), "busy");
    drop(held);
    world.text("edit", edit);
    assert_eq!(world.content("a"), b"two\n");
}
