//! How long a verdict takes: `bench_shell FILE [ROUNDS]` prints p50 and p99 over a corpus, and the
//! time for hostile input.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a developer's tool talks to the terminal"
)]

use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use deputize_shell::{World, analyse, judge};
use serde_json::Value;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(file) = arguments.next() else {
        eprintln!("usage: bench_shell FILE [ROUNDS]");
        return ExitCode::from(2);
    };
    let rounds: usize = arguments
        .next()
        .and_then(|rounds| rounds.parse().ok())
        .unwrap_or(20);
    let Ok(text) = std::fs::read_to_string(&file) else {
        eprintln!("can't read {file}");
        return ExitCode::FAILURE;
    };
    let lines: Vec<String> = text
        .lines()
        .filter_map(|row| {
            serde_json::from_str::<Value>(row).ok()?["cmd"]
                .as_str()
                .map(str::to_owned)
        })
        .collect();
    let world = World::workspace("/w", "/home/u");
    // The best of several rounds for each line: the machine is busy with other things.
    let mut times: Vec<(Duration, &str)> = Vec::with_capacity(lines.len());
    for line in &lines {
        let best = (0..rounds)
            .map(|_| time(line, &world))
            .min()
            .unwrap_or_default();
        times.push((best, line));
    }
    times.sort();
    let at =
        |share: usize| times.get((times.len() * share / 100).min(times.len().saturating_sub(1)));
    for share in [50, 90, 99, 100] {
        if let Some((time, line)) = at(share) {
            println!(
                "p{share:<4} {:>9.1} µs  {:?}",
                time.as_secs_f64() * 1e6,
                line.chars().take(80).collect::<String>()
            );
        }
    }
    for (name, line) in hostile() {
        println!(
            "{name:32} {:>9.1} ms",
            time(&line, &world).as_secs_f64() * 1e3
        );
    }
    ExitCode::SUCCESS
}

fn time(line: &str, world: &World) -> Duration {
    let start = Instant::now();
    black_box(judge(&analyse(black_box(line), world)));
    start.elapsed()
}

fn hostile() -> Vec<(&'static str, String)> {
    vec![
        ("1 MiB of one letter", "a".repeat(1 << 20)),
        ("1 MiB of commands", "echo hello; ".repeat((1 << 20) / 12)),
        ("1 MiB of lines", "rm x\n".repeat((1 << 20) / 5)),
        ("1 MiB of quotes", "\"'".repeat(1 << 19)),
        ("10,000 open brackets", "(".repeat(10_000)),
        ("10,000 nested brackets", format!("{}ls{}", "(".repeat(10_000), ")".repeat(10_000))),
        ("10,000 substitutions", format!("echo {}ls{}", "$(".repeat(10_000), ")".repeat(10_000))),
        ("16 nested substitutions", format!("echo {}ls{}", "$(".repeat(16), ")".repeat(16))),
        ("40 substitutions in quotes", "$(echo ')' ".repeat(40)),
        ("64 KiB of commands", "echo hello; ".repeat((64 << 10) / 12 - 1)),
        ("64 KiB of removals", "rm -rf a$x; ".repeat((64 << 10) / 12 - 1)),
        ("64 KiB of pipes", "cat | ".repeat((64 << 10) / 6 - 1) + "cat"),
        ("64 KiB of braces", format!("echo {}", "{a,b}".repeat(100))),
        ("400 braces of commands", format!("{}ls{}", "{ ".repeat(40), "; }".repeat(40))),
        ("doubling variables", "a=xxxxxxxx; ".to_owned() + &"a=$a$a; ".repeat(200) + "echo $a"),
        ("loops in loops", "for a in 1 2 3 4 5 6 7 8 9; do ".repeat(8) + "echo $a" + &"; done".repeat(8)),
        ("eval of eval", "x='eval \"$x$x\"'; eval \"$x\"".to_owned()),
        ("functions in turn", "f() { g; g; }; g() { h; h; }; h() { i; i; }; i() { j; j; }; j() { k; k; }; k() { ls; ls; }; f; f; f; f".to_owned()),
        ("nested defaults", format!("echo {}x{}", "${a:-".repeat(2_000), "}".repeat(2_000))),
        ("nested backslashes", format!("echo {}", "\\".repeat(60_000))),
        ("awk of signs", format!("awk '{}'", "print > ".repeat(2_000))),
        ("sed of commands", format!("sed '{}'", "s/a/b/;".repeat(5_000))),
        ("python of literals", format!("python3 -c 'system({})'", "\"rm\",".repeat(2_000))),
        ("subshells on one line", "(ls);".repeat(500)),
        ("a pattern of stars", format!("rm -rf {}", "*a".repeat(2_000))),
        ("replacement of patterns", format!("x={}; echo ${{x//a*b/c}}", "a".repeat(1_500))),
        ("here-documents", "cat <<E\n$(ls)\nE\n".repeat(39)),
        ("words in a list", format!("a=({}); echo \"${{a[@]}}\"", "x ".repeat(20_000))),
    ]
}
