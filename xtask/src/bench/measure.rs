//! Times of commands that run to their end, taken in turn.

use std::io;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use wait4::Wait4 as _;

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

/// Wall time and CPU time, its own and that of the processes it waited for.
fn sample(command: &mut Command) -> io::Result<(Duration, Duration)> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let started = Instant::now();
    let child = command.spawn()?;
    let used = child.wait4()?;
    let wall = started.elapsed();
    if !used.status.success() {
        return Err(io::Error::other(used.status.to_string()));
    }
    Ok((wall, used.rusage.utime + used.rusage.stime))
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

    fn side(script: &'static str) -> Side<'static> {
        Side {
            name: script.to_owned(),
            command: Box::new(move || {
                let mut command = Command::new("sh");
                command.args(["-c", script]);
                command
            }),
        }
    }

    #[test]
    fn a_side_that_fails_is_said_to_and_hurts_no_other() {
        let outcomes = in_turn(&[side("exit 0"), side("echo why >&2; exit 4")], 3);
        assert!(outcomes[0].is_ok());
        assert_eq!(outcomes[1], Err("exit status: 4 why".to_owned()));
    }

    #[test]
    fn work_counts_as_cpu_and_sleep_as_wall() {
        let work = side("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done");
        let outcomes = in_turn(&[work, side("sleep 0.05")], 1);
        let times: Vec<Times> = outcomes.into_iter().map(Result::unwrap).collect();
        assert!(times[0].cpu.median > times[1].cpu.median);
        assert!(times[1].wall.median >= Duration::from_millis(50));
    }

    #[test]
    fn the_middle_and_the_least_are_taken() {
        let spread = Spread::of([5, 1, 9].map(Duration::from_millis).to_vec()).unwrap();
        assert_eq!(spread.to_string(), "5.0 (1.0) ms");
    }
}
