//! Which questions of a spawn are answered already, and by what (S4).
//!
//! Pure: from the questions, what the person typed, and the person's rules. A denial stands whatever
//! was typed; what nothing covers stays open, and an open question keeps a child from starting.

use std::collections::BTreeSet;
use std::path::Path;

use serde::Serialize;

use crate::rules::RuleKind;
use crate::{Approval, Ask, Channel, Consent, Place, Preset, Refusal, Rules, escape};

/// What came of one question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    /// A person agreed.
    Covered {
        /// Through this channel.
        by: Channel,
    },
    /// Nobody has said anything yet.
    Open,
    /// A rule says no.
    Denied {
        /// Where it stands.
        rule: Place,
        /// Why, in the person's words.
        reason: Option<String>,
    },
}

/// A question and what came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Standing {
    /// The question.
    #[serde(flatten)]
    pub ask: Ask,
    /// What came of it.
    #[serde(flatten)]
    pub answer: Answer,
}

/// The questions of a spawn, each with what came of it, in the card's order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Settled(Vec<Standing>);

/// What to do when no yes came.
const ASK_AGAIN: &str =
    "ask for a child that needs less, or run it again and answer `y`; nothing was started";

/// Answers what can be answered without asking.
#[must_use]
pub fn settle(
    asks: Vec<Ask>,
    typed: &[Consent],
    rules: &Rules,
    preset: Preset,
    workdir: &Path,
) -> Settled {
    let standing = |ask: Ask| {
        let rule = rules.about(ask.effect, preset, workdir);
        let answer = match rule {
            Some(rule) if rule.kind == RuleKind::Deny => Answer::Denied {
                rule: rule.place.clone(),
                reason: rule.reason.clone(),
            },
            _ if typed.contains(&ask.effect) => Answer::Covered {
                by: Channel::CommandLine,
            },
            Some(rule) => Answer::Covered {
                by: Channel::Rule(rule.place.clone()),
            },
            None => Answer::Open,
        };
        Standing { ask, answer }
    };
    Settled(asks.into_iter().map(standing).collect())
}

impl Settled {
    /// Every question with what came of it.
    #[must_use]
    pub fn standings(&self) -> &[Standing] {
        &self.0
    }

    /// The questions that nothing answers.
    pub fn open(&self) -> impl Iterator<Item = &Ask> {
        self.0
            .iter()
            .filter(|standing| standing.answer == Answer::Open)
            .map(|standing| &standing.ask)
    }

    /// Takes a person's yes to everything that is open. What is denied stays denied.
    pub fn accept(&mut self, by: &Channel) {
        for standing in &mut self.0 {
            if standing.answer == Answer::Open {
                standing.answer = Answer::Covered { by: by.clone() };
            }
        }
    }

    /// Takes what a person said earlier about the same questions: `said` gives the channel of a yes
    /// that still reaches this far. What is denied stays denied.
    pub fn cover(&mut self, said: impl Fn(&Ask) -> Option<Channel>) {
        for standing in &mut self.0 {
            if standing.answer == Answer::Open
                && let Some(by) = said(&standing.ask)
            {
                standing.answer = Answer::Covered { by };
            }
        }
    }

    /// The refusal of a rule, if one denies anything; it comes before any question.
    ///
    /// # Errors
    /// `denied_by_rule`, with the rule's place.
    pub fn refuse_denied(&self) -> Result<(), Refusal> {
        for standing in &self.0 {
            if let Answer::Denied { rule, reason } = &standing.answer {
                let effect = standing.ask.effect;
                let reason = reason
                    .as_ref()
                    .map(|reason| format!(" ({})", escape(reason)))
                    .unwrap_or_default();
                return Err(Refusal::new(
                    "denied_by_rule",
                    effect.name(),
                    format!(
                        "the rule {rule} denies `{effect}`{reason}, and this child {}",
                        standing.ask.why
                    ),
                    "ask for a child that needs less, or change that rule",
                ));
            }
        }
        Ok(())
    }

    /// What a person agreed to, by channel; only once nothing is open and nothing is denied.
    ///
    /// # Errors
    /// `denied_by_rule`, or `confirmation_needed`, which names every open effect, the exact `--allow`
    /// and `rules_file`.
    pub fn approvals(&self, rules_file: Option<&str>) -> Result<Vec<Approval>, Refusal> {
        self.refuse_denied()?;
        if self.open().next().is_some() {
            let fix = match rules_file {
                Some(file) => format!(
                    "answer on a terminal, type `--allow {}`, or write a rule into `{}`",
                    self.allow_list(),
                    escape(file)
                ),
                None => format!(
                    "answer on a terminal, or type `--allow {}`",
                    self.allow_list()
                ),
            };
            return Err(self.unconfirmed(fix));
        }
        let mut approvals: Vec<Approval> = Vec::new();
        for standing in &self.0 {
            if let Answer::Covered { by } = &standing.answer {
                match approvals.iter_mut().find(|approval| approval.by == *by) {
                    Some(approval) => approval.effects.push(standing.ask.effect),
                    None => approvals.push(Approval {
                        effects: vec![standing.ask.effect],
                        by: by.clone(),
                        scope: by.scope(),
                    }),
                }
            }
        }
        Ok(approvals)
    }

    /// The refusal where the client of a protocol server can't show questions: it has no UI (S4).
    #[must_use]
    pub fn unaskable(&self, rules_file: Option<&str>) -> Refusal {
        self.unconfirmed(format!(
            "use a client that can show questions (elicitation), {}",
            self.beforehand(rules_file)
        ))
    }

    /// The refusal where the client of a protocol server was asked and gave no answer: a host without a
    /// person says that it can show questions, and dismisses each.
    #[must_use]
    pub fn unanswered_by_client(&self, rules_file: Option<&str>) -> Refusal {
        let mut refusal = self.unanswered();
        refusal.fix = format!(
            "ask again when somebody is there, {}; nothing was started",
            self.beforehand(rules_file)
        );
        refusal
    }

    /// What spares a server the question.
    fn beforehand(&self, rules_file: Option<&str>) -> String {
        let rule = rules_file
            .map(|file| format!(", write a rule into `{}`", escape(file)))
            .unwrap_or_default();
        format!(
            "start the server with `--allow {}`{rule}, or ask for a child that needs less",
            self.allow_list()
        )
    }

    fn unconfirmed(&self, fix: String) -> Refusal {
        Refusal::new(
            "confirmation_needed",
            self.first_open(),
            format!("nobody has agreed that this child {}", self.open_in_words()),
            fix,
        )
    }

    /// The refusal after a no through a channel that isn't the run's own terminal.
    #[must_use]
    pub fn declined_through(&self, by: &Channel) -> Refusal {
        Refusal::new(
            "declined",
            self.first_open(),
            format!(
                "the answer was no ({by}): this child {}",
                self.open_in_words()
            ),
            "ask for a child that needs less; nothing was started",
        )
    }

    /// The refusal after a person said no.
    #[must_use]
    pub fn declined(&self) -> Refusal {
        Refusal::new(
            "declined",
            self.first_open(),
            format!("you did not agree that this child {}", self.open_in_words()),
            ASK_AGAIN,
        )
    }

    /// The refusal when the question was put and nobody answered: that is no denial.
    #[must_use]
    pub fn unanswered(&self) -> Refusal {
        Refusal::new(
            "unanswered",
            self.first_open(),
            format!(
                "nobody answered whether this child may start; it {}",
                self.open_in_words()
            ),
            ASK_AGAIN,
        )
    }

    fn first_open(&self) -> &'static str {
        self.open().next().map_or("start", |ask| ask.effect.name())
    }

    /// What nothing answers, as the rest of a sentence about the child.
    #[must_use]
    pub fn open_in_words(&self) -> String {
        let each: Vec<String> = self
            .open()
            .map(|ask| format!("{} (`{}`)", ask.why, ask.effect))
            .collect();
        each.join("; and ")
    }

    /// What has to be typed for everything that no rule covers: with what was typed already.
    fn allow_list(&self) -> String {
        let names: BTreeSet<Consent> = self
            .0
            .iter()
            .filter(|standing| {
                let typed = Answer::Covered {
                    by: Channel::CommandLine,
                };
                standing.answer == Answer::Open || standing.answer == typed
            })
            .map(|standing| standing.ask.effect)
            .collect();
        let names: Vec<&str> = names.into_iter().map(Consent::name).collect();
        names.join(",")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scope;
    use proptest::prelude::*;

    /// S4, S9: each channel says how far its yes reaches, and a client's name can't pretend.
    #[test]
    fn s9_channels_have_a_largest_scope() {
        let client = Channel::client("a\u{1b}[2J\nb");
        assert_eq!(client.scope(), Scope::Once);
        assert_eq!(client.to_string(), "answered by client a\\u{1b}[2J b");
        assert_eq!(
            Channel::client(" ").to_string(),
            "answered by client unknown"
        );
        let host = Channel::Host {
            host: "pi".to_owned(),
            scope: Scope::Preset,
        };
        let mut both = settled(&BOTH, &[], "");
        both.cover(|ask| (ask.effect == Consent::Shell).then(|| host.clone()));
        assert_eq!(both.open().count(), 1);
        both.accept(&client);
        let scopes: Vec<Scope> = both
            .approvals(None)
            .unwrap()
            .iter()
            .map(|approval| approval.scope)
            .collect();
        assert_eq!(scopes, [Scope::Once, Scope::Preset]);
        let refusal = settled(&BOTH, &[], "").unaskable(Some("/c/rules.toml"));
        assert_eq!(refusal.code, "confirmation_needed");
        assert!(
            refusal.fix.contains("--allow write,shell"),
            "{}",
            refusal.fix
        );
        let refusal = settled(&BOTH, &[], "").unanswered_by_client(None);
        assert_eq!(refusal.code, "unanswered");
        assert!(
            refusal.fix.contains("--allow write,shell"),
            "{}",
            refusal.fix
        );
    }

    fn asks(effects: &[Consent]) -> Vec<Ask> {
        effects
            .iter()
            .map(|effect| Ask {
                effect: *effect,
                why: format!("does {effect}"),
            })
            .collect()
    }

    fn settled(effects: &[Consent], typed: &[Consent], rules: &str) -> Settled {
        let rules = Rules::parse("/c/rules.toml", rules).unwrap();
        let here = Path::new("/w");
        settle(asks(effects), typed, &rules, Preset::General, here)
    }

    const BOTH: [Consent; 2] = [Consent::Write, Consent::Shell];

    /// S4: without a UI, what nothing covers is refused, with everything that it would take.
    #[test]
    fn an_open_question_is_the_refusal_and_names_all_of_it() {
        let refusal = settled(&BOTH, &[Consent::Shell], "")
            .approvals(Some("/c/rules.toml"))
            .unwrap_err();
        assert_eq!(
            (&*refusal.code, &*refusal.field),
            ("confirmation_needed", "write")
        );
        assert_eq!(
            refusal.reason,
            "nobody has agreed that this child does write (`write`)"
        );
        assert_eq!(
            refusal.fix,
            "answer on a terminal, type `--allow write,shell`, or write a rule into `/c/rules.toml`"
        );
        let refusal = settled(&BOTH, &[], "").approvals(None).unwrap_err();
        assert!(
            refusal
                .reason
                .ends_with("does write (`write`); and does shell (`shell`)")
        );
        assert!(refusal.fix.ends_with("`--allow write,shell`"));
    }

    /// S4, S5: each effect is covered by one channel, and the record says by which.
    #[test]
    fn approvals_say_where_they_came_from() {
        let rules = "[[allow]]\neffects = [\"shell\"]";
        let mut three = settled(
            &[Consent::Write, Consent::Shell, Consent::Network],
            &[Consent::Write],
            rules,
        );
        assert_eq!(
            three.open().map(|ask| ask.effect).collect::<Vec<_>>(),
            [Consent::Network]
        );
        three.accept(&Channel::Terminal);
        let place = Place {
            file: "/c/rules.toml".to_owned(),
            line: 1,
        };
        let of = |effect, by| Approval {
            effects: vec![effect],
            by,
            scope: Scope::Run,
        };
        assert_eq!(
            three.approvals(None).unwrap(),
            [
                of(Consent::Write, Channel::CommandLine),
                of(Consent::Shell, Channel::Rule(place)),
                of(Consent::Network, Channel::Terminal),
            ]
        );
        let none = settled(&[], &[Consent::Write], "");
        assert_eq!(
            none.approvals(None),
            Ok(vec![]),
            "what isn't asked isn't approved"
        );
    }

    /// S4: a denial stands beside an allowance of any kind, and a yes doesn't reach it.
    #[test]
    fn a_denial_stands_whatever_else_is_said() {
        let rules = "[[allow]]\neffects = [\"shell\"]\n[[deny]]\neffects = [\"shell\"]\nreason = \"no\\u001b\"";
        let mut both = settled(&BOTH, &BOTH, rules);
        both.accept(&Channel::Terminal);
        let refusal = both.approvals(None).unwrap_err();
        assert_eq!(
            (&*refusal.code, &*refusal.field),
            ("denied_by_rule", "shell")
        );
        assert_eq!(
            refusal.reason,
            "the rule /c/rules.toml:3 denies `shell` (no\\u{1b}), and this child does shell"
        );
    }

    /// S9: no answer isn't an answer.
    #[test]
    fn nobody_answered_is_not_no() {
        let both = settled(&BOTH, &[], "");
        assert_eq!(both.declined().code, "declined");
        let refusal = both.unanswered();
        assert_eq!((&*refusal.code, &*refusal.field), ("unanswered", "write"));
        assert!(refusal.reason.starts_with("nobody answered"));
    }

    fn some_effects() -> impl Strategy<Value = Vec<Consent>> {
        prop::sample::subsequence(Consent::ALL.to_vec(), 0..=9)
    }

    proptest! {
        /// S4, S5: approvals hold exactly what was asked; more rules that deny never cover more; and
        /// what was typed or allowed beyond the questions gives nothing.
        #[test]
        fn approvals_are_what_was_asked_and_no_more(
            effects in some_effects(), typed in some_effects(),
            allowed in some_effects(), denied in some_effects(),
        ) {
            let table = |kind: &str, effects: &[Consent]| match effects {
                [] => String::new(),
                _ => format!("[[{kind}]]\neffects = {:?}\n", effects.iter().map(|it| it.name()).collect::<Vec<_>>()),
            };
            let rules = table("allow", &allowed) + &table("deny", &denied);
            let settled = settled(&effects, &typed, &rules);
            let is_denied = effects.iter().any(|it| denied.contains(it));
            let is_open = effects.iter().any(|it| !typed.contains(it) && !allowed.contains(it));
            match settled.approvals(None) {
                Err(refusal) if refusal.code == "denied_by_rule" => prop_assert!(is_denied),
                Err(refusal) => {
                    prop_assert_eq!(refusal.code, "confirmation_needed");
                    prop_assert!(is_open && !is_denied);
                }
                Ok(approvals) => {
                    prop_assert!(!is_denied && !is_open);
                    let mut covered: Vec<Consent> =
                        approvals.into_iter().flat_map(|approval| approval.effects).collect();
                    covered.sort();
                    prop_assert_eq!(covered, effects);
                }
            }
        }
    }
}
