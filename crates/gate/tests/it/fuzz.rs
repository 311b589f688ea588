//! G10: a short, repeatable slice of `cargo xtask fuzz`.

#[path = "../../examples/fuzz/laws.rs"]
mod laws;
#[path = "../../examples/fuzz/mutate.rs"]
mod mutate;

use std::time::Duration;

use laws::Bench;
use mutate::{Mutator, corpora};

/// Lines of the slice; the whole of it runs for as long as somebody has the time.
const LINES: u64 = 400;
/// A debug build under load is far slower than what is promised of a release.
const SOON: Duration = Duration::from_secs(5);

/// G5, G6, G10: every line ends soon in a verdict that keeps the laws: wrapping never makes it safer,
/// quoting never turns it into a command, a denial, a doubt or less of a boundary never widens.
#[test]
fn g10_hostile_lines_keep_the_laws() {
    let bench = Bench::new();
    let mut mutator = Mutator::new(20_260_101, corpora());
    for number in 0..LINES {
        let line = mutator.next();
        assert!(bench.time(&line) < SOON, "{line:?}");
        assert_eq!(bench.broken(&line, number), None, "{line:?}");
    }
}

/// The same seed gives the same lines, so that a failure can be had again.
#[test]
fn g10_a_seed_is_repeatable() {
    let lines = |seed| -> Vec<String> {
        let mut mutator = Mutator::new(seed, corpora());
        (0..50).map(|_| mutator.next()).collect()
    };
    assert_eq!(lines(7), lines(7));
    assert_ne!(lines(7), lines(8));
}
