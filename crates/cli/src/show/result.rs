//! A result: status, summary, evidence, refusals, warnings, and what was used.

use deputize_agent::{RunResult, Status};
use deputize_authority::{Dimension, escape};

use super::text::{cut, one_line, wrap};
use crate::output::{colours, width};

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
