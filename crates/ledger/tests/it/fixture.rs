//! A ledger of the first format, as it was written then. It must load and verify for ever: when this
//! fails, the format was changed, and every old ledger with it.

use deputize_ledger::{Anchor, Ledger, Redactor, read, verify_against};

use crate::sample;

const OLD: &[u8] = include_bytes!("fixtures/format-1.jsonl");
const HEAD: &str = include_str!("fixtures/format-1.head");

#[test]
fn an_old_ledger_loads_and_verifies() {
    let report = verify_against(OLD, &HEAD.trim().parse().unwrap()).unwrap();
    assert_eq!((report.fault, report.torn_bytes), (None, 0));
    assert_eq!(report.anchor, Some(Anchor::Holds));
    assert_eq!(read(OLD).filter(Result::is_ok).count(), 10);
}

/// Appending the same payloads at the same times gives the same bytes.
#[test]
fn the_same_events_are_still_spelled_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    let mut ledger = Ledger::create(&path, sample::RUN, Redactor::none(), sample::START).unwrap();
    for event in read(OLD).skip(1).map(Result::unwrap) {
        let at = sample::START + event.seq * 1000;
        ledger
            .append(String::leak(event.kind), event.data, at)
            .unwrap();
    }
    assert_eq!(ledger.head().to_string(), HEAD.trim());
    assert_eq!(std::fs::read(path).unwrap(), OLD);
}
