//! Our own corpus: lines from incidents, vulnerabilities and bug reports, each with its reason.

use deputize_shell::Answer;

use crate::{answer, own_corpus};

fn share(count: usize, of: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap()) / f64::from(u32::try_from(of).unwrap())
}

/// G5, G6: no line that must be denied is allowed, and 95 of 100 are denied outright.
#[test]
fn what_must_be_denied_is_denied() {
    let rows: Vec<_> = own_corpus()
        .into_iter()
        .filter(|row| row.1 == Answer::Deny)
        .collect();
    assert!(rows.len() > 200);
    let allowed: Vec<&str> = rows
        .iter()
        .filter(|row| answer(&row.0) == Answer::Allow)
        .map(|row| row.0.as_str())
        .collect();
    assert_eq!(allowed, [""; 0]);
    let denied = rows
        .iter()
        .filter(|row| answer(&row.0) == Answer::Deny)
        .count();
    assert!(
        share(denied, rows.len()) >= 0.95,
        "{denied} of {}",
        rows.len()
    );
}

/// G5: what can't be told is asked about.
#[test]
fn what_must_be_asked_about_is_not_allowed() {
    let rows: Vec<_> = own_corpus()
        .into_iter()
        .filter(|row| row.1 == Answer::Ask)
        .collect();
    let flagged = rows
        .iter()
        .filter(|row| answer(&row.0) != Answer::Allow)
        .count();
    assert!(
        share(flagged, rows.len()) >= 0.97,
        "{flagged} of {}",
        rows.len()
    );
}

/// G5: ordinary work is allowed, and a dangerous word inside text is no danger.
#[test]
fn ordinary_work_is_allowed() {
    let rows: Vec<_> = own_corpus()
        .into_iter()
        .filter(|row| row.1 == Answer::Allow)
        .collect();
    let stopped: Vec<_> = rows
        .iter()
        .filter(|row| answer(&row.0) != Answer::Allow)
        .collect();
    assert!(share(stopped.len(), rows.len()) <= 0.02, "{stopped:?}");
    let traps: Vec<_> = stopped.iter().filter(|row| row.2 == "fp-trap").collect();
    assert!(traps.is_empty(), "{traps:?}");
}
