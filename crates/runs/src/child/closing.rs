//! What is left to do when the loop has ended: transcript, receipt, result.

use std::time::Instant;

use deputize_agent::{RunResult, State};
use deputize_ledger::{Asked, Ledger, Receipt, RunFinished};
use deputize_workspace::{CopyKind, RelPath};

use super::Child;
use super::ground::RunCopy;
use crate::clock::{millis, wall_ms};
use crate::{RunError, RunFolder, record};

/// Characters of a summary that the ledger keeps.
const SUMMARY: usize = 280;

/// What is left to do when the loop has ended.
pub(super) struct Last<'a> {
    pub(super) child: &'a Child,
    pub(super) folder: &'a RunFolder,
    pub(super) ledger: Ledger,
    pub(super) ledger_broken: Option<String>,
    pub(super) begun: Instant,
}

impl Last<'_> {
    pub(super) fn keep_transcript(&self, state: &State, result: &mut RunResult) {
        let text = serde_json::to_string(state.messages()).unwrap_or_default();
        let text = self.ledger.redactor().redact(&text);
        if let Err(error) = self.folder.write("transcript.json", text.as_bytes()) {
            result.warnings.push(format!(
                "transcript: it couldn't be kept: {}",
                error.refusal().reason
            ));
        }
    }

    /// Lists what the run left in its copy, or in the folder itself where it wrote to that. What holds
    /// nothing to apply or to undo is removed.
    pub(super) async fn see_changes(&mut self, copy: &RunCopy, result: &mut RunResult) {
        let is_direct = copy.record().kind == CopyKind::Snapshot;
        let manifest = match is_direct {
            true => copy.seal().await.map(|sealed| {
                result.warnings.extend(unkept(&sealed.unkept));
                sealed.manifest
            }),
            false => copy.changes().await,
        };
        let manifest = match manifest {
            Ok(manifest) => manifest,
            Err(error) => {
                let why = error.refusal().reason;
                let what = match is_direct {
                    true => "what they are isn't known yet, and `deputize undo` looks again",
                    false => "the copy can't be read, and is kept",
                };
                result.warnings.push(format!("changes: {what}: {why}"));
                return;
            }
        };
        if manifest.is_empty() {
            if let Err(error) = copy.remove().await {
                let why = error.refusal().reason;
                result
                    .warnings
                    .push(format!("changes: the empty copy can't be removed: {why}"));
            }
            return;
        }
        let mut observed = record::changes(&manifest);
        result.changes = std::mem::take(&mut observed.listed);
        let beyond = observed.count.saturating_sub(result.changes.len());
        if beyond > 0 {
            result
                .warnings
                .push(format!("changes: {beyond} more are in `deputize diff`"));
        }
        self.write(&observed.record);
    }

    fn write<R: deputize_ledger::Record>(&mut self, record: &R) {
        if self.ledger_broken.is_none()
            && let Err(error) = self.ledger.record(record, wall_ms())
        {
            self.ledger_broken = Some(RunError::Ledger(error).refusal().reason);
        }
    }

    /// Completes the result with its receipt, and writes both down. What can't be written is said
    /// in the result, which the caller has in any case.
    pub(super) fn finish(&mut self, result: &mut RunResult, enforced: deputize_ledger::Enforced) {
        let grant = &self.child.granted.grant;
        let finished = RunFinished {
            status: result.status.name().to_owned(),
            summary: result.summary.preview(SUMMARY),
            evidence: u64::try_from(result.evidence.len()).unwrap_or(u64::MAX),
            warnings: u64::try_from(result.warnings.len()).unwrap_or(u64::MAX),
            usage: serde_json::to_value(&result.usage).unwrap_or_default(),
            ms: millis(self.begun),
        };
        self.write(&finished);
        if let Some(why) = &self.ledger_broken {
            result
                .warnings
                .push(format!("ledger: it is whole but incomplete: {why}"));
        }
        let request = &self.child.request;
        result.receipt = Some(Receipt {
            run: self.child.id.to_string(),
            asked: Asked {
                preset: request.run.preset.clone(),
                agent: request.run.agent.clone().unwrap_or_default(),
                context: request
                    .run
                    .context
                    .clone()
                    .unwrap_or_else(|| "independent".to_owned()),
                model: request.model.name.clone().unwrap_or_default(),
                workdir: request
                    .workdir
                    .as_ref()
                    .unwrap_or(&self.child.look.caller)
                    .display()
                    .to_string(),
                budget: request
                    .run
                    .budget
                    .iter()
                    .map(|(dimension, limit)| deputize_ledger::Limit {
                        dimension: dimension.name().to_owned(),
                        limit: *limit,
                    })
                    .collect(),
            },
            granted: record::granted(grant),
            enforced,
            used: record::used(&result.usage),
            ledger: Some(self.ledger.head()),
        });
        let json = serde_json::to_string_pretty(result).unwrap_or_default();
        let json = self.ledger.redactor().redact(&json);
        if let Err(error) = self.folder.write("result.json", json.as_bytes()) {
            let why = error.refusal().reason;
            result.warnings.push(format!(
                "result: it couldn't be kept, this is its only copy: {why}"
            ));
        }
    }
}

/// Paths that are named in a warning.
const NAMED: usize = 8;

/// Says what an undo won't bring back.
fn unkept(paths: &[RelPath]) -> Option<String> {
    let more = paths.len().saturating_sub(NAMED);
    let mut named: Vec<String> = paths.iter().take(NAMED).map(RelPath::text).collect();
    if more > 0 {
        named.push(format!("{more} more"));
    }
    (!paths.is_empty()).then(|| {
        format!(
            "changes: these weren't kept (ignored, or not to be read), so no undo brings them back: {}",
            named.join(", ")
        )
    })
}
