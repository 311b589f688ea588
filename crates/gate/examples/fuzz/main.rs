//! Feeds the gate with hostile lines for a while: `fuzz SECONDS SEED FOLDER [CORPUS…]`.
//!
//! Each input has a limit of time and of memory, and must keep the laws. The input that is tried stands
//! in `FOLDER/current` before it is, so that one which ends the process is found; each failure is made
//! small and written beside it.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a developer's tool talks to the terminal"
)]

mod laws;
mod mutate;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use laws::Bench;
use mutate::Mutator;

/// What one line may take, of a release build: the goal for a mebibyte of hostile input.
const SLOW: Duration = Duration::from_millis(50);
/// What nothing may take on any machine: the process ends then.
const HUNG: Duration = Duration::from_secs(20);
/// How far one batch of lines may raise the peak of memory, in KiB.
const MEMORY_KIB: u64 = 64 << 10;
/// Lines between two looks at the memory.
const BATCH: u64 = 64;
/// Failures after which it ends: a person has enough to do.
const ENOUGH: usize = 40;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let mut number = || arguments.next().and_then(|word| word.parse::<u64>().ok());
    let (Some(seconds), Some(seed)) = (number(), number()) else {
        eprintln!("usage: fuzz SECONDS SEED FOLDER [CORPUS…]");
        return ExitCode::from(2);
    };
    let folder = arguments
        .next()
        .map_or_else(|| PathBuf::from("."), PathBuf::from);
    match run(
        Duration::from_secs(seconds),
        seed,
        &folder,
        arguments.collect(),
    ) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("fuzz: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(time: Duration, seed: u64, folder: &Path, more: Vec<String>) -> std::io::Result<usize> {
    fs::create_dir_all(folder)?;
    let current = File::create(folder.join("current"))?;
    let mut lines = mutate::corpora();
    for file in more {
        lines.extend(mutate::lines(&fs::read_to_string(file)?));
    }
    let mut mutator = Mutator::new(seed, lines);
    let bench = Bench::new();
    // Panics are told once, as failures.
    std::panic::set_hook(Box::new(|_| {}));
    let beat = Arc::new(AtomicU64::new(0));
    watch(Arc::clone(&beat));
    let (began, mut tried) = (Instant::now(), 0_u64);
    let mut failures: BTreeMap<String, String> = BTreeMap::new();
    let (mut slowest, mut told) = (Duration::ZERO, Instant::now());
    let mut memory = Peak::begin();
    while began.elapsed() < time && failures.len() < ENOUGH {
        let line = mutator.next();
        current.set_len(0)?;
        current.write_at(line.as_bytes(), 0)?;
        let taken = bench.time(&line);
        if taken > slowest {
            slowest = taken;
            fs::write(folder.join("slowest"), &line)?;
        }
        let broken = match taken > SLOW {
            true => Some(format!("slow: {taken:?}")),
            false => broken(&bench, &line, tried),
        };
        if let Some(law) = broken {
            let law = law.split(':').next().unwrap_or_default().to_owned();
            if !failures.contains_key(&law) {
                let small = shrunk(&bench, &line, &law, tried);
                println!("FAILED {law}\n  {small:?}");
                fs::write(folder.join(format!("failure-{}", failures.len())), &small)?;
                failures.insert(law, small);
            }
        }
        tried += 1;
        beat.store(tried, Ordering::Relaxed);
        if tried.is_multiple_of(BATCH)
            && let Some(grown) = memory.grown_beyond(MEMORY_KIB)
        {
            println!(
                "FAILED memory: {grown} KiB more since a batch ago; the last line was\n  {line:?}"
            );
            failures.insert(format!("memory {tried}"), line);
        }
        if told.elapsed() > Duration::from_mins(1) {
            told = Instant::now();
            println!(
                "{tried} lines, {} failures, the slowest took {slowest:?}",
                failures.len()
            );
        }
    }
    println!(
        "{tried} lines of seed {seed} in {} s, {} failures, the slowest took {slowest:?}",
        began.elapsed().as_secs(),
        failures.len()
    );
    Ok(failures.len())
}

fn broken(bench: &Bench, line: &str, number: u64) -> Option<String> {
    catch_unwind(AssertUnwindSafe(|| bench.broken(line, number)))
        .unwrap_or_else(|_| Some("panic: it".to_owned()))
}

/// The same failure with less text.
fn shrunk(bench: &Bench, line: &str, law: &str, number: u64) -> String {
    let fails = |text: &str| match law {
        "slow" => bench.time(text) > SLOW,
        law => {
            broken(bench, text, number).is_some_and(|found| found.split(':').next() == Some(law))
        }
    };
    let mut chars: Vec<char> = line.chars().collect();
    let mut size = chars.len().div_ceil(2);
    let end = Instant::now() + Duration::from_secs(10);
    while size > 0 && Instant::now() < end {
        let mut at = 0;
        let before = chars.len();
        while at < chars.len() && Instant::now() < end {
            let mut shorter = chars.clone();
            shorter.drain(at..(at + size).min(chars.len()));
            if fails(&shorter.iter().collect::<String>()) {
                chars = shorter;
            } else {
                at += size;
            }
        }
        if chars.len() == before || size > chars.len() {
            size /= 2;
        }
    }
    chars.into_iter().collect()
}

/// Ends the process when a line takes for ever. It stands in `current`.
fn watch(beat: Arc<AtomicU64>) {
    thread::spawn(move || {
        let mut last = (0, Instant::now());
        loop {
            thread::sleep(Duration::from_secs(1));
            let now = beat.load(Ordering::Relaxed);
            if now != last.0 {
                last = (now, Instant::now());
            } else if last.1.elapsed() > HUNG {
                eprintln!("fuzz: line {now} took longer than {HUNG:?}");
                std::process::abort();
            }
        }
    });
}

/// The peak of this process's memory, begun anew after each look. Where the kernel doesn't tell it,
/// nothing is found.
struct Peak {
    last: u64,
}

impl Peak {
    fn begin() -> Self {
        let _ = fs::write("/proc/self/clear_refs", "5");
        Self { last: Self::kib() }
    }

    fn kib() -> u64 {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let number = line.and_then(|line| line.split_whitespace().next());
        number
            .and_then(|number| number.parse().ok())
            .unwrap_or_default()
    }

    fn grown_beyond(&mut self, limit: u64) -> Option<u64> {
        let grown = Self::kib().saturating_sub(self.last);
        *self = Self::begin();
        (grown > limit).then_some(grown)
    }
}
