//! Looking for processes: those that a program started, and those that should be gone.

use std::fs;

/// Ids of the processes whose command line contains `needle`, apart from our own.
///
/// A test gives its payload an argument that nothing else on the machine has.
#[must_use]
pub fn processes_naming(needle: &str) -> Vec<u32> {
    fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok())
        .filter(|id| *id != std::process::id())
        .filter(|id| {
            // A process that ended in between has no command line.
            let line = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains(needle)
        })
        .collect()
}

/// Whether a process exists and isn't a zombie that only waits to be reaped.
#[must_use]
pub fn alive(id: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    stat.rsplit_once(") ")
        .is_some_and(|(_, fields)| !fields.starts_with(['Z', 'X']))
}

/// Ids of every process below this one.
#[must_use]
pub fn descendants(id: u32) -> Vec<u32> {
    let parents: Vec<(u32, u32)> = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(|id: u32| {
            let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
            let parent = stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()?;
            Some((id, parent))
        })
        .collect();
    let mut found = vec![id];
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        let children = parents.iter().filter(|row| row.1 == parent);
        found.extend(children.map(|row| row.0));
        next += 1;
    }
    found.split_off(1)
}
