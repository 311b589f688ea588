//! Measures what a verdict on a command line takes: both parses, over the corpora, and on hostile text.

mod measuring;

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use deputize_gate::{Stance, Standing, explain_line};
use deputize_shell::{User, World, analyse, judge, second_opinion};
use measuring::{Failure, Side};

/// The lines of the tree's corpora.
const CORPORA: [&str; 3] = [
    include_str!("../../shell/corpus/own.jsonl"),
    include_str!("../../shell/corpus/wide.jsonl"),
    include_str!("../../shell/corpus/hard.jsonl"),
];
/// Sizes of hostile text, in bytes.
const LARGE: usize = 1 << 20;
/// Just below the longest text that is parsed.
const PARSED: usize = (64 << 10) - 64;

fn main() -> ExitCode {
    measuring::main(measure)
}

fn measure(rounds: usize) -> Result<Vec<Side>, Failure> {
    let lines = corpus()?;
    let world = World::workspace("/w", "/home/u");
    let standing = Standing::new(&["/w"], "/w", "/home/u", User::Ordinary);
    let mut sides = Vec::new();
    // Each line counts by its best time: the machine is busy with other things.
    let mut best = vec![[f64::INFINITY; 2]; lines.len()];
    let (mut middle, mut tail, mut whole_middle, mut whole_tail) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds.max(5) {
        for (line, best) in lines.iter().zip(&mut best) {
            let verdict = micros(|| {
                black_box(judge(&analyse(black_box(line), &world)));
                black_box(second_opinion(black_box(line)));
            });
            let explained = micros(|| {
                let stance = Stance::Unconfined;
                black_box(explain_line(
                    black_box(line),
                    &standing,
                    stance,
                    second_opinion,
                ));
            });
            *best = [best[0].min(verdict), best[1].min(explained)];
        }
        let at = |which: usize, share: usize| {
            let mut times: Vec<f64> = best.iter().map(|best| best[which]).collect();
            times.sort_unstable_by(f64::total_cmp);
            times[times.len() * share / 100]
        };
        middle.push(at(0, 50));
        tail.push(at(0, 99));
        whole_middle.push(at(1, 50));
        whole_tail.push(at(1, 99));
    }
    let side = |name: String, samples, unit| Side {
        name,
        samples,
        unit,
        beside: None,
    };
    sides.push(side(
        "both parses and the verdict, p50".to_owned(),
        middle,
        "µs",
    ));
    sides.push(side(
        "both parses and the verdict, p99".to_owned(),
        tail,
        "µs",
    ));
    sides.push(side(
        "the same as the hook explains it, p50".to_owned(),
        whole_middle,
        "µs",
    ));
    sides.push(side(
        "the same as the hook explains it, p99".to_owned(),
        whole_tail,
        "µs",
    ));
    for (name, line) in hostile() {
        let samples = (0..rounds.clamp(3, 10)).map(|_| {
            let taken = micros(|| {
                let stance = Stance::Unconfined;
                black_box(explain_line(
                    black_box(&line),
                    &standing,
                    stance,
                    second_opinion,
                ));
            });
            taken / 1e3
        });
        sides.push(side(name.to_owned(), samples.collect(), "ms"));
    }
    Ok(sides)
}

fn micros(work: impl FnOnce()) -> f64 {
    let begun = Instant::now();
    work();
    begun.elapsed().as_secs_f64() * 1e6
}

fn corpus() -> Result<Vec<String>, Failure> {
    let rows = CORPORA.iter().flat_map(|rows| rows.lines());
    rows.map(|row| {
        let row: serde_json::Value = serde_json::from_str(row)?;
        let line = row["cmd"].as_str().ok_or("a row without a line")?;
        Ok(line.to_owned())
    })
    .collect()
}

/// A piece again and again, up to a size.
fn full(piece: &str, size: usize) -> String {
    piece.repeat(size / piece.len())
}

/// Text that is made to be slow: a mebibyte of it, or as much as is parsed.
fn hostile() -> Vec<(&'static str, String)> {
    let nested = |open: &str, close: &str, count: usize| {
        format!("echo {}ls{}", open.repeat(count), close.repeat(count))
    };
    vec![
        ("1 MiB: one word", full("a", LARGE)),
        ("1 MiB: commands", full("echo hello; ", LARGE)),
        ("1 MiB: removals", full("rm -rf a$x; ", LARGE)),
        ("1 MiB: pipes", full("cat | ", LARGE) + "cat"),
        ("1 MiB: here-documents", full("cat <<E\n$(ls)\nE\n", LARGE)),
        ("1 MiB: open here-documents", full("cat <<E; ", LARGE)),
        ("1 MiB: quotes", full("\"'", LARGE)),
        ("1 MiB: an open quote", format!("echo '{}", full("rm -rf / ", LARGE))),
        ("1 MiB: NULs", full("\0", LARGE)),
        ("1 MiB: NULs and removals", full("rm -rf /\0", LARGE)),
        ("1 MiB: brackets", full("(", LARGE)),
        ("1 MiB: substitutions", nested("$(", ")", LARGE / 3)),
        ("1 MiB: backticks", full("`", LARGE)),
        ("1 MiB: braces", full("{a,b}", LARGE)),
        ("1 MiB: expressions", format!("echo $(({}1))", full("-", LARGE))),
        ("1 MiB: backslashes", full("\\", LARGE)),
        ("1 MiB: lines of signs", full("é\u{202e}\n", LARGE)),
        ("1 MiB: sudo", full("sudo ", LARGE)),
        ("64 KiB: one word", full("a", PARSED)),
        ("64 KiB: arguments", format!("rm {}", full("a ", PARSED))),
        ("64 KiB: quoted variables", format!("ls {}", full("\"$a\" ", PARSED))),
        ("64 KiB: backslashes", full("\\", PARSED)),
        ("64 KiB: an open quote", format!("echo '{}", full("rm -rf / ", PARSED))),
        ("64 KiB: comments", full("# rm -rf /\\\n", PARSED)),
        ("64 KiB: literals of code", format!("python3 -c 'system({})'", full("\"rm\",", PARSED))),
        ("64 KiB: a script of awk", format!("awk '{}'", full("print > ", PARSED))),
        ("64 KiB: a script of sed", format!("sed '{}'", full("s/a/b/;", PARSED))),
        ("1,500 commands", "rm a$x; ".repeat(1_499)),
        ("1,500 pipes", "cat | ".repeat(1_499) + "cat"),
        ("39 here-documents", "cat <<E\n$(ls)\nE\n".repeat(39)),
        ("16 nested substitutions", nested("$(", ")", 16)),
        ("40 substitutions in quotes", "$(echo ')' ".repeat(40)),
        ("loops in loops", "for a in 1 2 3 4 5 6 7 8 9; do ".repeat(8) + "echo $a" + &"; done".repeat(8)),
        ("doubling variables", "a=xxxxxxxx; ".to_owned() + &"a=$a$a; ".repeat(200) + "echo $a"),
        ("eval of itself", "x='eval \"$x$x\"'; eval \"$x\"".to_owned()),
        ("functions in turn", "f() { g; g; }; g() { h; h; }; h() { i; i; }; i() { j; j; }; j() { k; k; }; k() { ls; ls; }; f; f; f".to_owned()),
    ]
}
