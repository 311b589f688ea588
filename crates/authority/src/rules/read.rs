//! Reads a file of rules, and says where it is at fault.

use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;

use super::call::{CallRule, PathPattern, Subject, Use};
use super::{MAX_REASON_BYTES, MAX_RULES, MAX_RULES_BYTES, Rule, RuleKind, Rules, words};
use crate::{Consent, Place, Preset, Refusal, Root, Tool, escape};

/// The most examples of one rule, and the most bytes of one.
const MAX_EXAMPLES: usize = 32;
const MAX_EXAMPLE_BYTES: usize = 1000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFile {
    #[serde(default)]
    allow: Vec<Spanned<RawRule>>,
    #[serde(default)]
    ask: Vec<Spanned<RawRule>>,
    #[serde(default)]
    deny: Vec<Spanned<RawRule>>,
}

type Text = Spanned<String>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRule {
    effects: Option<Spanned<Vec<Text>>>,
    command: Option<Text>,
    exact: Option<Text>,
    path: Option<Text>,
    #[serde(rename = "for")]
    uses: Option<Spanned<Vec<Text>>>,
    host: Option<Text>,
    tool: Option<Text>,
    preset: Option<Text>,
    workdir: Option<Text>,
    reason: Option<Text>,
    matches: Option<Spanned<Vec<Text>>>,
    spares: Option<Spanned<Vec<Text>>>,
}

pub(super) struct Reader<'a> {
    pub(super) file: &'a str,
    pub(super) text: &'a str,
}

impl Reader<'_> {
    /// The rules, or every fault in the order of the file.
    pub(super) fn rules(&self) -> Result<Rules, Vec<Refusal>> {
        if self.text.len() > MAX_RULES_BYTES {
            return Err(vec![
                self.fault(0, &format!("it has more than {MAX_RULES_BYTES} bytes")),
            ]);
        }
        let raw: RawFile = toml::from_str(self.text).map_err(|error| {
            vec![self.fault(error.span().map_or(0, |span| span.start), error.message())]
        })?;
        if raw.allow.len() + raw.ask.len() + raw.deny.len() > MAX_RULES {
            return Err(vec![
                self.fault(0, &format!("it has more than {MAX_RULES} rules")),
            ]);
        }
        let mut all: Vec<(RuleKind, &Spanned<RawRule>)> = (raw.allow.iter())
            .map(|rule| (RuleKind::Allow, rule))
            .chain(raw.ask.iter().map(|rule| (RuleKind::Ask, rule)))
            .chain(raw.deny.iter().map(|rule| (RuleKind::Deny, rule)))
            .collect();
        all.sort_by_key(|(_, rule)| rule.span().start);
        let (mut rules, mut faults) = (Rules::default(), Vec::new());
        for (kind, raw) in all {
            let added = match raw.get_ref().effects {
                Some(_) => self.spawn(kind, raw).map(|rule| rules.spawn.push(rule)),
                None => self.call(kind, raw).map(|rule| rules.calls.push(rule)),
            };
            faults.extend(added.err());
        }
        match faults.is_empty() {
            true => Ok(rules),
            false => Err(faults),
        }
    }

    /// A rule about what a child may begin with.
    fn spawn(&self, kind: RuleKind, raw: &Spanned<RawRule>) -> Result<Rule, Refusal> {
        let fields = raw.get_ref();
        let effects = fields.effects.iter();
        if let Some((name, at)) = fields.of_calls().next() {
            let what = format!("a rule about effects has no `{name}`: make it two rules");
            return Err(self.fault_at(at, &what));
        }
        if kind == RuleKind::Ask {
            let what = "effects are asked about without a rule: allow or deny them";
            return Err(self.fault_at(raw.span(), what));
        }
        let consents = effects
            .clone()
            .flat_map(|effects| effects.get_ref())
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
            let at = fields.effects.as_ref().map_or(raw.span(), Spanned::span);
            return Err(self.fault_at(at, "the rule names no effect"));
        }
        Ok(Rule {
            kind,
            consents,
            preset: self.preset(fields)?,
            workdir: self.workdir(fields)?,
            reason: self.reason(fields)?,
            place: self.place(raw),
        })
    }

    /// A rule about calls.
    fn call(&self, kind: RuleKind, raw: &Spanned<RawRule>) -> Result<CallRule, Refusal> {
        let fields = raw.get_ref();
        let subject = self.subject(kind, raw)?;
        let examples = |examples: &Option<Spanned<Vec<Text>>>| {
            let Some(examples) = examples else {
                return Ok(Vec::new());
            };
            let texts = examples.get_ref();
            let fits = |text: &Text| text.get_ref().len() <= MAX_EXAMPLE_BYTES;
            if texts.len() > MAX_EXAMPLES || !texts.iter().all(fits) {
                return Err(self.fault_at(examples.span(), "too many examples, or too long ones"));
            }
            if matches!(subject, Subject::Tool(_)) && !texts.is_empty() {
                let what = "an example is a command line, and this rule is about a tool";
                return Err(self.fault_at(examples.span(), what));
            }
            Ok(texts.iter().map(|text| text.get_ref().clone()).collect())
        };
        let (matches, spares) = (examples(&fields.matches)?, examples(&fields.spares)?);
        Ok(CallRule {
            kind,
            subject,
            preset: self.preset(fields)?,
            workdir: self.workdir(fields)?,
            reason: self.reason(fields)?,
            matches,
            spares,
            place: self.place(raw),
        })
    }

    fn subject(&self, kind: RuleKind, raw: &Spanned<RawRule>) -> Result<Subject, Refusal> {
        let fields = raw.get_ref();
        let named: Vec<(&str, &Text)> = fields.subjects().collect();
        let (name, text) = match named.as_slice() {
            [one] => *one,
            [] => {
                let what = "the rule says nothing about what: name effects, command, exact, path, \
                            host or tool";
                return Err(self.fault_at(raw.span(), what));
            }
            [_, (name, second), ..] => {
                let what = format!("a rule is about one thing: `{name}` is a second one");
                return Err(self.fault_at(second.span(), &what));
            }
        };
        if let (Some(uses), true) = (&fields.uses, name != "path") {
            return Err(self.fault_at(uses.span(), "`for` belongs to a rule about a path"));
        }
        let value = text.get_ref().as_str();
        let wrong =
            |what: &str| self.fault_at(text.span(), &format!("`{}`: {what}", escape(value)));
        let open = |why: &str| {
            let (line, column) = self.position(text.span().start);
            Refusal::new(
                "rule_open_ended",
                "rules",
                format!(
                    "{}:{line}:{column}: `{}` with whatever arguments can't be allowed: {why}",
                    escape(self.file),
                    escape(value)
                ),
                "name the exact arguments with `exact`, or a command of it that runs nothing else",
            )
        };
        let allows = kind == RuleKind::Allow;
        match name {
            "command" => {
                let words = words::split(value).map_err(wrong)?;
                match words::open_ended(&words).filter(|_| allows) {
                    Some(why) => Err(open(why)),
                    None => Ok(Subject::Command(words)),
                }
            }
            "exact" => Ok(Subject::Exact(words::split(value).map_err(wrong)?)),
            "path" => {
                let pattern = PathPattern::new(value)
                    .ok_or_else(|| wrong("not a path pattern without empty names, `.` and `..`"))?;
                Ok(Subject::Path(pattern, self.uses(fields)?))
            }
            "host" => {
                let host = value.trim_end_matches('.').to_lowercase();
                let rest = host.strip_prefix("*.").unwrap_or(&host);
                let plain =
                    |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | ':' | '_');
                match rest.is_empty() || !rest.chars().all(plain) || rest.starts_with('.') {
                    true => Err(wrong("not a host, or `*.` and a host")),
                    false => Ok(Subject::Host(host)),
                }
            }
            _ => {
                let tool: Tool = value.parse().map_err(|_| wrong("no such tool"))?;
                match allows && matches!(tool, Tool::Bash | Tool::Exec) {
                    true => Err(open("it runs whatever it is told")),
                    false => Ok(Subject::Tool(tool)),
                }
            }
        }
    }

    fn uses(&self, fields: &RawRule) -> Result<Vec<Use>, Refusal> {
        let names = fields.uses.iter().flat_map(|uses| uses.get_ref());
        names
            .map(|name| {
                let known = |it: &Use| it.name() == name.get_ref();
                Use::ALL.into_iter().find(known).ok_or_else(|| {
                    self.fault_at(name.span(), "a path is for `read`, `write` or `delete`")
                })
            })
            .collect()
    }

    fn preset(&self, fields: &RawRule) -> Result<Option<Preset>, Refusal> {
        self.read(fields.preset.as_ref(), "no such preset", |name| {
            name.parse().ok()
        })
    }

    fn workdir(&self, fields: &RawRule) -> Result<Option<Root>, Refusal> {
        let absolute = "not an absolute path without `.` and `..`";
        self.read(fields.workdir.as_ref(), absolute, |path| Root::new(path))
    }

    fn reason(&self, fields: &RawRule) -> Result<Option<String>, Refusal> {
        self.read(fields.reason.as_ref(), "the reason is too long", |reason| {
            (reason.len() <= MAX_REASON_BYTES).then(|| reason.to_owned())
        })
    }

    fn place(&self, raw: &Spanned<RawRule>) -> Place {
        Place {
            file: self.file.to_owned(),
            line: self.position(raw.span().start).0,
        }
    }

    fn read<T>(
        &self,
        field: Option<&Text>,
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

impl RawRule {
    /// What a rule about calls names, in the order of the documentation.
    fn subjects(&self) -> impl Iterator<Item = (&'static str, &Text)> {
        [
            ("command", &self.command),
            ("exact", &self.exact),
            ("path", &self.path),
            ("host", &self.host),
            ("tool", &self.tool),
        ]
        .into_iter()
        .filter_map(|(name, text)| Some((name, text.as_ref()?)))
    }

    /// What only rules about calls have.
    fn of_calls(&self) -> impl Iterator<Item = (&'static str, Range<usize>)> {
        let lists = [
            ("for", &self.uses),
            ("matches", &self.matches),
            ("spares", &self.spares),
        ];
        let lists = lists
            .into_iter()
            .filter_map(|(name, list)| Some((name, list.as_ref()?.span())));
        self.subjects()
            .map(|(name, text)| (name, text.span()))
            .chain(lists)
    }
}
