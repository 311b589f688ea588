//! Memory of the processes that stand around a command while it runs.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::scene::{As, Scene};
use super::{Line, Row, anchor};

/// The command that waits while others are looked at; longer than any look takes.
const WAITER: [&str; 2] = ["sleep", "60"];

/// How long a boundary may take to start here: a hundred times what it does.
const START_LIMIT: Duration = Duration::from_secs(10);

/// Ours, and bubblewrap where it is installed.
pub(super) fn lines(scene: &Scene, row: &Row) -> Vec<Line> {
    let who = As::Ordinary;
    let mut ours = scene.command(who, scene.program());
    ours.args(["exec", "--"]).args(WAITER);
    let mut sides = vec![("deputize exec", ours, row.goal)];
    if let Some(bubblewrap) = anchor::bubblewrap() {
        let mut command = scene.command(who, &bubblewrap);
        command
            .args(anchor::arguments(&scene.repository(who)))
            .args(WAITER);
        sides.insert(0, ("bubblewrap", command, ""));
    }
    let lines = sides.into_iter().map(|(name, mut command, goal)| {
        let side = match around(&mut command) {
            Ok((processes, kib)) => format!("{name}: {kib} KiB in {processes} processes"),
            Err(why) => format!("{name} failed: {why}"),
        };
        Line {
            side,
            goal: goal.to_owned(),
            ..row.absent("")
        }
    });
    lines.collect()
}

/// Number and proportional memory of the processes between us and the waiter.
fn around(command: &mut Command) -> Result<(usize, u64), String> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    let seen = look(&mut child);
    // It is ours and may have ended by itself; its tree goes with it.
    let _ = child.kill();
    let _ = child.wait();
    seen
}

fn look(child: &mut Child) -> Result<(usize, u64), String> {
    let started = Instant::now();
    while started.elapsed() < START_LIMIT {
        let tree = tree(child.id());
        if tree.iter().any(|id| name(*id) == WAITER[0]) {
            let around: Vec<u32> = tree
                .into_iter()
                .filter(|id| name(*id) != WAITER[0])
                .collect();
            let memory = around.iter().filter_map(|id| proportional(*id)).sum();
            return Ok((around.len(), memory));
        }
        if let Ok(Some(status)) = child.try_wait() {
            return Err(format!("ended with {status}"));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Err("its command didn't start in time".to_owned())
}

/// A process and all that descend from it.
fn tree(root: u32) -> Vec<u32> {
    let parents: Vec<(u32, u32)> = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(|id| Some((id, parent(id)?)))
        .collect();
    let mut tree = vec![root];
    let mut next = 0;
    while let Some(id) = tree.get(next).copied() {
        let children = parents.iter().filter(|(_, parent)| *parent == id);
        tree.extend(children.map(|(child, _)| child));
        next += 1;
    }
    tree
}

fn parent(id: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name may hold anything, so the fields are counted from its closing parenthesis.
    stat.rsplit_once(')')?
        .1
        .split_whitespace()
        .nth(1)?
        .parse()
        .ok()
}

fn name(id: u32) -> String {
    let name = fs::read_to_string(format!("/proc/{id}/comm")).unwrap_or_default();
    name.trim_end().to_owned()
}

/// KiB, with shared pages divided among those that share them.
fn proportional(id: u32) -> Option<u64> {
    let path = format!("/proc/{id}/smaps_rollup");
    let text = fs::read_to_string(Path::new(&path)).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_around_a_command_is_weighed() {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 60 & wait"]);
        // The shell is killed with the rest of its tree by nothing here: end the sleeper first.
        let mut child = command.spawn().unwrap();
        let (processes, kib) = look(&mut child).unwrap();
        for id in tree(child.id()).into_iter().skip(1) {
            Command::new("kill").arg(id.to_string()).status().unwrap();
        }
        child.wait().unwrap();
        assert_eq!(processes, 1);
        assert!(kib > 0);
    }
}
