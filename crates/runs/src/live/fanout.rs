//! How many runs there may be (S7): at a time, in a minute, and of the same task.
//!
//! Pure but for the instants that it is given: what is refused here was refused before anything
//! happened.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use deputize_authority::Refusal;

use crate::{Look, ModelSettings, RunId};

/// The time over which spawns are counted.
const WINDOW: Duration = Duration::from_mins(1);

/// How long a run that succeeded stands in the way of the same one.
const TWIN: Duration = Duration::from_mins(10);

/// Twins that are remembered; older ones are forgotten first.
const MAX_TWINS: usize = 256;

/// How far runs may fan out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FanOut {
    /// Runs at a time.
    pub at_once: usize,
    /// Runs that begin within a minute.
    pub per_minute: usize,
}

impl Default for FanOut {
    fn default() -> Self {
        Self {
            at_once: 4,
            per_minute: 12,
        }
    }
}

impl FanOut {
    /// As a person configured it.
    ///
    /// # Errors
    /// `config_invalid`.
    pub fn configured(look: &Look) -> Result<Self, Refusal> {
        let runs = ModelSettings::read(look)?.config.runs;
        let usual = Self::default();
        Ok(Self {
            at_once: runs.at_once.map_or(usual.at_once, NonZeroUsize::get),
            per_minute: runs.per_minute.map_or(usual.per_minute, NonZeroUsize::get),
        })
    }
}

/// What makes two runs the same: preset, task and workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Twin {
    pub(super) preset: &'static str,
    pub(super) prompt: String,
    pub(super) workspace: PathBuf,
}

/// Whether a run may begin though the same one goes on or has just succeeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Again {
    /// It is refused, and the other one is named.
    #[default]
    Refuse,
    /// Whoever asks knows, and wants it once more.
    Allow,
}

#[derive(Debug)]
struct Known {
    twin: Twin,
    run: RunId,
    /// When it succeeded; `None` while it goes on.
    succeeded: Option<Instant>,
}

/// What was begun, for as long as it matters.
#[derive(Debug)]
pub(super) struct Counted {
    limits: FanOut,
    open: usize,
    begun: VecDeque<Instant>,
    known: VecDeque<Known>,
}

impl Counted {
    pub(super) fn new(limits: FanOut) -> Self {
        Self {
            limits,
            open: 0,
            begun: VecDeque::new(),
            known: VecDeque::new(),
        }
    }

    /// Takes a place for a run, which [`Counted::free`] gives back.
    pub(super) fn take(
        &mut self,
        now: Instant,
        run: &RunId,
        twin: Twin,
        again: Again,
    ) -> Result<(), Refusal> {
        self.forget(now);
        if again == Again::Refuse
            && let Some(other) = self.known.iter().find(|known| known.twin == twin)
        {
            return Err(twin_refused(other));
        }
        let FanOut {
            at_once,
            per_minute,
        } = self.limits;
        if self.open >= at_once {
            return Err(Refusal::new(
                "too_many_runs",
                "runs.at_once",
                format!("{at_once} runs go on already, as many as there may be at a time"),
                "wait for one with `subagent_status`, stop one, or raise `at_once` under [runs] in \
                 config.toml",
            ));
        }
        if self.begun.len() >= per_minute {
            return Err(Refusal::new(
                "too_many_spawns",
                "runs.per_minute",
                format!("{per_minute} runs began within the last minute, as many as may"),
                "wait a little, give one child more to do, or raise `per_minute` under [runs] in \
                 config.toml",
            ));
        }
        self.open += 1;
        self.begun.push_back(now);
        self.known.push_back(Known {
            twin,
            run: run.clone(),
            succeeded: None,
        });
        Ok(())
    }

    /// Gives a place back. Only a success is remembered: a retry of what failed is no twin.
    pub(super) fn free(&mut self, run: &RunId, succeeded: Option<Instant>) {
        self.open = self.open.saturating_sub(1);
        match succeeded {
            None => self.known.retain(|known| known.run != *run),
            Some(_) => {
                for known in self.known.iter_mut().filter(|known| known.run == *run) {
                    known.succeeded = succeeded;
                }
            }
        }
    }

    /// Takes back the youngest spawn, which never began.
    pub(super) fn uncount(&mut self) {
        self.begun.pop_back();
    }

    fn forget(&mut self, now: Instant) {
        let old = |at: Instant, age: Duration| now.saturating_duration_since(at) >= age;
        self.begun.retain(|at| !old(*at, WINDOW));
        self.known
            .retain(|known| known.succeeded.is_none_or(|at| !old(at, TWIN)));
        while self.known.len() > MAX_TWINS {
            let Some(at) = self
                .known
                .iter()
                .position(|known| known.succeeded.is_some())
            else {
                return;
            };
            self.known.remove(at);
        }
    }
}

fn twin_refused(other: &Known) -> Refusal {
    let run = other.run.short();
    let (what, fix) = match other.succeeded {
        None => (
            "goes on already",
            "follow that one with `subagent_status`, or say `again` if it is meant to run twice",
        ),
        Some(_) => (
            "ended well within the last 10 minutes",
            "take its result with `subagent_status`, or say `again` if it is meant to run twice",
        ),
    };
    Refusal::new(
        "twin",
        "prompt",
        format!("run {run} has the same preset, task and folder, and {what}"),
        fix,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn twin(prompt: &str) -> Twin {
        Twin {
            preset: "read-only",
            prompt: prompt.to_owned(),
            workspace: "/w".into(),
        }
    }

    /// S7: the fifth at a time and the thirteenth within a minute are refused, with the number and the
    /// setting; a place that is free again is taken.
    #[test]
    fn s7_limits_are_held_and_named() {
        let now = Instant::now();
        let mut counted = Counted::new(FanOut::default());
        let runs: Vec<RunId> = (0..13).map(|_| RunId::new()).collect();
        let take = |counted: &mut Counted, at: usize, now| {
            let code = counted.take(now, &runs[at], twin(&at.to_string()), Again::Refuse);
            code.map_err(|refusal| (refusal.code, refusal.field))
        };
        for at in 0..4 {
            assert_eq!(take(&mut counted, at, now), Ok(()));
        }
        let many = ("too_many_runs".to_owned(), "runs.at_once".to_owned());
        assert_eq!(take(&mut counted, 4, now), Err(many));
        for (at, run) in runs.iter().enumerate().take(12) {
            if at >= 4 {
                assert_eq!(take(&mut counted, at, now), Ok(()));
            }
            counted.free(run, None);
        }
        let many = ("too_many_spawns".to_owned(), "runs.per_minute".to_owned());
        assert_eq!(take(&mut counted, 12, now), Err(many));
        assert_eq!(take(&mut counted, 12, now + WINDOW), Ok(()));
    }

    /// S7: a twin that goes on or succeeded is named; one that failed, one that is old, and one that is
    /// wanted are none.
    #[test]
    fn s7_a_twin_is_named_and_a_retry_is_none() {
        let now = Instant::now();
        let mut counted = Counted::new(FanOut::default());
        let (first, second) = (RunId::new(), RunId::new());
        counted.take(now, &first, twin("a"), Again::Refuse).unwrap();
        let refused = |counted: &mut Counted, now, again| {
            let taken = counted.take(now, &second, twin("a"), again);
            if taken.is_ok() {
                counted.free(&second, None);
            }
            taken.err()
        };
        let refusal = refused(&mut counted, now, Again::Refuse).unwrap();
        assert_eq!(refusal.code, "twin");
        assert!(refusal.reason.contains(first.short()), "{refusal}");
        assert_eq!(refused(&mut counted, now, Again::Allow), None);
        counted.free(&first, Some(now));
        let later = now + TWIN - Duration::from_secs(1);
        let refusal = refused(&mut counted, later, Again::Refuse).unwrap();
        assert!(refusal.reason.contains("ended well"), "{refusal}");
        assert_eq!(refused(&mut counted, now + TWIN, Again::Refuse), None);
        counted.take(now, &first, twin("b"), Again::Refuse).unwrap();
        counted.free(&first, None);
        assert_eq!(counted.take(now, &second, twin("b"), Again::Refuse), Ok(()));
    }
}
