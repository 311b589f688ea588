//! What a person said that goes beyond one run: this preset, for 30 minutes (S9).

use std::path::PathBuf;
use std::time::{Duration, Instant};

use deputize_authority::{Ask, Channel};

/// How long such a yes reaches.
const REACH: Duration = Duration::from_mins(30);

/// Answers that are remembered.
const MOST: usize = 64;

#[derive(Debug)]
struct Said {
    preset: &'static str,
    workspace: PathBuf,
    /// The very questions, facts and all: another port or folder is another question.
    asks: Vec<Ask>,
    by: Channel,
    at: Instant,
}

/// Answers that reach further than their run. They end with the process.
#[derive(Debug, Default)]
pub(super) struct StandingAnswers(Vec<Said>);

impl StandingAnswers {
    pub(super) fn remember(
        &mut self,
        preset: &'static str,
        workspace: PathBuf,
        asks: Vec<Ask>,
        by: Channel,
        at: Instant,
    ) {
        if self.0.len() >= MOST {
            self.0.remove(0);
        }
        self.0.push(Said {
            preset,
            workspace,
            asks,
            by,
            at,
        });
    }

    /// The channel of a yes to this question that still reaches.
    pub(super) fn about(
        &self,
        preset: &str,
        workspace: &std::path::Path,
        ask: &Ask,
        now: Instant,
    ) -> Option<Channel> {
        let found = self.0.iter().find(|said| {
            said.preset == preset
                && said.workspace == workspace
                && said.asks.contains(ask)
                && now.saturating_duration_since(said.at) < REACH
        });
        found.map(|said| said.by.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deputize_authority::{Consent, Scope};

    /// S9: it reaches the same effects of the same preset in the same folder, for 30 minutes.
    #[test]
    fn s9_a_yes_for_a_preset_reaches_so_far_and_no_further() {
        let ask = |effect, why: &str| Ask {
            effect,
            why: why.to_owned(),
        };
        let shell = ask(Consent::Shell, "runs commands");
        let by = Channel::Host {
            host: "pi".to_owned(),
            scope: Scope::Preset,
        };
        let now = Instant::now();
        let mut said = StandingAnswers::default();
        said.remember("general", "/w".into(), vec![shell.clone()], by, now);
        let reaches = |preset: &str, folder: &str, ask: &Ask, at| {
            said.about(preset, folder.as_ref(), ask, at).is_some()
        };
        let last = now + REACH - Duration::from_secs(1);
        assert!(reaches("general", "/w", &shell, last));
        assert!(!reaches("general", "/w", &shell, now + REACH));
        assert!(!reaches("read-only", "/w", &shell, now));
        assert!(!reaches("general", "/w/x", &shell, now));
        let port = ask(Consent::Network, "publishes port 1");
        assert!(!reaches("general", "/w", &port, now));
        let other = ask(Consent::Shell, "runs other commands");
        assert!(!reaches("general", "/w", &other, now));
    }
}
