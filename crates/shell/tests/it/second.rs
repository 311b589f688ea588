//! The second opinion takes an `allow` back, and little else.

use deputize_shell::{Answer, analyse, doubted, first_opinion, judge};

use crate::world;

/// G5: our own parser's names are those of every command that stands in the line.
#[test]
fn names_of_commands_are_found_wherever_they_stand() {
    let names = first_opinion("a | b && c; d $(e) <(f) & { g; }; (h); if i; then j; fi").unwrap();
    assert_eq!(names.into_iter().collect::<String>(), "abcdefghij");
    assert_eq!(first_opinion("ls ;; pwd"), None);
}

/// G5: disagreement makes an `allow` an `ask` and changes nothing else.
#[test]
fn doubt_only_takes_back() {
    for (line, wanted) in [
        ("ls", Answer::Ask),
        ("make", Answer::Ask),
        ("rm -rf /", Answer::Deny),
    ] {
        let verdict = doubted(judge(&analyse(line, &world())));
        assert_eq!(verdict.answer, wanted, "{line}");
    }
}

/// G5: the two parsers agree about nearly every harmless line; where they don't, a question is the
/// price.
#[cfg(feature = "second-opinion")]
#[test]
fn the_second_opinion_costs_few_questions() {
    let rows: Vec<_> = crate::own_corpus()
        .into_iter()
        .filter(|row| row.1 == Answer::Allow)
        .collect();
    let doubts: Vec<&str> = rows
        .iter()
        .filter(|row| {
            !deputize_shell::second_opinion(&row.0).is_some_and(|opinion| opinion.agrees(&row.0))
        })
        .map(|row| row.0.as_str())
        .collect();
    assert!(doubts.len() * 100 <= rows.len() * 5, "{doubts:#?}");
}
