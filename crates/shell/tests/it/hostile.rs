//! Hostile text ends in a verdict, soon and without a panic (G10).

use std::time::{Duration, Instant};

use deputize_shell::{Answer, limits};
use proptest::prelude::*;

use crate::{answer, own_corpus};

/// A debug build under load is some twenty times slower than what is promised of a release.
const SOON: Duration = Duration::from_millis(if cfg!(debug_assertions) { 5_000 } else { 50 });

fn ends_soon(name: &str, line: &str) -> Answer {
    // On a busy machine the clock runs on while others work: the best of several counts.
    let mut best = Duration::MAX;
    for _ in 0..8 {
        let start = Instant::now();
        let answer = answer(line);
        best = best.min(start.elapsed());
        if best < SOON {
            return answer;
        }
    }
    panic!("{name}: {best:?}");
}

/// G10: large and deep text, and text just below each limit, where the parser works hardest.
#[test]
fn hostile_text_ends_soon_and_is_not_allowed() {
    let deep = |open: &str, inner: &str, close: &str, count: usize| {
        format!("{}{inner}{}", open.repeat(count), close.repeat(count))
    };
    for (name, line) in [
        ("a large word", "a".repeat(1 << 20)),
        ("a large list", "echo hello; ".repeat(87_000)),
        ("a deep path", "a/".repeat(1 << 19)),
        (
            "a deep path of dots",
            format!("cat {}", ".g/".repeat(300_000)),
        ),
        ("many lines", "rm x\n".repeat(200_000)),
        ("quotes", "\"'".repeat(1 << 19)),
        ("brackets", deep("(", "ls", ")", 10_000)),
        ("open brackets", "(".repeat(10_000)),
        ("substitutions", deep("$(", "ls", ")", 10_000)),
        ("backticks", "`".repeat(10_000)),
        ("process substitutions", deep("<(", "ls", ")", 10_000)),
        ("groups", deep("{ ", "ls", "; }", 2_000)),
        ("branches", deep("if a; then ", "b", "; fi", 150)),
        ("loops", deep("for a in b; do ", "x", "; done", 150)),
        ("cases", deep("case a in b) ", "x", ";; esac", 150)),
        ("negations", format!("{}ls", "! ".repeat(3_000))),
        (
            "signs in arithmetic",
            format!("echo $(({}1))", "-".repeat(60_000)),
        ),
        (
            "assignments in arithmetic",
            format!("echo $(({}1))", "a=".repeat(30_000)),
        ),
        ("sums", format!("(({}1))", "1+".repeat(30_000))),
        ("old arithmetic", format!("echo $[{}1]", "!".repeat(60_000))),
        ("conditions", format!("[[ {}a ]]", "! ".repeat(30_000))),
        (
            "chains in a condition",
            format!("[[ {}a ]]", "a && ".repeat(10_000)),
        ),
        ("defaults", deep("${a:-", "x", "}", 10_000)),
        (
            "doubling",
            format!("a=xxxxxxxx; {}frob $a", "a=$a$a; ".repeat(200)),
        ),
        (
            "eval of itself",
            "x='eval \"$x$x\"'; eval \"$x\"; frob".to_owned(),
        ),
        ("a function of itself", "f() { f; f; }; f".to_owned()),
        (
            "loops in loops",
            format!(
                "{}frob{}",
                "for a in 1 2 3 4 5 6 7 8 9; do ".repeat(8),
                "; done".repeat(8)
            ),
        ),
        ("NUL", "ls\0-la".to_owned()),
    ] {
        let answer = ends_soon(name, &line);
        assert_ne!(answer, Answer::Allow, "{name}");
    }
}

/// G10: just below the limits the parser and the walk still have stack enough.
#[test]
fn text_just_below_the_limits_is_walked() {
    let deep = |open: &str, inner: &str, close: &str, count: usize| {
        format!("{}{inner}{}", open.repeat(count), close.repeat(count))
    };
    let operators = limits::MAX_OPERATORS - 8;
    for (name, line) in [
        ("substitutions", deep("$(", "ls", ")", limits::MAX_NESTING)),
        (
            "quoted substitutions",
            deep("\"$(", "ls", ")\"", limits::MAX_NESTING),
        ),
        (
            "hidden substitutions",
            "$(echo ')' ".repeat(limits::MAX_SUBSTITUTIONS),
        ),
        ("groups", deep("{ ", "ls", "; }", limits::MAX_COMPOUND)),
        ("branches", deep("if a; then ", "b", "; fi", 40)),
        ("commands", "true; ".repeat(limits::MAX_COMMANDS - 1)),
        (
            "chains",
            "true && ".repeat(limits::MAX_COMMANDS / 2 - 1) + "true",
        ),
        ("background", "true & ".repeat(limits::MAX_COMMANDS - 1)),
        ("pipes", "cat | ".repeat(limits::MAX_COMMANDS - 1) + "cat"),
        ("signs", format!("echo $(({}1))", "-".repeat(operators))),
        (
            "powers",
            format!("echo $(({}1))", "2**".repeat(operators / 2)),
        ),
        (
            "choices",
            format!(
                "echo $(({}1{}))",
                "1?".repeat(operators / 2),
                ":1".repeat(operators / 2)
            ),
        ),
        (
            "assignments",
            format!("echo $(({}1))", "a=".repeat(operators)),
        ),
        (
            "subscripts",
            format!("echo $(({}1{}))", "a[".repeat(400), "]".repeat(400)),
        ),
        ("conditions", format!("[[ {}a ]]", "! ".repeat(operators))),
        ("time", "time ".repeat(400) + "ls"),
        (
            "elifs",
            format!("if a; then b; {}fi", "elif a; then b; ".repeat(80)),
        ),
        ("defaults", deep("${a:-", "x", "}", limits::MAX_COMPOUND)),
        ("an option without its word", "find -D".to_owned()),
        ("words", format!("ls {}", "\"$a\" ".repeat(8_000))),
    ] {
        ends_soon(name, &line);
    }
}

/// G10: what is over a limit is still looked through for plain danger.
#[test]
fn danger_is_found_beyond_the_limits() {
    let mut missed = Vec::new();
    for line in [
        format!("{}rm -rf /", "echo a; ".repeat(60)),
        format!("{}rm -rf /", "echo a; ".repeat(3_000)),
        format!("{}rm -rf /", "echo a && ".repeat(500)),
        format!("{}rm -rf /{}", "(".repeat(40), ")".repeat(40)),
        format!("rm -rf / # {}", "x".repeat(limits::MAX_BYTES)),
        "rm -rf /; if".to_owned(),
        "ls\0; rm -rf /".to_owned(),
        format!("echo $(( {}1 )); rm -rf /", "-".repeat(1_000)),
    ] {
        if answer(&line) != Answer::Deny {
            missed.push(line.chars().take(60).collect::<String>());
        }
    }
    assert_eq!(missed, [""; 0]);
}

/// How many cases a property runs: more when somebody has the time.
fn cases() -> ProptestConfig {
    let cases = std::env::var("DEPUTIZE_FUZZ_CASES")
        .ok()
        .and_then(|cases| cases.parse().ok());
    ProptestConfig::with_cases(cases.unwrap_or(256))
}

/// A corpus line with a few of its characters changed, dropped or doubled, or two lines joined.
fn mutated() -> impl Strategy<Value = String> {
    let lines: Vec<String> = own_corpus().into_iter().map(|row| row.0).collect();
    let count = lines.len();
    let edits = prop::collection::vec(
        (
            any::<prop::sample::Index>(),
            0..4_u8,
            any::<prop::sample::Index>(),
        ),
        0..6,
    );
    (0..count, 0..count, any::<prop::sample::Index>(), edits).prop_map(
        move |(first, second, cut, edits)| {
            const SIGNS: &str = "'\"`$(){}[]<>|&;\\\n!#*?~=-/ \0\u{e9}";
            let mut chars: Vec<char> = lines[first].chars().collect();
            let tail: Vec<char> = lines[second].chars().collect();
            chars.truncate(cut.index(chars.len() + 1));
            chars.extend(tail.iter().skip(cut.index(tail.len() + 1)));
            for (at, what, sign) in edits {
                let at = at.index(chars.len() + 1);
                let sign = SIGNS
                    .chars()
                    .nth(sign.index(SIGNS.chars().count()))
                    .unwrap();
                match what {
                    0 => chars.insert(at, sign),
                    1 if at < chars.len() => chars[at] = sign,
                    2 if at < chars.len() => {
                        chars.remove(at);
                    }
                    _ if at < chars.len() => chars.insert(at, chars[at]),
                    _ => chars.push(sign),
                }
            }
            chars.into_iter().collect()
        },
    )
}

proptest! {
    #![proptest_config(cases())]

    /// G10: any bytes end in a verdict.
    #[test]
    fn any_bytes_end_in_a_verdict(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        ends_soon("bytes", &String::from_utf8_lossy(&bytes));
    }

    /// G10: text of the signs that mean something to a shell.
    #[test]
    fn any_signs_end_in_a_verdict(text in "[\"'`$(){}\\[\\]<>|&;\\\\ \nacdefhimnorst=!#*?~/0-9-]{0,120}") {
        ends_soon("signs", &text);
    }

    /// G10: lines that nearly are commands.
    #[test]
    fn mutated_lines_end_in_a_verdict(line in mutated()) {
        ends_soon("mutated", &line);
    }
}

/// G5, G10: what is followed only in part proves nothing: words cut short, lines put in another order,
/// sets that aren't understood, backslashes that a builtin takes away.
#[test]
fn what_is_followed_in_part_is_not_allowed() {
    for line in [
        format!("printf '{}/\\n' | xargs -I@ rm -rf @", "a\\n".repeat(20)),
        format!("printf '%s\\n' {}/etc | xargs rm -f", "a ".repeat(100)),
        format!("for f in {}/etc; do rm -f $f; done", "a ".repeat(60)),
        "printf 'rm -f passwd\\ncd /etc\\n' | sort | sh".to_owned(),
        "printf 'ls\\nrm -rf /\\n' | grep -v ls | sh".to_owned(),
        "echo 'ls' | tr '[=l=]' r | sh".to_owned(),
        "read x <<< '\\/etc'; rm -f $x".to_owned(),
        "echo 'ls ls' | sed 's/ls/rm -f/2' | sh".to_owned(),
    ] {
        assert_ne!(answer(&line), Answer::Allow, "{line}");
    }
    assert_eq!(
        answer("printf 'a\\nb\\n' | xargs -I@ rm -f @"),
        Answer::Allow
    );
}

/// G5: a redirection without its word is no syntax, whatever our parser makes of what follows; the fuzzer
/// found that a line with one was allowed.
#[test]
fn a_redirection_to_nothing_is_not_allowed() {
    for line in [
        "ls>",
        "rm>\n: || true",
        "( ls>\n)",
        "ls >;ls",
        "ls > | cat",
        "ls < && ls",
        "ls >> &",
        "cat <<< ;ls",
    ] {
        assert_ne!(answer(line), Answer::Allow, "{line}");
    }
    assert_eq!(answer("ls > >(cat)"), Answer::Allow);
}
