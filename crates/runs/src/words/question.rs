//! A question about one call, as text: the runtime's words first, the child's after them.

use deputize_authority::escape;

use super::text::wrap;
use crate::CallQuestion;

/// The question with everything that a yes covers.
#[must_use]
pub fn call_question(question: &CallQuestion, width: usize) -> String {
    let run = question.run.get(question.run.len().saturating_sub(8)..);
    let run = escape(run.unwrap_or(&question.run));
    let mut out = format!(
        "Run {run} ({}) asks before its call #{}.\n",
        question.preset, question.call
    );
    let mut row = |name: &str, text: &str| {
        let lines = wrap(text, width, "           ");
        let first = lines.strip_prefix("           ").unwrap_or(&lines);
        out.push_str(&format!("  {name:<9}{first}"));
    };
    row("folder", &question.workdir.shown());
    row(
        "why",
        &question
            .reasons
            .iter()
            .map(|reason| escape(reason))
            .collect::<Vec<_>>()
            .join("; "),
    );
    row("rule", &question.rule);
    row("tool", &question.tool.preview(64));
    row("call", &question.arguments.shown());
    out
}
