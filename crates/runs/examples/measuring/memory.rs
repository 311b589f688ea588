//! Memory of this process and of what it started.

use std::fs;

use deputize_testkit::descendants;

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
