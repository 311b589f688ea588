//! Memory of this process and of what it started.

use std::fs;

/// A field of `/proc/PID/status` of this process and of all that descend from it, in KiB: this
/// one's, and the sum over the others.
pub(crate) fn family(field: &str) -> (u64, u64) {
    let own = std::process::id();
    let others = descendants(own);
    let others = others.iter().map(|id| status(*id, field)).sum();
    (status(own, field), others)
}

fn status(id: u32, field: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    text.lines()
        .filter_map(|line| line.strip_prefix(field)?.strip_prefix(':'))
        .filter_map(|rest| rest.split_whitespace().next()?.parse::<u64>().ok())
        .sum()
}

fn descendants(root: u32) -> Vec<u32> {
    let parents: Vec<(u32, u32)> = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(|id| Some((id, parent(id)?)))
        .collect();
    let mut found = vec![root];
    let mut next = 0;
    while let Some(id) = found.get(next).copied() {
        let children = parents.iter().filter(|(_, parent)| *parent == id);
        found.extend(children.map(|(child, _)| child));
        next += 1;
    }
    found.split_off(1)
}

fn parent(id: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name may hold anything, so the fields are counted from its closing parenthesis.
    let rest = stat.rsplit_once(')')?.1;
    rest.split_whitespace().nth(1)?.parse().ok()
}
