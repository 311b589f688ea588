//! What is odd about the person's rules: those that never speak, and examples that don't hold.

use deputize_authority::{CallRule, Place, Rule, RuleKind, Rules, Subject};
use deputize_shell::{Answer, World, analyse, judge};
use serde::Serialize;

use crate::effect::shown_text;
use crate::heard::{Cover, Ear};
use crate::rulebook::Expected;

/// One thing that is odd about a file of rules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Oddity {
    /// The rule.
    pub place: Place,
    /// What kind: `shadowed`, `repeated`, `denied` or `example`.
    pub kind: &'static str,
    /// What it is, in one sentence without a final stop.
    pub text: String,
}

/// An example of a rule of the person's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PersonExample {
    /// The rule.
    pub place: Place,
    /// The line.
    pub example: String,
    /// What the rule should do.
    pub expected: Expected,
    /// Whether it does.
    pub holds: bool,
}

/// Everything that is odd, in the order of the rules.
#[must_use]
pub fn oddities(rules: &Rules) -> Vec<Oddity> {
    let mut found = Vec::new();
    for (at, rule) in rules.spawn().iter().enumerate() {
        let others = rules.spawn().iter().enumerate();
        let over = others
            .filter(|(other, _)| *other != at)
            .find(|(other, it)| covers_spawn(it, rule) && outranks(it.kind, *other, rule.kind, at));
        found.extend(over.map(|(_, it)| beaten(&rule.place, &it.place, it.kind == rule.kind)));
    }
    for (at, rule) in rules.calls().iter().enumerate() {
        let others = rules.calls().iter().enumerate();
        let over = others
            .filter(|(other, _)| *other != at)
            .find(|(other, it)| covers_call(it, rule) && outranks(it.kind, *other, rule.kind, at));
        found.extend(over.map(|(_, it)| beaten(&rule.place, &it.place, it.kind == rule.kind)));
        found.extend(denied_anyway(rule));
    }
    for example in person_examples(rules).into_iter().filter(|it| !it.holds) {
        let what = match example.expected {
            Expected::Match => "doesn't speak about",
            Expected::Spare => "speaks about",
        };
        found.push(Oddity {
            place: example.place,
            kind: "example",
            text: format!("the rule {what} `{}`", shown_text(&example.example)),
        });
    }
    found.sort_by(|a, b| a.place.cmp(&b.place));
    found
}

/// The examples of the person's rules, in the workspace `/w` at home in `/home/u`.
#[must_use]
pub fn person_examples(rules: &Rules) -> Vec<PersonExample> {
    let world = World::workspace("/w", "/home/u");
    let mut all = Vec::new();
    for rule in rules.calls() {
        // An example is about the words of the rule, not about whose child or where.
        let alone = [CallRule {
            preset: None,
            workdir: None,
            ..rule.clone()
        }];
        let ear = Ear {
            rules: &alone,
            preset: None,
            roots: &world.writable,
            home: &world.home,
        };
        let mut run = |examples: &[String], expected: Expected| {
            for example in examples {
                let analysis = analyse(example, &world);
                // An allowance of what is harmless anyway speaks too, where each command is asked
                // about.
                let speaks = [Cover::Questions, Cover::Everything]
                    .into_iter()
                    .any(|cover| ear.about_line(&analysis, cover).is_some());
                all.push(PersonExample {
                    place: rule.place.clone(),
                    example: example.clone(),
                    expected,
                    holds: speaks == (expected == Expected::Match),
                });
            }
        };
        run(&rule.matches, Expected::Match);
        run(&rule.spares, Expected::Spare);
    }
    all
}

/// Whether the first rule wins over the second: it is stricter, or as strict and earlier.
fn outranks(kind: RuleKind, at: usize, other: RuleKind, other_at: usize) -> bool {
    kind > other || kind == other && at < other_at
}

fn beaten(place: &Place, by: &Place, is_same: bool) -> Oddity {
    let (kind, text) = match is_same {
        true => ("repeated", format!("it says nothing beside {by}")),
        false => (
            "shadowed",
            format!("it never counts: {by} is stricter about all of it"),
        ),
    };
    Oddity {
        place: place.clone(),
        kind,
        text,
    }
}

fn covers_spawn(wide: &Rule, narrow: &Rule) -> bool {
    narrow
        .consents
        .iter()
        .all(|consent| wide.consents.contains(consent))
        && (wide.preset.is_none() || wide.preset == narrow.preset)
        && (wide.workdir.is_none() || wide.workdir == narrow.workdir)
}

fn covers_call(wide: &CallRule, narrow: &CallRule) -> bool {
    let base = |word: &String| word.rsplit('/').next().map(str::to_lowercase);
    let begins = |words: &[String], with: &[String]| {
        words.len() >= with.len()
            && words.first().map(base) == with.first().map(base)
            && words
                .iter()
                .zip(with)
                .skip(1)
                .all(|(word, with)| word == with)
    };
    let same = match (&wide.subject, &narrow.subject) {
        (Subject::Command(wide), Subject::Command(narrow) | Subject::Exact(narrow)) => {
            begins(narrow, wide)
        }
        (Subject::Path(wide, wide_uses), Subject::Path(narrow, uses)) => {
            let all = wide_uses.is_empty()
                || !uses.is_empty() && uses.iter().all(|used| wide_uses.contains(used));
            wide == narrow && all
        }
        (wide @ Subject::Host(_), Subject::Host(narrow)) => {
            *wide == Subject::Host(narrow.clone()) || wide.is_host(narrow)
        }
        (
            Subject::Tool(deputize_authority::Tool::Bash),
            Subject::Command(_) | Subject::Exact(_),
        ) => true,
        (wide, narrow) => wide == narrow,
    };
    same && (wide.preset.is_none() || wide.preset == narrow.preset)
        && (wide.workdir.is_none() || wide.workdir == narrow.workdir)
}

/// An exact allowance of what a built-in rule denies: no rule lifts a denial.
fn denied_anyway(rule: &CallRule) -> Option<Oddity> {
    let (RuleKind::Allow, Subject::Exact(words)) = (rule.kind, &rule.subject) else {
        return None;
    };
    let quoted: Vec<String> = words
        .iter()
        .map(|word| format!("'{}'", word.replace('\'', "'\\''")))
        .collect();
    let verdict = judge(&analyse(
        &quoted.join(" "),
        &World::workspace("/w", "/home/u"),
    ));
    let voice = verdict
        .voices
        .first()
        .filter(|_| verdict.answer == Answer::Deny)?;
    Some(Oddity {
        place: rule.place.clone(),
        kind: "denied",
        text: format!(
            "it never counts: the built-in rule `{}` denies it",
            voice.rule.id
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// G6: a rule that never counts is told with its line, and so is an example that doesn't hold.
    #[test]
    fn rules_that_never_count_are_told() {
        let text = "\
[[allow]]
exact = \"cargo test\"
matches = [\"cargo test\", \"cargo  'test'\"]
spares = [\"cargo test --release\"]
[[deny]]
command = \"git push\"
[[allow]]
command = \"git push\"
[[allow]]
exact = \"rm -rf /\"
[[ask]]
host = \"a.example.com\"
[[ask]]
host = \"*.example.com\"
[[allow]]
exact = \"make\"
matches = [\"make all\"]
[[deny]]
effects = [\"write\"]
[[allow]]
effects = [\"write\"]
preset = \"general\"
";
        let rules = Rules::parse("r", text).unwrap();
        let told: Vec<_> = oddities(&rules)
            .into_iter()
            .map(|it| (it.place.line, it.kind))
            .collect();
        assert_eq!(
            told,
            [
                (7, "shadowed"),
                (9, "denied"),
                (15, "example"),
                (20, "shadowed")
            ]
        );
        assert_eq!(person_examples(&rules).len(), 4);
    }

    #[test]
    fn a_repeated_rule_is_told_once() {
        let rules = Rules::parse(
            "r",
            "[[deny]]\ncommand = \"a\"\n[[deny]]\ncommand = \"a b\"",
        );
        let told = oddities(&rules.unwrap());
        assert_eq!(
            (told.len(), told[0].kind, told[0].place.line),
            (1, "repeated", 3)
        );
    }
}
