//! The two clocks of a run, and its silence. Time is an argument: nothing here looks at one.

use deputize_authority::{Budget, Dimension};
use serde::{Deserialize, Serialize};

/// Milliseconds of a clock that only goes forward. Its zero means nothing.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Millis(pub u64);

impl Millis {
    /// The milliseconds since `earlier`; none when it is later.
    #[must_use]
    pub fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// So many milliseconds later.
    #[must_use]
    pub fn plus(self, ms: u64) -> Self {
        Self(self.0.saturating_add(ms))
    }
}

/// After so long without an event a run is shown as slow (D7).
pub const SLOW_MS: u64 = 20_000;

/// After so long without an event a run is shown as stalled.
pub const STALLED_MS: u64 = 60_000;

/// How quiet a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Silence {
    /// Something happened lately.
    Awake,
    /// Nothing happened for [`SLOW_MS`].
    Slow,
    /// Nothing happened for [`STALLED_MS`].
    Stalled,
}

/// Whether the idle clock runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Idle {
    /// Something is expected that should come soon.
    Counts,
    /// A tool runs or a stream is open: silence is allowed.
    Excused,
}

/// What time it is for the run.
#[derive(Debug, Default)]
pub(crate) struct Clock {
    now: Millis,
    started: Option<Millis>,
    /// Time that approvals waited, without the one that waits now.
    waited_ms: u64,
    waiting_since: Option<Millis>,
    last_life: Millis,
    /// How quiet the run was when it was last asked.
    noticed: Option<Silence>,
}

impl Clock {
    /// Takes the time of an event. A time that goes back counts as no time.
    pub(crate) fn advance(&mut self, now: Millis) {
        self.now = self.now.max(now);
    }

    pub(crate) fn now(&self) -> Millis {
        self.now
    }

    pub(crate) fn start(&mut self) {
        self.started = Some(self.now);
    }

    /// Something happened.
    pub(crate) fn life(&mut self) {
        self.last_life = self.now;
    }

    /// An approval is asked for: both clocks stop.
    pub(crate) fn wait(&mut self) {
        self.waiting_since.get_or_insert(self.now);
    }

    /// It was answered: both go on.
    pub(crate) fn go_on(&mut self) {
        if let Some(since) = self.waiting_since.take() {
            self.waited_ms = self.waited_ms.saturating_add(self.now.since(since));
        }
    }

    pub(crate) fn is_waiting(&self) -> bool {
        self.waiting_since.is_some()
    }

    /// Wall clock since the start, without the time that approvals waited.
    pub(crate) fn wall_ms(&self) -> u64 {
        let until = self.waiting_since.unwrap_or(self.now);
        self.started.map_or(0, |started| {
            until.since(started).saturating_sub(self.waited_ms)
        })
    }

    /// Time since anything happened; none while an approval waits.
    pub(crate) fn silent_ms(&self) -> u64 {
        if self.is_waiting() {
            0
        } else {
            self.now.since(self.last_life)
        }
    }

    /// The clock that has run out, if one has.
    pub(crate) fn run_out(&self, budget: &Budget, idle: Idle) -> Option<Dimension> {
        let is_over = |used_ms: u64, limit: Option<u64>| {
            limit.is_some_and(|seconds| used_ms >= seconds.saturating_mul(1000))
        };
        if self.started.is_none() {
            None
        } else if is_over(self.wall_ms(), budget.wall_seconds) {
            Some(Dimension::WallSeconds)
        } else if idle == Idle::Counts && is_over(self.silent_ms(), budget.idle_seconds) {
            Some(Dimension::IdleSeconds)
        } else {
            None
        }
    }

    /// How quiet it is.
    pub(crate) fn silence(&self) -> Silence {
        match self.silent_ms() {
            STALLED_MS.. => Silence::Stalled,
            SLOW_MS.. => Silence::Slow,
            _ => Silence::Awake,
        }
    }

    /// How quiet it is, when that changed since the last time this was asked.
    pub(crate) fn changed_silence(&mut self) -> Option<Silence> {
        let silence = self.silence();
        let before = self.noticed.replace(silence).unwrap_or(Silence::Awake);
        (silence != before).then_some(silence)
    }

    /// When one of the clocks or the silence wants to be looked at again.
    pub(crate) fn next(&self, budget: &Budget, idle: Idle) -> Option<Millis> {
        if self.is_waiting() {
            return None;
        }
        let wall = budget
            .wall_seconds
            .map(|seconds| seconds.saturating_mul(1000).saturating_sub(self.wall_ms()));
        let idle = budget
            .idle_seconds
            .filter(|_| idle == Idle::Counts)
            .map(|seconds| {
                seconds
                    .saturating_mul(1000)
                    .saturating_sub(self.silent_ms())
            });
        let silence = [SLOW_MS, STALLED_MS]
            .into_iter()
            .find(|limit| self.silent_ms() < *limit)
            .map(|limit| limit - self.silent_ms());
        [wall, idle, silence]
            .into_iter()
            .flatten()
            .min()
            .map(|ms| self.now.plus(ms))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUDGET: Budget = Budget {
        wall_seconds: Some(100),
        idle_seconds: Some(30),
        ..Budget::UNLIMITED
    };

    fn started() -> Clock {
        let mut clock = Clock::default();
        clock.advance(Millis(5_000));
        clock.start();
        clock.life();
        clock
    }

    /// D4: clocks stop while an approval waits.
    #[test]
    fn waiting_for_an_approval_takes_no_time() {
        let mut clock = started();
        clock.advance(Millis(15_000));
        clock.wait();
        clock.advance(Millis(900_000));
        clock.wait();
        assert_eq!(clock.wall_ms(), 10_000);
        assert_eq!(clock.run_out(&BUDGET, Idle::Counts), None);
        assert_eq!(clock.next(&BUDGET, Idle::Counts), None);
        clock.go_on();
        clock.life();
        clock.advance(Millis(901_000));
        assert_eq!(clock.wall_ms(), 11_000);
        assert_eq!(clock.run_out(&BUDGET, Idle::Counts), None);
        clock.advance(Millis(990_000));
        assert_eq!(
            clock.run_out(&BUDGET, Idle::Excused),
            Some(Dimension::WallSeconds)
        );
    }

    /// D4: idle ignores a running tool and an open stream.
    #[test]
    fn idle_counts_only_where_something_is_due() {
        let mut clock = started();
        clock.advance(Millis(35_000));
        assert_eq!(clock.run_out(&BUDGET, Idle::Excused), None);
        assert_eq!(
            clock.run_out(&BUDGET, Idle::Counts),
            Some(Dimension::IdleSeconds)
        );
        clock.life();
        assert_eq!(clock.run_out(&BUDGET, Idle::Counts), None);
        assert_eq!(clock.next(&BUDGET, Idle::Counts), Some(Millis(55_000)));
    }

    /// D7: slow after 20 s, stalled after 60 s, each said once.
    #[test]
    fn silence_is_noticed_once_per_stage() {
        let mut clock = started();
        let mut seen = Vec::new();
        for second in 0..80 {
            clock.advance(Millis(5_000 + second * 1000));
            seen.extend(clock.changed_silence().map(|silence| (second, silence)));
        }
        clock.life();
        seen.extend(clock.changed_silence().map(|silence| (80, silence)));
        assert_eq!(
            seen,
            [
                (20, Silence::Slow),
                (60, Silence::Stalled),
                (80, Silence::Awake)
            ]
        );
    }

    #[test]
    fn time_that_goes_back_is_no_time() {
        let mut clock = started();
        clock.advance(Millis(0));
        assert_eq!((clock.now(), clock.wall_ms()), (Millis(5_000), 0));
    }
}
