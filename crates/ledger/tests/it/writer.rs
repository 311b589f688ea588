//! How the file is made and kept.

use std::os::unix::fs::{PermissionsExt as _, symlink};

use deputize_ledger::{AppendError, Ledger, MAX_LINE, OpenError, Redactor, verify};

use crate::sample::{self, RUN, START};

fn create(path: &std::path::Path) -> Result<Ledger, OpenError> {
    Ledger::create(path, RUN, Redactor::none(), START)
}

#[test]
fn the_file_is_private_new_and_not_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    let ledger = create(&path).unwrap();
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o177, 0, "{mode:o}");
    drop(ledger);
    assert!(matches!(create(&path), Err(OpenError::Exists)));
    assert_eq!(
        verify(std::fs::File::open(&path).unwrap()).unwrap().events,
        1,
        "left as it was"
    );

    let link = folder.path().join("link");
    symlink(folder.path().join("elsewhere"), &link).unwrap();
    assert!(create(&link).is_err());
    assert!(!folder.path().join("elsewhere").exists());
}

#[test]
fn one_process_writes_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    let ledger = create(&path).unwrap();
    let second = Ledger::reopen(&path, RUN, Redactor::none(), START);
    assert!(matches!(second, Err(OpenError::InUse)));
    drop(ledger);
    Ledger::reopen(&path, RUN, Redactor::none(), START).unwrap();
}

#[test]
fn a_refused_event_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    let mut ledger = create(&path).unwrap();
    let before = ledger.head();
    for kind in ["", "Upper", "with space", "quote\""] {
        assert!(matches!(
            ledger.append(kind, 1, START),
            Err(AppendError::Kind(_))
        ));
    }
    assert!(matches!(
        ledger.append("notice", 1, u64::MAX),
        Err(AppendError::Time(_))
    ));
    let unspeakable = std::collections::BTreeMap::from([((1, 2), 3)]);
    assert!(matches!(
        ledger.append("notice", unspeakable, START),
        Err(AppendError::Payload(_))
    ));
    assert_eq!(ledger.head(), before);
    for run in ["", "a b", &"x".repeat(129)] {
        let path = folder.path().join("other");
        let made = Ledger::create(&path, run, Redactor::none(), START);
        assert!(matches!(made, Err(OpenError::RunId)));
        assert!(!path.exists());
    }
}

/// A run's id that a secret happens to contain must not break the genesis.
#[test]
fn the_opening_is_never_redacted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    Ledger::create(&path, RUN, Redactor::new([RUN]).unwrap(), START).unwrap();
    assert!(
        verify(std::fs::File::open(&path).unwrap())
            .unwrap()
            .is_intact()
    );
}

#[test]
fn the_largest_event_fits_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    let mut ledger = create(&path).unwrap();
    // Just within the limit, far beyond it, and of characters that grow when they are escaped.
    for text in [
        "x".repeat(65_534),
        "x".repeat(1 << 22),
        "\u{1}".repeat(1 << 20),
    ] {
        ledger
            .append(
                "a.kind.of_just_the_longest_name.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                text,
                START,
            )
            .unwrap();
    }
    let report = verify(std::fs::File::open(&path).unwrap()).unwrap();
    assert_eq!((report.fault, report.events), (None, 4));
    let longest = std::fs::read_to_string(&path)
        .unwrap()
        .lines()
        .map(str::len)
        .max()
        .unwrap();
    assert!((65_536..=MAX_LINE).contains(&longest), "{longest}");
}

/// A2, A1: every kind reads back as it was written.
#[test]
fn typed_events_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    sample::write(&path);
    let events: Vec<_> = deputize_ledger::read(std::fs::File::open(&path).unwrap())
        .map(Result::unwrap)
        .collect();
    let kinds: Vec<&str> = events.iter().map(|event| event.kind.as_str()).collect();
    assert_eq!(
        kinds,
        [
            "ledger.opened",
            "run.started",
            "grant",
            "boundary",
            "model.turn",
            "call.decided",
            "call.finished",
            "notice",
            "custom.kind",
            "run.finished",
        ]
    );
    let decided: deputize_ledger::CallDecided =
        serde_json::from_value(events[5].data.clone()).unwrap();
    assert_eq!(decided.arguments["path"], "src/lib.rs\u{1b}[2J");
    assert_eq!(events[5].at, "2026-09-01T12:00:05.000Z");
}
