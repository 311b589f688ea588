//! The spawn card: every reason why a child needs a person's yes, together, as one question (S3).

use crate::Planned;
use deputize_authority::Answer;

use super::facts::{self, Row};
use super::text::wrap;

/// The column at which a row's text begins.
const INDENT: &str = "             ";

/// The card, for a screen of so many columns. The question comes after it.
#[must_use]
pub fn card(planned: &Planned<'_>, width: usize) -> String {
    let mut out = "A child needs your yes before it starts.\n\n".to_owned();
    let rows = facts::who(planned)
        .into_iter()
        .chain(facts::rights(planned.grant))
        .chain(facts::around(planned))
        .chain([facts::at_most(planned)])
        .chain(boundary(planned))
        .chain(planned.notes.iter().map(|note| ("note", note.clone())));
    for row in rows {
        out.push_str(&lines(row, width));
    }
    let standings = planned.settled.standings();
    if standings
        .iter()
        .any(|standing| matches!(standing.answer, Answer::Covered { .. }))
    {
        out.push_str("\nYou agreed already:\n");
        for standing in standings {
            if let Answer::Covered { by } = &standing.answer {
                let said = format!("{}, by {by}", standing.ask.why);
                out.push_str(&lines((standing.ask.effect.name(), said), width));
            }
        }
    }
    out.push_str("\nYour yes covers, for this whole run, that it:\n");
    for ask in planned.settled.open() {
        out.push_str(&lines((ask.effect.name(), ask.why.clone()), width));
    }
    out.push('\n');
    out
}

/// The level that is planned, and what it does not promise.
fn boundary(planned: &Planned<'_>) -> Vec<Row> {
    let plan = planned.boundary;
    let absent = plan
        .promises
        .iter()
        .filter(|state| state.mechanism.is_none())
        .map(|state| match &state.limit {
            Some(why) => format!("{} ({why})", state.promise),
            None => state.promise.to_string(),
        });
    vec![
        (
            "boundary",
            format!("{} (planned; proven when it starts)", plan.level),
        ),
        ("unpromised", facts::listed(absent)),
    ]
}

/// A row, wrapped below its own text.
fn lines((name, text): Row, width: usize) -> String {
    let wrapped = wrap(&text, width, INDENT);
    format!("  {name:<10} {}", wrapped.trim_start())
}
