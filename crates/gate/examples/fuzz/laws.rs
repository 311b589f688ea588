//! What must hold for every line, whatever it is.

use std::hint::black_box;
use std::time::{Duration, Instant};

use deputize_authority::{Level, Mode, Rules};
use deputize_gate::{Explanation, Stance, Standing, explain_line};
use deputize_shell::{
    Analysis, Answer, Completeness, Opinion, User, World, analyse, first_opinion, judge, limits,
    second_opinion,
};

/// Rules of a person that deny: what each is about turns up in the corpora.
const DENIES: &[&str] = &[
    "[[deny]]\ncommand = \"rm\"",
    "[[deny]]\ncommand = \"git push\"",
    "[[deny]]\npath = \"src/**\"",
    "[[deny]]\npath = \"/etc/**\"\nfor = [\"write\"]",
    "[[deny]]\nhost = \"*.example.com\"",
    "[[deny]]\nexact = \"ls\"",
    "[[deny]]\ntool = \"bash\"",
];
/// Rules that allow, which a denial must stand above.
const ALLOWS: &[&str] = &[
    "",
    "[[allow]]\ncommand = \"cargo build\"\n",
    "[[allow]]\npath = \"/tmp/**\"\n",
    "[[allow]]\nexact = \"make\"\n[[allow]]\nhost = \"example.com\"\n",
];

/// The worlds and rules that lines are judged with.
pub(crate) struct Bench {
    world: World,
    standing: Standing,
    /// Pairs: without a denial, and with it.
    ruled: Vec<(Standing, Standing)>,
}

fn rank(answer: Answer) -> u8 {
    match answer {
        Answer::Allow => 0,
        Answer::Ask => 1,
        Answer::Deny => 2,
    }
}

/// How strict an explanation's verdict is.
fn strictness(explanation: &Explanation) -> u8 {
    match explanation.verdict {
        "allow" => 0,
        "ask" => 1,
        _ => 2,
    }
}

impl Bench {
    pub(crate) fn new() -> Self {
        let standing = Standing::new(&["/w"], "/w", "/home/u", User::Ordinary);
        let with = |text: &str| {
            // The rules above are well-formed; without them the law would say nothing.
            let rules = match Rules::parse("rules.toml", text) {
                Ok(rules) => rules,
                Err(error) => unreachable!("{error:?}"),
            };
            standing.clone().with_rules(rules.calls().to_vec())
        };
        let with = &with;
        let pairs = ALLOWS.iter().flat_map(|allow| {
            DENIES
                .iter()
                .map(move |deny| (with(allow), with(&format!("{allow}{deny}\n"))))
        });
        Self {
            ruled: pairs.collect(),
            world: World::workspace("/w", "/home/u"),
            standing,
        }
    }

    /// What both parses and the verdict take of a processor, where the kernel tells; the best of several.
    pub(crate) fn time(&self, line: &str) -> Duration {
        let once = || {
            let (begun, used) = (Instant::now(), processor());
            let verdict = judge(&analyse(black_box(line), &self.world));
            if verdict.answer == Answer::Allow {
                black_box(second_opinion(line));
            }
            black_box(verdict);
            match (used, processor()) {
                (Some(before), Some(after)) => after.saturating_sub(before),
                _ => begun.elapsed(),
            }
        };
        let first = once();
        if first < Duration::from_millis(20) {
            return first;
        }
        // Whoever shares the core makes it slower: the best counts.
        (0..8).map(|_| once()).fold(first, Duration::min)
    }

    /// The first law that a line breaks. `number` says which of the rules and wrappings are tried: all
    /// of them on each line would leave time for few lines.
    pub(crate) fn broken(&self, line: &str, number: u64) -> Option<String> {
        let analysis = analyse(line, &self.world);
        let verdict = judge(&analysis);
        if judge(&analyse(line, &self.world)).answer != verdict.answer {
            return Some("two answers: the same line".to_owned());
        }
        let pick = usize::try_from(number).unwrap_or_default();
        well_formed(line, &analysis)
            .or_else(|| self.explained(line, pick))
            .or_else(|| self.as_text(line, pick))
            .or_else(|| self.wrapped(line, verdict.answer, pick))
    }

    /// Each direction in which a verdict may only become stricter.
    fn explained(&self, line: &str, pick: usize) -> Option<String> {
        let explain = |standing: &Standing, stance| explain_line(line, standing, stance, first);
        let alone = explain(&self.standing, Stance::Unconfined);
        let text = alone.text();
        if text.chars().any(|c| c.is_control() && c != '\n') {
            return Some("control characters: in the explanation".to_owned());
        }
        let doubted = explain_line(line, &self.standing, Stance::Unconfined, second_opinion);
        if strictness(&doubted) < strictness(&alone) {
            return Some("second opinion widens: it".to_owned());
        }
        let (without, with) = &self.ruled[pick % self.ruled.len()];
        let stances = [
            Stance::Unconfined,
            Stance::Bound(Mode::AutoAll, Level::Full),
            Stance::Bound(Mode::AutoEdit, Level::LandlockSeccomp),
        ];
        let stance = stances[pick % stances.len()];
        if strictness(&explain(with, stance)) < strictness(&explain(without, stance)) {
            return Some(format!("a denial widens: {stance:?}"));
        }
        let level = Level::ALL[pick % Level::ALL.len()];
        let modes =
            Mode::ALL.map(|mode| strictness(&explain(&self.standing, Stance::Bound(mode, level))));
        if !modes.is_sorted_by(|one, next| one >= next) {
            return Some(format!(
                "a mode that asks less is stricter: {level:?} {modes:?}"
            ));
        }
        let mode = Mode::ALL[pick % Mode::ALL.len()];
        let levels = Level::ALL
            .map(|level| strictness(&explain(&self.standing, Stance::Bound(mode, level))));
        if !levels.is_sorted() {
            return Some(format!(
                "a weaker boundary allows more: {mode:?} {levels:?}"
            ));
        }
        None
    }

    /// In single quotes, a line is an argument like any other.
    fn as_text(&self, line: &str, pick: usize) -> Option<String> {
        // What isn't shown, or ends a line elsewhere, is asked about wherever it stands.
        let plain = line
            .chars()
            .all(|c| !c.is_control() || c == '\n' || c == '\t')
            && line.len() < limits::MAX_BYTES / 4
            && !line.contains("END_OF_TEXT");
        let hidden = |answer: &deputize_shell::Verdict| {
            answer
                .voices
                .iter()
                .any(|voice| voice.rule.id == "opaque.hidden")
        };
        if !plain {
            return None;
        }
        let data = format!("'{}'", line.replace('\'', "'\\''"));
        let text = match pick % 5 {
            0 => format!("echo {data}"),
            1 => format!("printf '%s\\n' {data}"),
            2 => format!("grep -F -e {data} a.txt"),
            3 => format!("git commit -m {data}"),
            _ => format!("cat > notes.txt <<'END_OF_TEXT'\n{line}\nEND_OF_TEXT"),
        };
        let analysis = analyse(&text, &self.world);
        let verdict = judge(&analysis);
        // Above a limit there is a question, also for text.
        let limited = is_limited(&analysis);
        (verdict.answer != Answer::Allow && !hidden(&verdict) && !limited)
            .then(|| format!("text becomes a command {}: {:?}", pick % 5, verdict.answer))
    }

    /// With more around it a line is never safer.
    fn wrapped(&self, line: &str, alone: Answer, pick: usize) -> Option<String> {
        let is_whole = first_opinion(line).is_some()
            && !line.contains("<<")
            && !line.contains('#')
            && !line.contains(['!', '\0'])
            && !line.trim_end().ends_with(['\\', '&', ';', '|', '<', '>'])
            && !line.starts_with(['-', '+'])
            && !names_arguments(line)
            && line.len() < limits::MAX_BYTES / 4;
        if !is_whole {
            return None;
        }
        let quoted = || format!("'{}'", line.replace('\'', "'\\''"));
        let wrapped = match pick % 14 {
            0 => format!("( {line}\n)"),
            1 => format!("{{ {line}\n}}"),
            2 => format!("if true; then {line}\nfi"),
            3 => format!("while true; do {line}\ndone"),
            4 => format!("bash -c {}", quoted()),
            5 => format!("eval {}", quoted()),
            6 => format!("sudo bash -c {}", quoted()),
            7 => format!("timeout 5 bash -c {}", quoted()),
            8 => format!("env UNUSED=1 nohup bash -c {}", quoted()),
            9 => format!("echo \"$(\n{line}\n)\""),
            10 => format!("f_f() {{ {line}\n}}; f_f"),
            11 => format!("{line}\nls"),
            12 => format!("true\n{line}"),
            _ => format!("{line}\n: || true"),
        };
        // Where the wrapping makes of the line what it wasn't, there is nothing to compare.
        first_opinion(&wrapped)?;
        let analysis = analyse(&wrapped, &self.world);
        if is_limited(&analysis) {
            return None;
        }
        let around = judge(&analysis).answer;
        (rank(around) < rank(alone))
            .then(|| format!("wrapping {} makes safer: {alone:?} {around:?}", pick % 14))
    }
}

/// Whether a line names arguments of its shell: a shell that is called without any knows that it has none.
fn names_arguments(line: &str) -> bool {
    line.split('$').skip(1).any(|rest| {
        let name = rest.strip_prefix('{').unwrap_or(rest);
        name.trim_start_matches(['#', '!'])
            .starts_with(|c: char| c.is_ascii_digit() || matches!(c, '@' | '*'))
            || name.starts_with('#')
    })
}

/// Whether a limit was met: above one, a line is at most asked about.
fn is_limited(analysis: &Analysis) -> bool {
    match &analysis.completeness {
        Completeness::Complete => false,
        Completeness::Partial(why) => why.iter().any(|why| why.contains("than ")),
    }
}

/// The time that this thread had a processor for: on a busy machine the clock runs on meanwhile.
fn processor() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanos = text.split_whitespace().next()?.parse().ok()?;
    Some(Duration::from_nanos(nanos))
}

/// The parser of ours as the other one: where it sees a line, it agrees.
fn first(line: &str) -> Option<Opinion> {
    first_opinion(line).map(|names| Opinion {
        error: false,
        names,
    })
}

/// What an analysis points at is there.
fn well_formed(line: &str, analysis: &Analysis) -> Option<String> {
    let spans = analysis
        .effects
        .iter()
        .map(|effect| &effect.span)
        .chain(analysis.steps.iter().map(|step| &step.span));
    for span in spans {
        if span.start > span.end || span.end > line.len() {
            return Some(format!("a span beyond the line: {span:?}"));
        }
    }
    let parents = analysis.steps.iter().enumerate();
    for (at, step) in parents {
        if step
            .parent
            .is_some_and(|parent| parent >= analysis.steps.len() || parent == at)
        {
            return Some("a step that is its own parent: it".to_owned());
        }
    }
    let steps = analysis.effects.iter().filter_map(|effect| effect.step);
    if steps.max().is_some_and(|step| step >= analysis.steps.len()) {
        return Some("a step that isn't there: it".to_owned());
    }
    None
}
