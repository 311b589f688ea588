//! Every rule speaks about its examples, and not about the lines that look alike.

use std::collections::BTreeSet;

use deputize_shell::rules;

use crate::verdict;

/// G6: the examples of the data run as tests.
#[test]
fn every_rule_speaks_about_its_examples() {
    let mut wrong: Vec<String> = Vec::new();
    for rule in rules::all() {
        for line in rule.matches {
            let verdict = verdict(line);
            let ids: Vec<&str> = verdict.voices.iter().map(|voice| voice.rule.id).collect();
            if !ids.contains(&rule.id) {
                wrong.push(format!("{} is silent about {line:?}: {ids:?}", rule.id));
            }
            assert!(verdict.answer >= rule.answer, "{line:?}");
        }
        for line in rule.spares {
            let verdict = verdict(line);
            let ids: Vec<&str> = verdict.voices.iter().map(|voice| voice.rule.id).collect();
            if ids.contains(&rule.id) {
                wrong.push(format!("{} speaks about {line:?}", rule.id));
            }
        }
    }
    assert_eq!(wrong, [""; 0]);
}

/// G6: ids are stable names: one rule each, class first, and each says why and what to do instead.
#[test]
fn rules_are_named_and_explained() {
    let mut ids = BTreeSet::new();
    for rule in rules::all() {
        assert!(ids.insert(rule.id), "{} twice", rule.id);
        let class = format!("{:?}.", rule.class).to_lowercase();
        assert!(
            rule.id.starts_with(&class),
            "{} is of class {class}",
            rule.id
        );
        assert!(
            !rule.reason.is_empty() && !rule.safer.is_empty(),
            "{}",
            rule.id
        );
    }
}

/// G2: a verdict says which bytes it is about, and shows the code that was unwrapped.
#[test]
fn a_voice_points_at_its_words() {
    let line = "ls; rm -rf /etc";
    let verdict = verdict(line);
    assert_eq!(&line[verdict.voices[0].span.clone()], "rm -rf /etc");
    assert_eq!(verdict.voices[0].about, "/etc");
    let wrapped = crate::verdict("echo cm0gLXJmIC8= | base64 -d | sh");
    let code = wrapped
        .voices
        .iter()
        .find_map(|voice| voice.unwrapped.clone());
    assert_eq!(code.as_deref(), Some("rm -rf /"));
}

/// G5: what is only possible points at no command of the line, and never at another one.
#[test]
fn possible_effects_name_no_other_command() {
    for line in [
        "mystery 'rm -rf /'; make; cargo test",
        "git commi $'\\x72' -m 'su$#do rm -rf / is bad''",
        "ls\0; rm -rf /; make",
    ] {
        let analysis = deputize_shell::analyse(line, &crate::world());
        for effect in &analysis.effects {
            let Some(step) = effect.step else { continue };
            let step = analysis.steps.get(step).map(|step| step.words.join(" "));
            assert!(
                step.is_some_and(|words| words.contains(effect.by.as_str())),
                "{line}: {effect:?}"
            );
        }
    }
}

/// G6: a home folder is no scratch space, wherever it is; what lies beside it still is.
#[test]
fn a_home_in_scratch_space_is_a_home() {
    let world = deputize_shell::World::workspace("/tmp/x/w", "/tmp/x/home");
    let rule = |line: &str| {
        let verdict = deputize_shell::judge(&deputize_shell::analyse(line, &world));
        verdict.voices.first().map(|voice| voice.rule.id)
    };
    for line in ["rm -rf ~", "rm -rf ~/notes", "rm -rf /tmp/x", "rm -rf /tmp"] {
        assert_eq!(rule(line), Some("destructive.outside"), "{line}");
    }
    assert_eq!(rule("echo x > ~/notes.txt"), Some("place.write-outside"));
    for line in ["rm -rf /tmp/y", "rm -rf ../other", "echo x > /tmp/x/y"] {
        assert_eq!(rule(line), Some("place.write-temp"), "{line}");
    }
    // A home that is scratch space itself, as some containers have it, takes nothing away.
    let world = deputize_shell::World::workspace("/w", "/tmp");
    let verdict = deputize_shell::judge(&deputize_shell::analyse("echo x > /tmp/y", &world));
    assert_eq!(verdict.voices[0].rule.id, "place.write-temp");
}
