//! G4: the swap attack. One thread exchanges a folder with a link that leads out, without pause,
//! while the other reads through gate and worker.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::json;

use crate::world::{Outcome, World};

const ATTEMPTS: u64 = 20_000;
const TIME: Duration = Duration::from_secs(2);

/// `d/f` inside, and a link `evil` to a folder outside with another `f`.
fn world() -> World {
    let world = World::new();
    world.file("d/f", "inside");
    fs::write(world.base().join("out/f"), "OUTSIDE").unwrap();
    world.link(world.base().join("out"), "evil");
    world
}

/// Does something while `d` and `evil` change places all the time.
fn under_attack<T>(workspace: &Path, work: impl FnOnce() -> T) -> T {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let (a, b) = (workspace.join("d"), workspace.join("evil"));
                renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE).unwrap();
            }
        });
        let _stop = StopOnDrop(&stop);
        work()
    })
}

/// Ends the attack also when the work panics.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The positive control: in the same setup, checking a path and then opening it does escape.
#[test]
fn checking_a_path_and_then_opening_it_escapes() {
    let world = world();
    let root: PathBuf = world.path("").components().collect();
    let started = Instant::now();
    let escapes = under_attack(&root, || {
        loop {
            let path = root.join("d/f");
            let checked = fs::canonicalize(&path).is_ok_and(|path| path.starts_with(&root));
            if checked && fs::read(&path).is_ok_and(|bytes| bytes == b"OUTSIDE") {
                return true;
            }
            if started.elapsed() > Duration::from_secs(60) {
                return false;
            }
        }
    });
    assert!(escapes, "the attack is not what it should be");
}

#[test]
fn g4_a_swapped_link_never_leads_a_read_outside() {
    let mut world = world();
    let root = world.path("");
    let (mut inside, mut refused, mut attempts) = (0_u64, 0_u64, 0_u64);
    let started = Instant::now();
    under_attack(&root, || {
        // Both outcomes must have been seen: otherwise nothing was attacked.
        while attempts < ATTEMPTS && started.elapsed() < TIME || inside == 0 || refused == 0 {
            attempts += 1;
            match world.call("read", json!({"path": "d/f"})) {
                Outcome::Output(output) => {
                    assert_eq!(output.text.raw(), "     1\tinside\n");
                    inside += 1;
                }
                Outcome::Failed(_) | Outcome::Denied(_) => refused += 1,
            }
            assert!(
                started.elapsed() < Duration::from_secs(60),
                "{inside} {refused}"
            );
        }
    });
    assert_eq!(inside + refused, attempts);
}

#[test]
fn g4_a_swapped_link_never_leads_a_search_or_a_listing_outside() {
    let mut world = world();
    fs::write(world.base().join("out/only-there"), "OUTSIDE").unwrap();
    let root = world.path("");
    let started = Instant::now();
    under_attack(&root, || {
        let mut rounds = 0;
        while rounds < 1_000 && started.elapsed() < TIME {
            rounds += 1;
            for (tool, arguments) in [
                ("grep", json!({"pattern": "OUTSIDE"})),
                ("grep", json!({"pattern": "OUTSIDE", "path": "d"})),
                ("find", json!({"pattern": "*"})),
                ("ls", json!({"path": "d"})),
            ] {
                if let Outcome::Output(output) = world.call(tool, arguments) {
                    let text = output.text.raw();
                    assert!(!text.contains("OUTSIDE"), "{tool}: {text}");
                    assert!(!text.contains("only-there"), "{tool}: {text}");
                }
            }
        }
    });
}

/// The same attack on changes: what lies outside stays as it is, and nothing comes to be there.
#[test]
fn g4_a_swapped_link_never_leads_a_change_outside() {
    let mut world = World::changing();
    world.file("d/f", "inside 0");
    fs::write(world.base().join("out/f"), "OUTSIDE").unwrap();
    world.link(world.base().join("out"), "evil");
    let root = world.path("");
    let (mut changed, mut refused, mut round) = (0_u64, 0_u64, 0_u64);
    let started = Instant::now();
    under_attack(&root, || {
        while started.elapsed() < TIME || changed == 0 || refused == 0 {
            round += 1;
            let edit = json!({"path": "d/f", "edits": [
                {"old": "inside", "new": format!("inside {round}")},
            ]});
            let fresh = json!({"path": format!("d/n{}/new", round % 50), "content": "x"});
            for (tool, arguments) in [("edit", edit), ("write", fresh)] {
                match world.call(tool, arguments) {
                    Outcome::Output(_) => changed += 1,
                    Outcome::Failed(_) | Outcome::Denied(_) => refused += 1,
                }
            }
            let _ = fs::remove_dir_all(root.join(format!("d/n{}", round % 50)));
            assert!(
                started.elapsed() < Duration::from_secs(60),
                "{changed} {refused}"
            );
        }
    });
    let outside = world.base().join("out");
    assert_eq!(fs::read(outside.join("f")).unwrap(), b"OUTSIDE");
    let names: Vec<_> = fs::read_dir(&outside).unwrap().collect();
    assert_eq!(names.len(), 1, "{names:?}");
}
