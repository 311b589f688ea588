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

/// G5, G10: what the gate doesn't parse for its nesting or its length isn't parsed here either: the first of
/// these took the parser minutes.
#[test]
fn no_opinion_is_had_of_what_is_too_much_to_parse() {
    for line in ["<(".repeat(2_000), "$(".repeat(17), "a ".repeat(40_000)] {
        assert_eq!(first_opinion(&line), None);
    }
    assert!(first_opinion("echo $(a $(b $(c)))").is_some());
}

/// G10: a line that the other parser looks at again and again, since it meets an error and then another, gets
/// no opinion; a long script and a long text do.
#[cfg(feature = "second-opinion")]
#[test]
fn a_line_that_takes_too_much_looking_gets_no_opinion() {
    use deputize_shell::second_opinion;

    let again = "case rm in rm) echo yes;; esac".repeat(500);
    assert_eq!(second_opinion(&again), None);
    let step = "echo \"a of $HOME\" | sed 's/a/b/' >> out.txt && test -f out.txt || exit 1\n";
    let text = format!(
        "cat > a.txt <<'EOF'\n{}EOF\n",
        "a line of 'text' and $more\n".repeat(1_000)
    );
    for long in [step.repeat(200), text] {
        assert!(second_opinion(&long).is_some_and(|opinion| !opinion.error));
    }
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

/// G5: what the two call differently is no doubt, and what one of them doesn't see is.
#[cfg(feature = "second-opinion")]
#[test]
fn brackets_and_timing_are_no_doubt() {
    let agrees = |line: &str| deputize_shell::second_opinion(line).unwrap().agrees(line);
    for line in [
        "[ -f a ] && ls",
        "time ls src",
        "time -p ls",
        "while [ -f a ]; do ls; done",
    ] {
        assert!(agrees(line), "{line}");
    }
    for line in ["ls\r", "r\\\nm a", "time r\\\nm a"] {
        assert!(!agrees(line), "{line:?}");
    }
}
