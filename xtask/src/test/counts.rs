//! The counts that test runners print.

use std::fmt;
use std::iter::Sum;

/// How many tests passed, failed and were skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Counts {
    pub(super) passed: u64,
    pub(super) failed: u64,
    pub(super) skipped: u64,
}

impl Counts {
    /// Adds up every closing line among `lines`, of libtest and of nextest.
    pub(super) fn read(lines: &[String]) -> Self {
        lines
            .iter()
            .filter_map(|line| libtest(line).or_else(|| nextest(line)))
            .sum()
    }
}

/// `test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; …`
fn libtest(line: &str) -> Option<Counts> {
    let (_, numbers) = line.strip_prefix("test result: ")?.split_once(". ")?;
    Some(tally(numbers.split(';')))
}

/// `Summary [ 0.1s] 5 tests run: 3 passed (1 slow), 1 failed, 1 timed out, 2 skipped`
fn nextest(line: &str) -> Option<Counts> {
    let numbers = line.trim_start().strip_prefix("Summary [")?;
    let (_, numbers) = numbers.split_once("run: ")?;
    let mut depth = 0_u32;
    let parts = numbers.split(|character| {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        character == ',' && depth == 0
    });
    Some(tally(parts))
}

/// Sums parts such as `3 passed`. What is neither passed nor skipped has failed, whatever its name.
fn tally<'a>(parts: impl Iterator<Item = &'a str>) -> Counts {
    let mut counts = Counts::default();
    for part in parts {
        let mut words = part.split_whitespace();
        let Some(number) = words.next().and_then(|number| number.parse::<u64>().ok()) else {
            continue;
        };
        match words.next() {
            Some("passed") => counts.passed += number,
            Some("ignored" | "skipped") => counts.skipped += number,
            Some("measured" | "filtered") | None => {}
            Some(_) => counts.failed += number,
        }
    }
    counts
}

impl Counts {
    /// The same once more tests have run that were skipped here.
    pub(super) fn made_up(self, later: Self) -> Self {
        let ran = later.passed + later.failed;
        Self {
            skipped: self.skipped.saturating_sub(ran),
            ..self
        }
    }
}

impl Sum for Counts {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            passed: sum.passed + one.passed,
            failed: sum.failed + one.failed,
            skipped: sum.skipped + one.skipped,
        })
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            passed,
            failed,
            skipped,
        } = self;
        write!(f, "{passed} passed, {failed} failed, {skipped} skipped")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &[&str]) -> String {
        let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        Counts::read(&lines).to_string()
    }

    #[test]
    fn libtest_is_read() {
        let lines = [
            "running 3 tests",
            "test a ... ok",
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 7 filtered out; finished in 0.00s",
            "test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1s",
        ];
        assert_eq!(read(&lines), "4 passed, 2 failed, 1 skipped");
    }

    #[test]
    fn what_ran_later_is_not_skipped() {
        let counts = |passed, failed, skipped| Counts {
            passed,
            failed,
            skipped,
        };
        let first = counts(5, 0, 3);
        assert_eq!(first.made_up(counts(1, 1, 0)), counts(5, 0, 1));
        assert_eq!(first.made_up(Counts::default()), first);
    }

    #[test]
    fn nextest_is_read() {
        let line = "     Summary [   0.010s] 5/6 tests run: 2 passed (1 slow, 1 leaky), 1 failed, \
                    1 timed out, 1 exec failed, 2 skipped";
        assert_eq!(read(&[line]), "2 passed, 3 failed, 2 skipped");
        let line = "     Summary [   0.010s] 1 test run: 1 passed, 0 skipped";
        assert_eq!(read(&[line]), "1 passed, 0 failed, 0 skipped");
    }
}
