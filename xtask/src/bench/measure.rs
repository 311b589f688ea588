//! Times of commands that run to their end, taken in turn.

use std::io;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::prctl::set_child_subreaper;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;
use nix::sys::wait::wait;

/// Rounds that are run and thrown away: caches fill, the processor wakes up.
const WARM_UP: usize = 2;

/// One way of doing the same thing.
pub(super) struct Side<'a> {
    pub(super) name: String,
    pub(super) command: Box<dyn Fn() -> Command + 'a>,
}

/// What one side took, or why it couldn't be measured.
pub(super) type Outcome = Result<Times, String>;

/// Times of one side.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Times {
    pub(super) wall: Spread,
    pub(super) cpu: Spread,
}

/// Where a set of samples lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spread {
    pub(super) median: Duration,
    pub(super) least: Duration,
}

/// Measures every side that works, in turn.
pub(super) fn in_turn(sides: &[Side<'_>], rounds: usize) -> Vec<Outcome> {
    let works: Vec<Result<(), String>> = sides.iter().map(|side| trial(&side.command)).collect();
    let mut samples = vec![Vec::new(); sides.len()];
    for round in 0..rounds + WARM_UP {
        for (index, side) in sides.iter().enumerate() {
            if works[index].is_err() {
                continue;
            }
            match sample(&mut (side.command)()) {
                Ok(taken) if round >= WARM_UP => samples[index].push(taken),
                // A side that worked once and then doesn't is missing a sample; its number is
                // compared with the rounds below.
                _ => {}
            }
        }
    }
    let outcomes = works.into_iter().zip(samples);
    outcomes
        .map(|(works, samples)| {
            works?;
            if samples.len() < rounds {
                return Err(format!("failed in {} rounds", rounds - samples.len()));
            }
            let spread = |part: fn(&(Duration, Duration)) -> Duration| {
                Spread::of(samples.iter().map(part).collect())
            };
            let times = spread(|sample| sample.0).zip(spread(|sample| sample.1));
            let (wall, cpu) = times.ok_or("no round was asked for")?;
            Ok(Times { wall, cpu })
        })
        .collect()
}

/// Runs a side once, to see that it does what it should.
fn trial(command: &dyn Fn() -> Command) -> Result<(), String> {
    let output = command()
        .stdin(Stdio::null())
        .output()
        .map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().last().unwrap_or_default();
    Err(format!("{} {last}", output.status))
}

/// Wall time until the command ends, and the CPU time of its whole tree.
///
/// A sandbox may end without waiting for its own children, and their time would be lost: so orphans
/// come to us, and we wait for the last of them.
fn sample(command: &mut Command) -> io::Result<(Duration, Duration)> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    set_child_subreaper(true)?;
    let before = used()?;
    let started = Instant::now();
    let status = command.spawn()?.wait()?;
    let wall = started.elapsed();
    loop {
        match wait() {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(Errno::ECHILD) => break,
            Err(error) => return Err(error.into()),
        }
    }
    let cpu = used()?.saturating_sub(before);
    if !status.success() {
        return Err(io::Error::other(status.to_string()));
    }
    Ok((wall, cpu))
}

/// CPU time of all the children that were waited for so far.
fn used() -> io::Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    Ok(duration(usage.user_time()) + duration(usage.system_time()))
}

/// The kernel counts up: neither part is ever negative, and the second is below a million.
fn duration(time: TimeVal) -> Duration {
    let seconds = u64::try_from(time.tv_sec()).unwrap_or_default();
    let micros = u64::try_from(time.tv_usec()).unwrap_or_default();
    Duration::from_secs(seconds) + Duration::from_micros(micros)
}

impl Spread {
    fn of(mut samples: Vec<Duration>) -> Option<Self> {
        samples.sort_unstable();
        Some(Self {
            median: *samples.get(samples.len() / 2)?,
            least: *samples.first()?,
        })
    }

    /// How often the other's median goes into this one.
    pub(super) fn ratio(&self, anchor: &Self) -> f64 {
        self.median.as_secs_f64() / anchor.median.as_secs_f64().max(f64::EPSILON)
    }
}

impl std::fmt::Display for Spread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let milliseconds = |time: Duration| time.as_secs_f64() * 1_000.0;
        let (median, least) = (milliseconds(self.median), milliseconds(self.least));
        write!(f, "{median:.1} ({least:.1}) ms")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // `sample` isn't called here: it waits for every child of the process, the other tests' too.

    #[test]
    fn a_side_that_fails_says_why() {
        let script = |script: &'static str| {
            move || {
                let mut command = Command::new("sh");
                command.args(["-c", script]);
                command
            }
        };
        assert_eq!(trial(&script("exit 0")), Ok(()));
        let why = "exit status: 4 why".to_owned();
        assert_eq!(trial(&script("echo why >&2; exit 4")), Err(why));
    }

    #[test]
    fn times_add_up() {
        assert_eq!(
            duration(TimeVal::new(1, 500)),
            Duration::from_micros(1_000_500)
        );
    }

    #[test]
    fn the_middle_and_the_least_are_taken() {
        let spread = Spread::of([5, 1, 9].map(Duration::from_millis).to_vec()).unwrap();
        assert_eq!(spread.to_string(), "5.0 (1.0) ms");
    }
}
