//! A result: status, summary, evidence, refusals, warnings, and what was used.

use deputize_agent::{Change, ChangeKind, Check, CheckOutcome, RunResult, Status};
use deputize_authority::{Dimension, WorkspaceMode, escape, escape_json};

use crate::output::{colours, width};
use deputize_runs::words::{Repositories, cut, one_line, wrap};

/// Columns that a quote is set in by.
const INDENT: &str = "    ";

/// Changed files that are listed; all of them are in the copy, and in the JSON.
const LISTED_CHANGES: usize = 40;

/// Lines of a check's output that are shown, of its end.
const CHECK_LINES: usize = 12;

/// A result, for a terminal or a pipe. `mode` says where the child's writes went.
pub(crate) fn result(result: &RunResult, mode: WorkspaceMode, receipt: bool) -> String {
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
    if let Some(answer) = &result.answer {
        // A value always has a text; were it to have none, none is shown.
        let json = serde_json::to_string_pretty(answer).unwrap_or_default();
        out.push_str(&format!(
            "\nAnswer (valid by the schema)\n{}\n",
            escape_json(&json)
        ));
    }
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
    out.push_str(&checks(&result.checks, width));
    out.push_str(&changes(result, mode, width));
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

/// Every round of the check; what it wrote where it didn't pass.
fn checks(checks: &[Check], width: usize) -> String {
    let mut out = String::new();
    if !checks.is_empty() {
        out.push_str("\nChecks (run by the runtime)\n");
    }
    for check in checks {
        let how = match check.outcome {
            CheckOutcome::Passed => "passed".to_owned(),
            CheckOutcome::Failed(code) => format!("FAILED with code {code}"),
            CheckOutcome::NotRun => "NOT RUN".to_owned(),
        };
        out.push_str(&wrap(
            &format!("{how}: {}", escape(&check.command)),
            width,
            "  ",
        ));
        if check.outcome == CheckOutcome::Passed {
            continue;
        }
        let shown = check.output.shown();
        let lines: Vec<&str> = shown.lines().collect();
        for line in lines.iter().skip(lines.len().saturating_sub(CHECK_LINES)) {
            out.push_str(&format!("{}\n", cut(&format!("{INDENT}| {line}"), width)));
        }
    }
    out
}

/// The files that changed, and what can be done about them.
fn changes(result: &RunResult, mode: WorkspaceMode, width: usize) -> String {
    if result.changes.is_empty() {
        return String::new();
    }
    let place = match mode {
        WorkspaceMode::Direct => "in the folder itself",
        WorkspaceMode::CopyOnWrite | WorkspaceMode::Worktree => "in a copy",
    };
    let count = match result.changes.len() {
        1 => "1 file".to_owned(),
        count => format!("{count} files"),
    };
    let mut out = format!("\nChanges (observed): {count}, {place}\n");
    let mut repositories = match mode {
        WorkspaceMode::Direct => Repositories::in_folder(),
        WorkspaceMode::CopyOnWrite | WorkspaceMode::Worktree => Repositories::default(),
    };
    let mut listed: Vec<&Change> = result.changes.iter().collect();
    listed.retain(|change| {
        let is_told = change.kept_back.is_none() && mode.is_copy();
        is_told || !repositories.take(&one_line(change.path.raw()))
    });
    for change in listed.iter().take(LISTED_CHANGES) {
        let sign = match change.kind {
            ChangeKind::Created => '+',
            ChangeKind::Modified => '~',
            ChangeKind::Deleted => '-',
        };
        let path = one_line(change.path.raw());
        out.push_str(&format!("{}\n", cut(&format!("  {sign} {path}"), width)));
        if let Some(why) = &change.kept_back {
            let why = format!("not applied with the others: {}", escape(why));
            out.push_str(&wrap(&why, width, "      "));
        }
    }
    if listed.len() > LISTED_CHANGES {
        let more = listed.len() - LISTED_CHANGES;
        out.push_str(&format!("  … and {more} more\n"));
    }
    for line in repositories.lines() {
        out.push_str(&format!("{}\n", cut(&format!("  ~ {line}"), width)));
    }
    let run = escape(short(&result.run));
    let next = match mode.is_copy() {
        true => format!(
            "Look: `deputize diff {run}`. Take over: `deputize apply {run}`. Throw away: `deputize \
             discard {run}`."
        ),
        false => format!("Look: `deputize diff {run}`. Take back: `deputize undo {run}`."),
    };
    out.push_str(&wrap(&next, width, "  "));
    out
}

/// The end of a run's id, which names it.
fn short(run: &str) -> &str {
    run.get(run.len().saturating_sub(8)..).unwrap_or(run)
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
    if usage.commands > 0 {
        parts.push(format!(
            "commands {}",
            of(usage.commands, Dimension::Commands)
        ));
    }
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
        parts.push(format!("run {}", short(&receipt.run)));
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

#[cfg(test)]
mod tests {
    use super::*;
    use deputize_agent::{Change, Spent};
    use deputize_authority::Untrusted;
    use deputize_model::ModelLabel;

    fn changed() -> RunResult {
        let change = |path: &str, kind| Change {
            path: Untrusted::new(path),
            kind,
            kept_back: (path == "gone").then(|| "protected\u{7}".to_owned()),
        };
        let check = |outcome, output: &str| Check {
            command: "make\u{1b} test".to_owned(),
            outcome,
            output: Untrusted::new(output),
        };
        RunResult {
            run: "0190-aaaabbbb".to_owned(),
            status: Status::Error,
            model: "script".to_owned(),
            model_label: ModelLabel::Scripted,
            summary: Untrusted::new("Done."),
            answer: Some(serde_json::json!({"name": "\u{202e}x"})),
            evidence: Vec::new(),
            warnings: Vec::new(),
            blocked: None,
            usage: Spent::default(),
            changes: vec![
                change("new.rs", ChangeKind::Created),
                change("a\u{1b}[2J\nb", ChangeKind::Modified),
                change("gone", ChangeKind::Deleted),
            ],
            checks: vec![
                check(CheckOutcome::Failed(2), "early\n1 failed\u{7}\n"),
                check(CheckOutcome::NotRun, "no time"),
                check(CheckOutcome::Passed, "quiet"),
            ],
            receipt: None,
        }
    }

    /// D2, C2: checks with what they wrote, changes with what can be done about them, the answer;
    /// nothing in them steers a terminal.
    #[test]
    fn checks_changes_and_the_answer_are_shown() {
        let shown = result(&changed(), WorkspaceMode::CopyOnWrite, false);
        insta::assert_snapshot!(shown, @r#"
        error · scripted, no language model

        Done.

        Answer (valid by the schema)
        {
          "name": "\u202ex"
        }

        Checks (run by the runtime)
          FAILED with code 2: make\u{1b} test
            | early
            | 1 failed\u{7}
          NOT RUN: make\u{1b} test
            | no time
          passed: make\u{1b} test

        Changes (observed): 3 files, in a copy
          + new.rs
          ~ a\u{1b}[2J b
          - gone
              not applied with the others: protected\u{7}
          Look: `deputize diff aaaabbbb`. Take over: `deputize apply aaaabbbb`. Throw
          away: `deputize discard aaaabbbb`.

        turns 0 · calls 0 · 0.0 s
        "#);
    }

    #[test]
    fn changes_in_the_folder_itself_have_nothing_to_apply() {
        let shown = result(&changed(), WorkspaceMode::Direct, false);
        assert!(shown.contains("3 files, in the folder itself"), "{shown}");
        assert!(!shown.contains("deputize apply"), "{shown}");
    }

    #[test]
    fn many_changes_are_counted() {
        let mut many = changed();
        many.changes = vec![many.changes[0].clone(); LISTED_CHANGES + 2];
        let shown = result(&many, WorkspaceMode::CopyOnWrite, false);
        assert!(
            shown.contains("42 files") && shown.contains("… and 2 more"),
            "{shown}"
        );
        assert_eq!(shown.matches("+ new.rs").count(), LISTED_CHANGES);
    }
}
