//! A2: a full disk costs the event that didn't fit, never the chain.

use std::path::{Path, PathBuf};
use std::process::Command;

use deputize_ledger::{AppendError, Ledger, Redactor, verify};

use crate::sample;

fn child(shell: &str, folder: &Path) -> Command {
    let mut command = Command::new("sh");
    command
        .args(["-c", shell])
        .arg(std::env::current_exe().unwrap())
        .env("LEDGER_FOLDER", folder);
    command
}

/// A limit on the size of a file stands in for a disk that fills up, for any user.
#[test]
fn a_file_that_may_not_grow_keeps_a_valid_chain() {
    let folder = tempfile::tempdir().unwrap();
    let status = child(
        r#"trap "" XFSZ; ulimit -f 100; exec "$0" --exact disk::fills_up --ignored"#,
        folder.path(),
    )
    .status()
    .unwrap();
    assert!(status.success());
}

/// A real full file system, where this user may mount one.
#[test]
fn a_full_disk_keeps_a_valid_chain_and_is_written_again_once_there_is_room() {
    let can_mount = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "true"])
        .status()
        .is_ok_and(|status| status.success());
    if !can_mount {
        eprintln!("no mount namespace for this user: only the size limit was tried");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let status = child(
        r#"exec unshare --user --map-root-user --mount sh -c '
            mount -t tmpfs -o size=128k none "$LEDGER_FOLDER" || exit 9
            head -c 65536 /dev/zero > "$LEDGER_FOLDER/filler"
            exec "$0" --exact disk::fills_up --ignored' "$0""#,
        folder.path(),
    )
    .status()
    .unwrap();
    assert!(status.success());
}

/// The role of the process whose disk is full; not a test of its own.
#[test]
#[ignore = "runs as a child of the tests above"]
fn fills_up() {
    let folder = PathBuf::from(std::env::var_os("LEDGER_FOLDER").unwrap());
    let path = folder.join("ledger.jsonl");
    let mut ledger = Ledger::create(&path, sample::RUN, Redactor::none(), sample::START).unwrap();
    let mut written = 1;
    let error = loop {
        match ledger.append("notice", "x".repeat(3001), sample::START) {
            Ok(_) => written += 1,
            Err(error) => break error,
        }
        assert!(written < 10_000, "the disk never fills up");
    };
    assert!(
        matches!(error, AppendError::Short { .. } | AppendError::Write(_)),
        "{error}"
    );
    let intact = |events| {
        let report = verify(std::fs::File::open(&path).unwrap()).unwrap();
        assert_eq!(
            (report.fault, report.torn_bytes, report.events),
            (None, 0, events)
        );
    };
    intact(written);
    // A second try fails in the same way, and leaves as little behind.
    ledger
        .append("notice", "x".repeat(3001), sample::START)
        .unwrap_err();
    intact(written);
    if std::fs::remove_file(folder.join("filler")).is_ok() {
        ledger
            .append("notice", "x".repeat(3001), sample::START)
            .unwrap();
        intact(written + 1);
    }
}
