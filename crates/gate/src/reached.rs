//! Hosts that stand in the words of a command that talks to others, where nobody can tell which of its words
//! says with whom: a program without a table of its options, an image, a database.
//!
//! This only serves denials. What isn't known is never taken for an allowance.

use deputize_authority::{CallRule, Subject};
use deputize_shell::{Analysis, Class, Effect, What};

/// The first host that a rule is about and that such a command of the line names.
pub(crate) fn named(rule: &CallRule, analysis: &Analysis) -> Option<String> {
    let talkers = analysis.effects.iter().filter(|effect| talks(effect));
    let steps = talkers.filter_map(|effect| analysis.steps.get(effect.step?));
    steps
        .flat_map(|step| step.words.iter().skip(1))
        .find_map(|word| within(word, &rule.subject))
}

/// Whether others are talked to, and it can't be told who.
fn talks(effect: &Effect) -> bool {
    match &effect.what {
        What::Network { host } => host.is_none(),
        What::Act(rule) => {
            matches!(
                rule.class,
                Class::Network | Class::Remote | Class::Container | Class::Package
            ) || rule.id == "persistence.configuration"
        }
        What::Run { .. } | What::Path { .. } => false,
    }
}

/// The host in a word that the rule is about: `host`, `user@host:path`, `--option=scheme://host/path`,
/// `TCP:host:port`, and the words of a script in one argument.
fn within(word: &str, subject: &Subject) -> Option<String> {
    let words =
        word.split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '=' | '"' | '\''));
    words
        .flat_map(candidates)
        .find(|host| subject.is_host(host))
}

/// What may be the host in a piece of a word.
fn candidates(piece: &str) -> impl Iterator<Item = String> {
    let (scheme, rest) = match piece.split_once("://") {
        Some((_, rest)) => (true, rest),
        None => (false, piece),
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let (user, host) = match authority.rsplit_once('@') {
        Some((_, host)) => (true, host),
        None => (false, authority),
    };
    let names = match host.strip_prefix('[').and_then(|v6| v6.split_once(']')) {
        Some((v6, _)) => vec![v6],
        None => host.split(':').take(2).collect(),
    };
    // A bare word is a name of anything: a branch, a table, a service.
    let said = scheme || user || host.contains(':');
    names
        .into_iter()
        .filter(move |name| said || name.contains('.'))
        .map(str::to_lowercase)
        .collect::<Vec<_>>()
        .into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_found_however_they_are_written() {
        let found = |word: &str| {
            let subject = Subject::Host("evil.example".to_owned());
            within(word, &subject).is_some()
        };
        for word in [
            "evil.example",
            "u@Evil.Example:/x",
            "evil.example::mod",
            "--proxy=http://u:p@evil.example:80/",
            "TCP4:evil.example:443,retry",
            "open evil.example; get x",
            "@evil.example",
        ] {
            assert!(found(word), "{word}");
        }
        for word in [
            "./evil.example",
            "/w/evil.example",
            "not-evil.example",
            "x.evil.example",
        ] {
            assert!(!found(word), "{word}");
        }
    }

    #[test]
    fn a_bare_word_is_no_host() {
        let subject = Subject::Host("db".to_owned());
        assert!(within("db:/x", &subject).is_some() && within("x@db", &subject).is_some());
        assert!(within("db", &subject).is_none() && within("db/x", &subject).is_none());
    }
}
