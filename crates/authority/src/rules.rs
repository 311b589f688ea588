//! Rules that a person wrote beforehand: which effects may begin without a question, and which never
//! (S4).
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
//! ```
//!
//! # Trust
//! Only files of the person's are ever parsed: the one in the configuration folder, and one that was
//! typed. A project's file is none of them. What a file doesn't say exactly is an error, not a
//! guess: a misspelt `deny` must not pass as nothing.

use std::ops::Range;
use std::path::Path;

use serde::Deserialize;
use toml::Spanned;

use crate::{Consent, Covers as _, Place, Preset, Refusal, Root, escape};

/// The largest file of rules: far beyond what a person writes.
pub const MAX_RULES_BYTES: usize = 64 << 10;

/// The most rules of one file.
pub const MAX_RULES: usize = 256;

/// The most bytes of a reason; it stands in refusals.
const MAX_REASON_BYTES: usize = 200;

/// What a rule does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleKind {
    /// No question is needed.
    Allow,
    /// No answer helps.
    Deny,
}

/// One rule.
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
pub struct Rules(Vec<Rule>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFile {
    #[serde(default)]
    allow: Vec<Spanned<RawRule>>,
    #[serde(default)]
    deny: Vec<Spanned<RawRule>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRule {
    effects: Spanned<Vec<Spanned<String>>>,
    preset: Option<Spanned<String>>,
    workdir: Option<Spanned<String>>,
    reason: Option<Spanned<String>>,
}

impl Rules {
    /// Reads a file of rules.
    ///
    /// # Errors
    /// `rules_invalid`, with file, line and column of the first fault.
    pub fn parse(file: &str, text: &str) -> Result<Self, Refusal> {
        Reader { file, text }.rules()
    }

    /// These rules and then those.
    #[must_use]
    pub fn and(mut self, more: Self) -> Self {
        self.0.extend(more.0);
        self
    }

    /// The first rule that denies an effect, else the first that allows it: the most restrictive
    /// wins, whatever the order and the file.
    #[must_use]
    pub fn about(&self, consent: Consent, preset: Preset, workdir: &Path) -> Option<&Rule> {
        let first = |kind: RuleKind| {
            self.0
                .iter()
                .find(|rule| rule.kind == kind && rule.is_about(consent, preset, workdir))
        };
        first(RuleKind::Deny).or_else(|| first(RuleKind::Allow))
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

struct Reader<'a> {
    file: &'a str,
    text: &'a str,
}

impl Reader<'_> {
    fn rules(&self) -> Result<Rules, Refusal> {
        if self.text.len() > MAX_RULES_BYTES {
            return Err(self.fault(0, &format!("it has more than {MAX_RULES_BYTES} bytes")));
        }
        let raw: RawFile = toml::from_str(self.text).map_err(|error| {
            self.fault(error.span().map_or(0, |span| span.start), error.message())
        })?;
        let rules = (raw.allow.iter().map(|rule| (RuleKind::Allow, rule)))
            .chain(raw.deny.iter().map(|rule| (RuleKind::Deny, rule)))
            .map(|(kind, rule)| self.rule(kind, rule))
            .collect::<Result<Vec<Rule>, _>>()?;
        if rules.len() > MAX_RULES {
            return Err(self.fault(0, &format!("it has more than {MAX_RULES} rules")));
        }
        Ok(Rules(rules))
    }

    fn rule(&self, kind: RuleKind, raw: &Spanned<RawRule>) -> Result<Rule, Refusal> {
        let fields = raw.get_ref();
        let consents = fields
            .effects
            .get_ref()
            .iter()
            .map(|name| {
                name.get_ref().parse().map_err(|_| {
                    let known: Vec<&str> = Consent::ALL.into_iter().map(Consent::name).collect();
                    let what = format!(
                        "no effect is named `{}`; there are {}",
                        escape(name.get_ref()),
                        known.join(", ")
                    );
                    self.fault_at(name.span(), &what)
                })
            })
            .collect::<Result<Vec<Consent>, _>>()?;
        if consents.is_empty() {
            return Err(self.fault_at(fields.effects.span(), "the rule names no effect"));
        }
        let preset = self.read(fields.preset.as_ref(), "no such preset", |name| {
            name.parse().ok()
        })?;
        let absolute = "not an absolute path without `.` and `..`";
        let workdir = self.read(fields.workdir.as_ref(), absolute, |path| Root::new(path))?;
        let too_long = "the reason is too long";
        let reason = self.read(fields.reason.as_ref(), too_long, |reason| {
            (reason.len() <= MAX_REASON_BYTES).then(|| reason.to_owned())
        })?;
        Ok(Rule {
            kind,
            consents,
            preset,
            workdir,
            reason,
            place: Place {
                file: self.file.to_owned(),
                line: self.position(raw.span().start).0,
            },
        })
    }

    fn read<T>(
        &self,
        field: Option<&Spanned<String>>,
        otherwise: &str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, Refusal> {
        field
            .map(|field| {
                let text = field.get_ref();
                read(text).ok_or_else(|| {
                    self.fault_at(field.span(), &format!("`{}`: {otherwise}", escape(text)))
                })
            })
            .transpose()
    }

    fn fault_at(&self, span: Range<usize>, what: &str) -> Refusal {
        self.fault(span.start, what)
    }

    fn fault(&self, at: usize, what: &str) -> Refusal {
        let (line, column) = self.position(at);
        Refusal::new(
            "rules_invalid",
            "rules",
            format!("{}:{line}:{column}: {}", escape(self.file), escape(what)),
            "correct the file; nothing in it holds until then, and nothing was started",
        )
    }

    /// Line and column of a byte, both counted from 1.
    fn position(&self, at: usize) -> (usize, usize) {
        let before = &self.text[..self.text.floor_char_boundary(at)];
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|it| *it != '\n').count() + 1;
        (line, column)
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
                "missing field `effects`",
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
}
