//! Prints what is found in a line: `explain_line LINE…`.
#![expect(
    clippy::print_stdout,
    reason = "a developer's tool talks to the terminal"
)]

use deputize_shell::{World, analyse, judge};

fn main() {
    for line in std::env::args().skip(1) {
        let analysis = analyse(&line, &World::workspace("/w", "/home/u"));
        let verdict = judge(&analysis);
        println!(
            "{line:?}\n  {:?} {:?}",
            verdict.answer, analysis.completeness
        );
        for step in &analysis.steps {
            println!("  {}{}", "  ".repeat(step.depth), step.words.join(" "));
        }
        for voice in &verdict.voices {
            println!(
                "  [{}] {} {}",
                voice.rule.id, voice.about, voice.rule.reason
            );
        }
    }
}
