//! Results, plans and events as text for people. Foreign text is escaped here and nowhere else.

use deputize_agent::{RunResult, Status};
use deputize_authority::{Dimension, Grant, Set, Untrusted, escape};
use deputize_boundary::BoundaryPlan;
use deputize_runs::Planned;
use serde_json::{Value, json};

use crate::failure::Voice;
use crate::output::{colours, print, width};

/// Columns that a quote is set in by.
const INDENT: &str = "    ";

/// A result, for a terminal or a pipe.
pub(crate) fn result(result: &RunResult, receipt: bool) -> String {
    let width = width();
    let mut out = String::new();
    let label = result
        .model_label
        .notice()
        .map(|label| format!(" · {label}"))
        .unwrap_or_default();
    let head = format!("{}{label}", badge(result.status));
    out.push_str(&format!("{}\n\n", cut_coloured(&head, width)));
    out.push_str(&wrap(&result.summary.shown(), width, ""));
    if !result.evidence.is_empty() {
        out.push_str("\nEvidence (looked up: file, line and quote are there)\n");
        for piece in &result.evidence {
            let line = piece
                .line
                .map(|line| format!(":{line}"))
                .unwrap_or_default();
            out.push_str(&format!("  {}{line}\n", one_line(piece.path.raw())));
            if !piece.note.raw().is_empty() {
                out.push_str(&wrap(&piece.note.shown(), width, INDENT));
            }
            if let Some(quote) = &piece.quote {
                for line in quote.shown().lines() {
                    out.push_str(&format!("{}\n", cut(&format!("{INDENT}| {line}"), width)));
                }
            }
        }
    }
    if let Some(blocked) = &result.blocked {
        out.push_str(&wrap(
            &format!("\nRefused: {}", escape(&blocked.reason)),
            width,
            "",
        ));
        for refused in &blocked.details {
            let text = format!(
                "#{} {} by {}: {}",
                refused.call,
                refused.tool.preview(40),
                refused.rule,
                escape(&refused.message)
            );
            out.push_str(&wrap(&text, width, "  "));
        }
    }
    if !result.warnings.is_empty() {
        out.push_str("\nWarnings\n");
        for warning in &result.warnings {
            out.push_str(&wrap(&escape(warning), width, "  "));
        }
    }
    out.push('\n');
    out.push_str(&wrap(&used(result), width, ""));
    if let (true, Some(receipt)) = (receipt, &result.receipt) {
        out.push('\n');
        out.push_str(&receipt.text(width));
    }
    out
}

fn badge(status: Status) -> String {
    let (colour, word) = match status {
        Status::Ok => ("32", "ok"),
        Status::Blocked => ("33", "blocked"),
        Status::Error => ("31", "error"),
        Status::BudgetExhausted => ("33", "budget exhausted"),
        Status::Cancelled => ("33", "cancelled"),
    };
    if colours() {
        format!("\u{1b}[1;{colour}m{word}\u{1b}[0m")
    } else {
        word.to_owned()
    }
}

/// The last line: what was used, by what it was held, and where the record is.
fn used(result: &RunResult) -> String {
    let usage = &result.usage;
    let of = |used: u64, dimension| match usage.limits.limit(dimension) {
        Some(limit) => format!("{used}/{limit}"),
        None => used.to_string(),
    };
    let mut parts = vec![
        format!("turns {}", of(usage.turns, Dimension::Turns)),
        format!("calls {}", of(usage.tool_calls, Dimension::ToolCalls)),
    ];
    let tokens = usage.input_tokens + usage.output_tokens;
    if tokens > 0 {
        parts.push(format!("tokens {}", of(tokens, Dimension::Tokens)));
    }
    if let Some(cost) = usage.cost_micros.filter(|cost| *cost > 0) {
        parts.push(format!(
            "${}.{:04}",
            cost / 1_000_000,
            cost % 1_000_000 / 100
        ));
    }
    parts.push(format!(
        "{}.{} s",
        usage.wall_ms / 1000,
        usage.wall_ms % 1000 / 100
    ));
    if let Some(receipt) = &result.receipt {
        parts.push(format!("boundary {}", receipt.enforced.level));
        let short = receipt
            .run
            .get(receipt.run.len().saturating_sub(8)..)
            .unwrap_or(&receipt.run);
        parts.push(format!("run {short}"));
    }
    parts.join(" · ")
}

/// What a dry run of a child would do.
pub(crate) fn plan(planned: &Planned<'_>, voice: Voice) {
    let grant = planned.grant;
    if voice == Voice::Json {
        let object = json!({
            "status": "planned",
            "grant": grant,
            "digest": grant.digest(),
            "model": planned.model,
            "model_label": planned.label,
            "boundary": { "level": planned.boundary.level, "promises": planned.boundary.promises },
            "notes": planned.notes,
            "question": null,
        });
        print(&format!("{object:#}\n"));
        return;
    }
    let label = planned
        .label
        .map(|label| format!(" ({label})"))
        .unwrap_or_default();
    let mut out = format!(
        "Would start a child; nothing was started.\n  model     {}{label}\n",
        planned.model
    );
    out.push_str(&grant_text(grant));
    out.push_str(&boundary_text(planned.boundary));
    for note in planned.notes {
        out.push_str(&format!("  note      {note}\n"));
    }
    out.push_str("  question  none: nothing leaves the grant\n");
    print(&out);
}

/// What a dry run of a command would do.
pub(crate) fn exec_plan(grant: &Grant, plan: &BoundaryPlan, voice: Voice) {
    if voice == Voice::Json {
        let object = json!({
            "status": "planned",
            "grant": grant,
            "digest": grant.digest(),
            "boundary": { "level": plan.level, "promises": plan.promises, "environment": names(plan) },
        });
        print(&format!("{object:#}\n"));
        return;
    }
    let mut out = "Would run the command; nothing was run.\n".to_owned();
    out.push_str(&grant_text(grant));
    out.push_str(&format!("  env       {}\n", names(plan).join(", ")));
    out.push_str(&boundary_text(plan));
    print(&out);
}

fn names(plan: &BoundaryPlan) -> Vec<&str> {
    plan.environment
        .iter()
        .map(|(name, _)| name.as_str())
        .collect()
}

fn grant_text(grant: &Grant) -> String {
    let bounds = grant.bounds();
    let mut out = format!(
        "  preset    {} (mode {})\n  folder    {}\n",
        grant.preset(),
        grant.mode().name(),
        one_line(&grant.workspace().path().to_string_lossy())
    );
    let roots = |set: &Set<deputize_authority::Root>| -> Vec<String> {
        set.items()
            .map(|root| one_line(&root.path().to_string_lossy()))
            .collect()
    };
    let tools = bounds
        .tools
        .items()
        .map(|tool| tool.name().to_owned())
        .collect();
    let limits = Dimension::ALL
        .into_iter()
        .filter_map(|dimension| Some(format!("{dimension} {}", bounds.budget.limit(dimension)?)))
        .collect();
    let hosts = bounds.hosts.items().map(|host| host.0.clone()).collect();
    let rows: [(&str, Vec<String>); 5] = [
        ("tools", tools),
        ("reads", roots(&bounds.read)),
        ("writes", roots(&bounds.write)),
        ("hosts", hosts),
        ("budget", limits),
    ];
    for (name, values) in rows {
        let values = if values.is_empty() {
            "none".to_owned()
        } else {
            values.join(", ")
        };
        out.push_str(&format!("  {name:<9} {values}\n"));
    }
    out.push_str(&format!("  digest    {}\n", grant.digest()));
    out
}

fn boundary_text(plan: &BoundaryPlan) -> String {
    let mut out = format!(
        "  boundary  {} (planned; proven when it starts)\n",
        plan.level
    );
    for state in &plan.promises {
        let how = match (&state.mechanism, &state.limit) {
            (Some(mechanism), None) => mechanism.how.clone(),
            (Some(mechanism), Some(limit)) => format!("{} ({limit})", mechanism.how),
            (None, limit) => format!("NOT PROMISED: {}", limit.clone().unwrap_or_default()),
        };
        out.push_str(&format!("    {:<16} {how}\n", state.promise.name()));
    }
    out
}

/// One event of a ledger in one line.
pub(crate) fn event(at: &str, kind: &str, data: &Value, width: usize) -> String {
    let time: String = at.chars().skip(11).take(12).collect();
    let rest = match data {
        Value::Object(fields) => fields
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| format!("{name}={}", brief(value)))
            .collect::<Vec<_>>()
            .join(" "),
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

/// Foreign text in one line.
fn one_line(text: &str) -> String {
    Untrusted::new(text).preview(400)
}

/// The beginning of a line that fits so many columns; `…` where something was left out.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    if text.chars().count() <= columns {
        return text.to_owned();
    }
    text.chars()
        .take(columns.saturating_sub(1))
        .chain(['…'])
        .collect()
}

/// As [`cut`], for a line whose colours count no columns; those of a narrow terminal are dropped.
fn cut_coloured(text: &str, columns: usize) -> String {
    if !text.contains('\u{1b}') || text.chars().count() <= columns + 11 {
        return if text.contains('\u{1b}') {
            text.to_owned()
        } else {
            cut(text, columns)
        };
    }
    let plain: String = text.replace("\u{1b}[0m", "");
    let plain = plain
        .split_once('m')
        .map_or(plain.as_str(), |(_, rest)| rest)
        .to_owned();
    cut(&plain, columns)
}

/// Wraps escaped text at spaces; every line begins with `indent` and ends with a break.
fn wrap(text: &str, columns: usize, indent: &str) -> String {
    let room = columns.saturating_sub(indent.len()).max(12);
    let mut out = String::new();
    for line in text.lines() {
        let mut current = String::new();
        let mut used = 0;
        for word in line.split_inclusive(' ') {
            let length = word.trim_end().chars().count();
            if used > 0 && used + length > room {
                out.push_str(&format!("{indent}{}\n", current.trim_end()));
                current.clear();
                used = 0;
            }
            current.push_str(word);
            used += word.chars().count();
        }
        out.push_str(&format!("{indent}{}\n", current.trim_end()));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_fit_narrow_terminals() {
        assert_eq!(cut("abcdef", 4), "abc…");
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(
            wrap("one two three four", 14, "  "),
            "  one two\n  three four\n"
        );
        // A word that is longer than a line stays whole: paths can be copied.
        assert_eq!(
            wrap("a/very/long/path/name x", 12, ""),
            "a/very/long/path/name\nx\n"
        );
    }
}
