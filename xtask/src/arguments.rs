//! What was typed after `cargo xtask`.

/// The help text.
pub(crate) const USAGE: &str = "\
usage: cargo xtask <task>

  check [--no-install]    formatting, lints, layers, sizes, licences, docs, generated files
                          (--no-install: leave out a checker that isn't there yet)
  test [--hosts] [FILTER] everything that tests: unit, integration, doc tests, and as root the
                          kernel's tests once more as an ordinary user
                          (--hosts: install Claude Code and Codex for it, 0.8 GB; where they are
                          installed they are met without it)
  bench [--rounds N] [NAME…]
                          ratios beside the anchors that are installed, as a Markdown table
  corpus FILE             scores a labelled corpus of command lines: confusion table, misses, goals
  fuzz [--seconds N] [--seed N] [CORPUS…]
                          hostile lines against parsers, analysis and verdict: limits and laws
  pack                    the npm packages of the Pi extension and of this platform's program, in
                          target/pack
  gen [--check]           docs/reference from the program itself (--check: compare only)";

/// How often a bench measures each side when nothing is said: enough for a steady median, few
/// enough for a minute in all.
pub(crate) const ROUNDS: usize = 25;

/// One command.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Task {
    Help,
    Check(Install),
    Test(TestOptions),
    Bench(BenchOptions),
    Corpus(String),
    Fuzz(FuzzOptions),
    Pack,
    Generate(Purpose),
}

/// What to test.
#[derive(Debug, PartialEq, Eq, Default)]
pub(crate) struct TestOptions {
    /// A part of the tests' names; all without one.
    pub(crate) filter: Option<String>,
    /// Whether hosts that somebody else wrote are installed for it.
    pub(crate) hosts: Hosts,
}

/// Hosts that somebody else wrote: large, and not all of them open source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Hosts {
    /// They are tested with where they are.
    #[default]
    Found,
    /// They are installed.
    Installed,
}

/// How long to fuzz, and with what.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FuzzOptions {
    /// How long.
    pub(crate) seconds: u64,
    /// The same seed gives the same lines.
    pub(crate) seed: u64,
    /// Corpora beside those of the tree.
    pub(crate) corpora: Vec<String>,
}

/// How long it fuzzes when nothing is said.
const FUZZ_SECONDS: u64 = 60;

/// Whether a missing checker may be built, which takes minutes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Install {
    Missing,
    Nothing,
}

/// What to do with a generated file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Write,
    Compare,
}

/// What to measure, and how often.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BenchOptions {
    /// Parts of row names; empty for every row.
    pub(crate) names: Vec<String>,
    /// Measurements of each side.
    pub(crate) rounds: usize,
}

impl Task {
    /// Reads the arguments; the error is a sentence for the person who typed them.
    pub(crate) fn parse(arguments: &[String]) -> Result<Self, String> {
        let Some((task, rest)) = arguments.split_first() else {
            return Err("no task was named".to_owned());
        };
        let words: Vec<&str> = rest.iter().map(String::as_str).collect();
        match (task.as_str(), words.as_slice()) {
            ("help" | "--help" | "-h", _) => Ok(Self::Help),
            ("check", []) => Ok(Self::Check(Install::Missing)),
            ("check", ["--no-install"]) => Ok(Self::Check(Install::Nothing)),
            ("test", words) => test_options(words).map(Self::Test),
            ("bench", words) => bench_options(words).map(Self::Bench),
            ("corpus", [file]) if !file.starts_with('-') => Ok(Self::Corpus((*file).to_owned())),
            ("fuzz", words) => fuzz_options(words).map(Self::Fuzz),
            ("pack", []) => Ok(Self::Pack),
            ("gen", []) => Ok(Self::Generate(Purpose::Write)),
            ("gen", ["--check"]) => Ok(Self::Generate(Purpose::Compare)),
            ("check" | "corpus" | "pack" | "gen", _) => {
                Err(format!("`{task}` doesn't take these arguments"))
            }
            _ => Err(format!("no task is named `{task}`")),
        }
    }
}

fn test_options(words: &[&str]) -> Result<TestOptions, String> {
    let mut options = TestOptions::default();
    for word in words {
        match *word {
            "--hosts" => options.hosts = Hosts::Installed,
            flag if flag.starts_with('-') => return Err(format!("no flag is named `{flag}`")),
            filter if options.filter.is_none() => options.filter = Some(filter.to_owned()),
            _ => return Err("`test` takes one filter".to_owned()),
        }
    }
    Ok(options)
}

fn bench_options(words: &[&str]) -> Result<BenchOptions, String> {
    let mut options = BenchOptions {
        names: Vec::new(),
        rounds: ROUNDS,
    };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match *word {
            "--rounds" => {
                options.rounds = words
                    .next()
                    .and_then(|number| number.parse().ok())
                    .filter(|rounds| *rounds > 0)
                    .ok_or("`--rounds` needs a number above zero")?;
            }
            flag if flag.starts_with('-') => return Err(format!("no flag is named `{flag}`")),
            name => options.names.push(name.to_owned()),
        }
    }
    Ok(options)
}

fn fuzz_options(words: &[&str]) -> Result<FuzzOptions, String> {
    let mut options = FuzzOptions {
        seconds: FUZZ_SECONDS,
        seed: 1,
        corpora: Vec::new(),
    };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut number = || words.next().and_then(|number| number.parse().ok());
        match *word {
            "--seconds" => options.seconds = number().ok_or("`--seconds` needs a number")?,
            "--seed" => options.seed = number().ok_or("`--seed` needs a number")?,
            flag if flag.starts_with('-') => return Err(format!("no flag is named `{flag}`")),
            file => options.corpora.push(file.to_owned()),
        }
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Task, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Task::parse(&words)
    }

    #[test]
    fn every_task_is_read() {
        assert_eq!(parse("check"), Ok(Task::Check(Install::Missing)));
        assert_eq!(
            parse("check --no-install"),
            Ok(Task::Check(Install::Nothing))
        );
        assert_eq!(parse("test"), Ok(Task::Test(TestOptions::default())));
        let options = TestOptions {
            filter: Some("swap".to_owned()),
            hosts: Hosts::Installed,
        };
        for line in ["test swap --hosts", "test --hosts swap"] {
            let Ok(Task::Test(read)) = parse(line) else {
                panic!("`{line}` wasn't taken");
            };
            assert_eq!(read, options);
        }
        assert_eq!(parse("gen --check"), Ok(Task::Generate(Purpose::Compare)));
        assert_eq!(parse("pack"), Ok(Task::Pack));
        assert_eq!(
            parse("corpus a.jsonl"),
            Ok(Task::Corpus("a.jsonl".to_owned()))
        );
        let fuzz = FuzzOptions {
            seconds: 9,
            seed: 3,
            corpora: vec!["a.jsonl".to_owned()],
        };
        let line = "fuzz --seconds 9 a.jsonl --seed 3";
        assert_eq!(parse(line), Ok(Task::Fuzz(fuzz)));
        let options = BenchOptions {
            names: vec!["start".to_owned()],
            rounds: 3,
        };
        assert_eq!(parse("bench --rounds 3 start"), Ok(Task::Bench(options)));
    }

    #[test]
    fn what_is_unknown_is_refused() {
        for line in [
            "",
            "tset",
            "check --fast",
            "test --flag",
            "test a b",
            "bench --rounds",
            "bench --rounds 0",
            "bench --loud",
            "corpus",
            "corpus --all",
            "fuzz --seconds",
            "fuzz --for 9",
            "pack x",
            "gen --write",
        ] {
            assert!(parse(line).is_err(), "`{line}` was taken");
        }
    }
}
