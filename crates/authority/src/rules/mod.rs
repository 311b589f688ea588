//! Rules that a person wrote beforehand: which effects may begin without a question and which never
//! (S4), and which commands, paths, hosts and tools are allowed, asked about or denied (G6).
//!
//! ```toml
//! [[allow]]
//! effects = ["shell"]
//! preset = "general"              # any preset when absent
//! workdir = "/home/me/src"        # this folder and what lies in it; any when absent
//! reason = "my own projects"
//!
//! [[deny]]
//! effects = ["write"]
//!
//! [[allow]]
//! exact = "cargo test"            # these arguments and no others
//!
//! [[ask]]
//! command = "git push"            # whatever its arguments
//!
//! [[deny]]
//! path = "migrations/**"
//! for = ["write", "delete"]       # every use when absent
//! ```
//!
//! # Trust
//! Only files of the person's are ever parsed: the one in the configuration folder, and one that was
//! typed. A project's file is none of them. What a file doesn't say exactly is an error, not a
//! guess: a misspelt `deny` must not pass as nothing.

mod call;
mod read;
mod words;

use std::path::Path;

pub use call::{CallRule, PathPattern, Subject, Use};

use crate::{Consent, Covers as _, Place, Preset, Refusal, Root};
use read::Reader;

/// The largest file of rules: far beyond what a person writes.
pub const MAX_RULES_BYTES: usize = 64 << 10;

/// The most rules of one file.
pub const MAX_RULES: usize = 256;

/// The most bytes of a reason; it stands in refusals.
const MAX_REASON_BYTES: usize = 200;

/// What a rule does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RuleKind {
    /// No question is needed.
    Allow,
    /// A person is asked each time.
    Ask,
    /// No answer helps.
    Deny,
}

/// One rule about what a child may begin with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// What it does.
    pub kind: RuleKind,
    /// To what.
    pub consents: Vec<Consent>,
    /// For this preset only.
    pub preset: Option<Preset>,
    /// For this folder and what lies in it only.
    pub workdir: Option<Root>,
    /// Why, in the person's words.
    pub reason: Option<String>,
    /// Where it stands.
    pub place: Place,
}

/// All rules that apply, in the order of their files and lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rules {
    spawn: Vec<Rule>,
    calls: Vec<CallRule>,
}

impl Rules {
    /// Reads a file of rules.
    ///
    /// # Errors
    /// `rules_invalid`, with file, line and column of the first fault.
    pub fn parse(file: &str, text: &str) -> Result<Self, Refusal> {
        Self::check(file, text).map_err(|faults| faults[0].clone())
    }

    /// Reads a file of rules, and tells every fault of it.
    ///
    /// # Errors
    /// `rules_invalid` or `rule_open_ended`, each with file, line and column; at least one.
    pub fn check(file: &str, text: &str) -> Result<Self, Vec<Refusal>> {
        Reader { file, text }.rules()
    }

    /// These rules and then those.
    #[must_use]
    pub fn and(mut self, more: Self) -> Self {
        self.spawn.extend(more.spawn);
        self.calls.extend(more.calls);
        self
    }

    /// The first rule that denies an effect, else the first that allows it: the most restrictive
    /// wins, whatever the order and the file.
    #[must_use]
    pub fn about(&self, consent: Consent, preset: Preset, workdir: &Path) -> Option<&Rule> {
        let first = |kind: RuleKind| {
            self.spawn
                .iter()
                .find(|rule| rule.kind == kind && rule.is_about(consent, preset, workdir))
        };
        first(RuleKind::Deny).or_else(|| first(RuleKind::Allow))
    }

    /// The rules about what a child may begin with.
    #[must_use]
    pub fn spawn(&self) -> &[Rule] {
        &self.spawn
    }

    /// The rules about calls.
    #[must_use]
    pub fn calls(&self) -> &[CallRule] {
        &self.calls
    }
}

impl Rule {
    fn is_about(&self, consent: Consent, preset: Preset, workdir: &Path) -> bool {
        let here = self
            .workdir
            .as_ref()
            .is_none_or(|root| Root::new(workdir).is_some_and(|workdir| root.covers(&workdir)));
        here && self.consents.contains(&consent) && self.preset.is_none_or(|named| named == preset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "\
# mine
[[allow]]
effects = [\"shell\", \"dearer_model\"]
preset = \"general\"
workdir = \"/home/u/src\"

[[deny]]
effects = [\"write\"]
reason = \"never in place\"

[[allow]]
effects = [\"write\", \"network\"]
";

    fn about(consent: Consent, preset: Preset, workdir: &str) -> Option<(RuleKind, usize)> {
        Rules::parse("r.toml", FILE)
            .unwrap()
            .about(consent, preset, Path::new(workdir))
            .map(|rule| (rule.kind, rule.place.line))
    }

    /// S4: a rule holds where it says, and knows its line.
    #[test]
    fn rules_hold_where_they_say() {
        let (allow, deny) = (RuleKind::Allow, RuleKind::Deny);
        let general = Preset::General;
        for (consent, preset, workdir, found) in [
            (Consent::Shell, general, "/home/u/src/a", Some((allow, 2))),
            (Consent::Shell, general, "/home/u/src", Some((allow, 2))),
            (Consent::Shell, general, "/home/u/srcs", None),
            (Consent::Shell, Preset::FullParentTools, "/home/u/src", None),
            (
                Consent::DearerModel,
                general,
                "/home/u/src",
                Some((allow, 2)),
            ),
            (Consent::Network, general, "/x", Some((allow, 11))),
            // Whatever the order: the most restrictive wins.
            (Consent::Write, general, "/home/u/src", Some((deny, 7))),
            (Consent::Outside, general, "/home/u/src", None),
        ] {
            assert_eq!(
                about(consent, preset, workdir),
                found,
                "{consent} {workdir}"
            );
        }
    }

    /// S4: files add up, and a denial in any of them stands.
    #[test]
    fn a_denial_in_any_file_stands() {
        let allow = Rules::parse("a", "[[allow]]\neffects = [\"write\"]").unwrap();
        let deny = Rules::parse("b", "\n[[deny]]\neffects = [\"write\"]").unwrap();
        for both in [allow.clone().and(deny.clone()), deny.and(allow)] {
            let rule = both.about(Consent::Write, Preset::General, Path::new("/x"));
            assert_eq!(
                rule.map(|rule| rule.place.to_string()).as_deref(),
                Some("b:2")
            );
        }
        assert_eq!(Rules::parse("e", ""), Ok(Rules::default()));
    }

    /// S4: what isn't understood is an error with its place, never a rule that says less.
    #[test]
    fn faults_have_a_place() {
        for (text, place, what) in [
            (
                "[[allow]]\neffects = [\"shel\"]",
                "r:2:12: ",
                "no effect is named `shel`",
            ),
            ("[[allow]]\neffects = []", "r:2:11: ", "names no effect"),
            (
                "[[allow]]\npreset = \"general\"",
                "r:1:1: ",
                "the rule says nothing about what",
            ),
            (
                "[[allow]]\neffects = [\"write\"]\nfolder = \"/x\"",
                "r:3:1: ",
                "unknown field `folder`",
            ),
            (
                "[[alow]]\neffects = [\"write\"]",
                "r:1:3: ",
                "unknown field `alow`",
            ),
            ("[deny]\neffects = [\"write\"]", "r:1:1: ", "sequence"),
            ("[[deny]]\neffects = \"write\"", "r:2:11: ", "sequence"),
            (
                "[[allow]]\neffects = [\"write\"]\nworkdir = \"src\"",
                "r:3:11: ",
                "absolute",
            ),
            (
                "[[allow]]\neffects = [\"write\"]\nworkdir = \"/a/../b\"",
                "r:3:11: ",
                "absolute",
            ),
            (
                "[[allow]]\neffects = [\"write\"]\npreset = \"root\"",
                "r:3:10: ",
                "no such preset",
            ),
            ("[[allow]\n", "r:1:", ""),
        ] {
            let refusal = Rules::parse("r", text).unwrap_err();
            assert_eq!(
                (&*refusal.code, &*refusal.field),
                ("rules_invalid", "rules")
            );
            assert!(
                refusal.reason.starts_with(place),
                "{text}: {}",
                refusal.reason
            );
            assert!(refusal.reason.contains(what), "{text}: {}", refusal.reason);
        }
    }

    #[test]
    fn files_are_bounded() {
        let long = format!("#{}", "x".repeat(MAX_RULES_BYTES));
        let many = "[[deny]]\neffects=[\"write\"]\n".repeat(MAX_RULES + 1);
        for text in [long, many] {
            assert_eq!(Rules::parse("r", &text).unwrap_err().code, "rules_invalid");
        }
    }

    /// G6: a rule about calls is about one thing, and its faults have a place too.
    #[test]
    fn call_rules_are_read_and_their_faults_have_a_place() {
        let rules = Rules::parse(
            "r",
            "[[deny]]\ncommand = \"git push\"\n[[allow]]\nexact = \"cargo test\"\nmatches = [\"cargo test\"]",
        )
        .unwrap();
        let read: Vec<_> = rules
            .calls()
            .iter()
            .map(|rule| (rule.kind, rule.place.line))
            .collect();
        assert_eq!(read, [(RuleKind::Deny, 1), (RuleKind::Allow, 3)]);
        for (text, code, place, what) in [
            (
                "[[allow]]\ncommand = \"sudo\"",
                "rule_open_ended",
                "r:2:11: ",
                "`sudo` with whatever",
            ),
            (
                "[[allow]]\ntool = \"bash\"",
                "rule_open_ended",
                "r:2:8: ",
                "whatever it is told",
            ),
            (
                "[[ask]]\neffects = [\"write\"]",
                "rules_invalid",
                "r:1:1: ",
                "without a rule",
            ),
            (
                "[[deny]]\neffects = [\"write\"]\nhost = \"x\"",
                "rules_invalid",
                "r:3:8: ",
                "two rules",
            ),
            (
                "[[deny]]\npath = \"a\"\nhost = \"x\"",
                "rules_invalid",
                "r:3:8: ",
                "a second one",
            ),
            (
                "[[deny]]\npath = \"../a\"",
                "rules_invalid",
                "r:2:8: ",
                "path pattern",
            ),
            (
                "[[deny]]\npath = \"a\"\nfor = [\"run\"]",
                "rules_invalid",
                "r:3:8: ",
                "is for `read`",
            ),
            (
                "[[deny]]\nhost = \"*\"",
                "rules_invalid",
                "r:2:8: ",
                "not a host",
            ),
            (
                "[[deny]]\ntool = \"fly\"",
                "rules_invalid",
                "r:2:8: ",
                "no such tool",
            ),
            (
                "[[deny]]\ncommand = \"a; b\"",
                "rules_invalid",
                "r:2:11: ",
                "words of one command",
            ),
        ] {
            let refusal = Rules::parse("r", text).unwrap_err();
            assert_eq!(refusal.code, code, "{text}");
            let reason = &refusal.reason;
            assert!(
                reason.starts_with(place) && reason.contains(what),
                "{text}: {reason}"
            );
        }
        let two = "[[deny]]\nhost = \"*\"\n[[deny]]\ntool = \"fly\"";
        assert_eq!(Rules::check("r", two).unwrap_err().len(), 2);
    }
}
