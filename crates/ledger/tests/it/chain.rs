//! A2: the laws of the chain.

use std::io::Write as _;
use std::process::{Command, Stdio};

use deputize_ledger::{
    Anchor, Head, MAX_LINE, Redactor, Report, What, canonical, read, verify, verify_against,
};
use proptest::prelude::*;
use serde_json::Value;

use crate::sample;

fn sample() -> (Vec<u8>, Head) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    let head = sample::write(&path);
    (std::fs::read(path).unwrap(), head)
}

fn check(bytes: &[u8]) -> Report {
    verify(bytes).unwrap()
}

fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n').collect()
}

#[test]
fn an_untouched_ledger_holds() {
    let (bytes, head) = sample();
    let report = check(&bytes);
    assert!(report.is_intact());
    assert_eq!(report.run.as_deref(), Some(sample::RUN));
    assert_eq!(report.events, 10);
    assert_eq!(report.head, Some(head));
    assert_eq!(report.torn_bytes, 0);
    assert!(report.text().contains("not a rewrite by the same user"));
}

proptest! {
    /// Any change of any byte breaks the chain at or before the line it is in, or makes a torn tail
    /// of the last line.
    #[test]
    fn a_changed_byte_is_found(place: prop::sample::Index, change in 1_u8..) {
        let (mut bytes, head) = sample();
        let place = place.index(bytes.len());
        let line = bytes[..place].iter().filter(|byte| **byte == b'\n').count() as u64;
        bytes[place] ^= change;
        let report = check(&bytes);
        let tail_is_torn = report.torn_bytes > 0 && report.head != Some(head);
        prop_assert!(report.fault.is_some() || tail_is_torn, "{report:?}");
        prop_assert!(report.events <= line);
    }

    #[test]
    fn an_inserted_byte_is_found(place: prop::sample::Index, byte: u8) {
        let (mut bytes, head) = sample();
        let place = place.index(bytes.len() + 1);
        bytes.insert(place, byte);
        let report = check(&bytes);
        // After the last line break it is a tail of one byte, and the chain is whole.
        let is_tail = place + 1 == bytes.len() && byte != b'\n';
        prop_assert_eq!(report.fault.is_none() && report.head == Some(head), is_tail);
    }

    #[test]
    fn a_removed_byte_is_found(place: prop::sample::Index) {
        let (mut bytes, head) = sample();
        bytes.remove(place.index(bytes.len()));
        let report = check(&bytes);
        prop_assert!(report.fault.is_some() || report.head != Some(head));
    }

    #[test]
    fn a_dropped_line_is_found(at in 0_usize..9) {
        let (bytes, _) = sample();
        let mut lines = lines(&bytes);
        lines.remove(at);
        let fault = check(&lines.concat()).fault.unwrap();
        prop_assert_eq!(fault.line, at as u64 + 1);
        prop_assert_eq!(fault.what, if at == 0 { What::Opening } else { What::Seq });
    }

    #[test]
    fn a_doubled_line_is_found(at in 0_usize..10) {
        let (bytes, _) = sample();
        let mut lines = lines(&bytes);
        lines.insert(at, lines[at]);
        let fault = check(&lines.concat()).fault.unwrap();
        prop_assert_eq!((fault.line, fault.what), (at as u64 + 2, What::Seq));
    }

    #[test]
    fn swapped_lines_are_found(one in 0_usize..10, other in 0_usize..10) {
        prop_assume!(one < other);
        let (bytes, _) = sample();
        let mut lines = lines(&bytes);
        lines.swap(one, other);
        prop_assert_eq!(check(&lines.concat()).fault.unwrap().line, one as u64 + 1);
    }

    /// Hostile bytes never panic, and never pass.
    #[test]
    fn noise_never_passes(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        let report = check(&bytes);
        prop_assert_eq!(report.events, 0);
        prop_assert_eq!(report.fault.is_some(), bytes.contains(&b'\n'));
    }

    /// Two payloads that differ only in the order of their keys are one.
    #[test]
    fn key_order_does_not_matter(fields in prop::collection::btree_map("[a-c\u{e9}]{0,3}", 0_u8.., 0..8)) {
        let spelled = |pairs: Vec<(&String, &u8)>| {
            let inner: Vec<String> = pairs
                .iter()
                .map(|(key, value)| format!("{}:{value}", Value::from(key.as_str())))
                .collect();
            canonical(&serde_json::from_str(&format!("{{{}}}", inner.join(","))).unwrap())
        };
        let forward = spelled(fields.iter().collect());
        let backward = spelled(fields.iter().rev().collect());
        prop_assert_eq!(forward, backward);
    }
}

#[test]
fn a_head_from_elsewhere_shows_a_cut_and_a_rewrite() {
    let (bytes, head) = sample();
    let whole = verify_against(&bytes[..], &head).unwrap();
    assert_eq!(whole.anchor, Some(Anchor::Holds));

    let lines = lines(&bytes);
    let cut = verify_against(&lines[..7].concat()[..], &head).unwrap();
    assert!(cut.fault.is_none(), "the chain alone can't show a cut");
    assert_eq!(cut.anchor, Some(Anchor::Missing));
    assert!(!cut.is_intact());
    assert!(cut.text().contains("CUT"));

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("forged.jsonl");
    let mut forged =
        deputize_ledger::Ledger::create(&path, sample::RUN, Redactor::none(), sample::START)
            .unwrap();
    for _ in 0..9 {
        forged
            .append("notice", "nothing to see", sample::START)
            .unwrap();
    }
    let report = verify_against(std::fs::File::open(path).unwrap(), &head).unwrap();
    assert!(
        report.fault.is_none(),
        "whoever can write can write a new chain"
    );
    assert_eq!(
        report.anchor,
        Some(Anchor::Differs {
            found: forged.head()
        })
    );
    assert!(report.text().contains("REWRITTEN"));
}

#[test]
fn a_line_without_end_is_refused_in_bounded_memory() {
    let endless = std::io::Read::take(std::io::repeat(b'x'), 1 << 24);
    let report = verify(endless).unwrap();
    assert_eq!(report.fault.unwrap().what, What::TooLong);
    assert!(
        read(&vec![b'x'; MAX_LINE][..]).next().is_none(),
        "this one is a torn tail"
    );
}

/// The module's recipe for a check without this program.
#[test]
fn sha256sum_agrees() {
    let (bytes, _) = sample();
    let events: Vec<_> = read(&bytes[..]).map(Result::unwrap).collect();
    for (event, number) in events.iter().zip(1..) {
        let script = format!(
            "sed -n {number}p | sed -E 's/,\"hash\":\"[0-9a-f]{{64}}\"\\}}$/}}/' | tr -d '\\n' | sha256sum"
        );
        let mut shell = Command::new("sh")
            .args(["-c", &script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        shell.stdin.take().unwrap().write_all(&bytes).unwrap();
        let said = String::from_utf8(shell.wait_with_output().unwrap().stdout).unwrap();
        assert_eq!(
            said.split(' ').next(),
            Some(&*event.hash.to_string()),
            "line {number}"
        );
    }
}
