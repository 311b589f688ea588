//! A2: kill -9 at any byte loses at most the event being written.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use deputize_ledger::{Ledger, OpenError, Redactor, read, verify};

use crate::sample;

#[test]
fn cut_at_every_byte_it_is_a_torn_tail_and_carries_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("whole.jsonl");
    sample::write(&path);
    let bytes = std::fs::read(&path).unwrap();
    for end in 0..=bytes.len() {
        let whole = bytes[..end].iter().filter(|byte| **byte == b'\n').count();
        let tail = end
            - bytes[..end]
                .iter()
                .rposition(|byte| *byte == b'\n')
                .map_or(0, |at| at + 1);
        let report = verify(&bytes[..end]).unwrap();
        assert_eq!(report.fault, None, "cut at {end}");
        assert_eq!(
            (report.events, report.torn_bytes),
            (whole as u64, tail as u64)
        );

        // Opening it again is the same for every byte of a line: its edges and middle are enough.
        if tail > 2 && bytes.get(end + 1).is_some_and(|next| *next != b'\n') && end % 97 != 0 {
            continue;
        }
        let path = folder.path().join(format!("cut-{end}.jsonl"));
        std::fs::write(&path, &bytes[..end]).unwrap();
        let mut ledger =
            Ledger::reopen(&path, sample::RUN, Redactor::none(), sample::START).unwrap();
        ledger
            .append("notice", "carries on", sample::START)
            .unwrap();
        let events: Vec<_> = read(std::fs::File::open(&path).unwrap())
            .map(Result::unwrap)
            .collect();
        let opened = usize::from(whole == 0);
        let recovered = usize::from(tail > 0);
        assert_eq!(events.len(), whole + opened + recovered + 1);
        if tail > 0 {
            let event = &events[events.len() - 2];
            assert_eq!(event.kind, "ledger.recovered");
            assert_eq!(event.data["dropped_bytes"], tail);
        }
    }
}

#[test]
fn a_broken_chain_is_not_carried_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    sample::write(&path);
    let broken = std::fs::read_to_string(&path)
        .unwrap()
        .replacen("Landlock", "landlock", 1);
    std::fs::write(&path, &broken).unwrap();
    let error = Ledger::reopen(&path, sample::RUN, Redactor::none(), sample::START).unwrap_err();
    assert!(
        matches!(error, OpenError::Broken(fault) if fault.line == 4),
        "{error}"
    );
    assert_eq!(
        std::fs::read_to_string(&path).unwrap(),
        broken,
        "left as it was"
    );
}

#[test]
fn another_runs_ledger_is_not_carried_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    sample::write(&path);
    let error = Ledger::reopen(&path, "other", Redactor::none(), sample::START).unwrap_err();
    assert!(matches!(error, OpenError::OtherRun));
}

/// A real SIGKILL in the middle of writing.
#[test]
fn killed_while_writing_the_chain_holds() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    let mut writer = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::writes_until_killed", "--ignored"])
        .env("LEDGER_PATH", &path)
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while std::fs::metadata(&path).map_or(0, |data| data.len()) < 300_000 {
        assert!(Instant::now() < deadline, "the writer doesn't write");
        std::thread::yield_now();
    }
    writer.kill().unwrap();
    writer.wait().unwrap();
    let report = verify(std::fs::File::open(&path).unwrap()).unwrap();
    assert_eq!(report.fault, None);
    assert!(report.events > 2);
    Ledger::reopen(&path, sample::RUN, Redactor::none(), sample::START).unwrap();
}

/// The role of the process that is killed; not a test of its own.
#[test]
#[ignore = "runs as a child of killed_while_writing_the_chain_holds"]
fn writes_until_killed() {
    let path = std::env::var_os("LEDGER_PATH").unwrap();
    let mut ledger = Ledger::create(
        Path::new(&path),
        sample::RUN,
        Redactor::none(),
        sample::START,
    )
    .unwrap();
    loop {
        ledger
            .append("notice", "x".repeat(5000), sample::START)
            .unwrap();
    }
}
