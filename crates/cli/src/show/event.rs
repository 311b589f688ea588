//! Events of a ledger.

use deputize_authority::escape;
use serde_json::Value;

use deputize_runs::words::{cut, one_line};

/// One event of a ledger in one line.
pub(crate) fn event(at: &str, kind: &str, data: &Value, width: usize) -> String {
    let time: String = at.chars().skip(11).take(12).collect();
    let rest = match data {
        Value::Object(fields) => {
            let said = |value: &Value| !value.is_null() && value.as_str() != Some("");
            let (long, short): (Vec<_>, Vec<_>) = fields
                .iter()
                .filter(|(_, value)| said(value))
                .partition(|(_, value)| value.is_object() || value.is_array());
            // Short ones first: a verdict isn't pushed out of sight by what it is about.
            short
                .into_iter()
                .chain(long)
                .map(|(name, value)| format!("{name}={}", brief(value)))
                .collect::<Vec<_>>()
                .join(" ")
        }
        other => brief(other),
    };
    format!(
        "{}\n",
        cut(
            &format!("{time}  {:<14} {rest}", escape(kind)),
            width.max(60)
        )
    )
}

fn brief(value: &Value) -> String {
    match value {
        Value::String(text) => one_line(text),
        other => one_line(&other.to_string()),
    }
}
