//! What is written down and handed over before a child starts.

use deputize_agent::{Brief, CallKind, OfferedTool};
use deputize_authority::{Approval, Tool};
use deputize_ledger::{Ledger, RunStarted};
use deputize_model::ToolSpec;

use super::Child;
use crate::clock::wall_ms;
use crate::{RunError, RunFolder, record};

impl Child {
    /// Opens the ledger and writes down what was granted, before anything starts.
    pub(super) fn open(
        &self,
        folder: &RunFolder,
        approvals: &[Approval],
    ) -> Result<Ledger, RunError> {
        let grant = &self.granted.grant;
        let (sealed, digest) = grant.seal();
        folder.write("grant.json", &sealed)?;
        let redactor = self.look.redactor()?;
        let mut ledger = Ledger::create(&folder.ledger(), self.id.as_str(), redactor, wall_ms())?;
        let started = RunStarted {
            run: self.id.to_string(),
            agent: String::new(),
            context: "independent".to_owned(),
            cwd: grant.workspace().path().display().to_string(),
            model: self.model.name().to_string(),
            preset: self.preset().name().to_owned(),
            tools: record::tools(grant),
            resources: record::word(&grant.bounds().resources),
            trust: record::TRUST_BUILT_IN.to_owned(),
            grant: digest.to_string(),
        };
        ledger.record(&started, wall_ms())?;
        ledger.record(&record::grant(grant), wall_ms())?;
        for approval in approvals {
            ledger.record(&record::approved(approval), wall_ms())?;
        }
        ledger.sync().map_err(|source| RunError::State {
            doing: "sync",
            path: folder.ledger(),
            source,
        })?;
        Ok(ledger)
    }

    pub(super) fn brief(&self) -> Brief {
        let grant = &self.granted.grant;
        let offered = Tool::ALL
            .into_iter()
            .filter(|tool| grant.bounds().tools.permits(tool))
            .filter_map(|tool| {
                let spec = deputize_gate::spec(tool)?;
                let spec = ToolSpec {
                    name: spec.name.to_owned(),
                    description: spec.description.to_owned(),
                    parameters: spec.parameters,
                };
                Some(OfferedTool {
                    spec,
                    kind: CallKind::of(tool),
                })
            });
        Brief {
            run: self.id.to_string(),
            prompt: self.granted.prompt.text().raw().to_owned(),
            workspace: grant.workspace().path().display().to_string(),
            workspace_mode: grant.workspace().mode,
            tools: offered.collect(),
            budget: grant.bounds().budget,
            price: self.model.price(),
            model: self.model.name().to_string(),
            model_label: self.model.label(),
            max_output_tokens: 8_192,
            definition: None,
            project: None,
            check: self.granted.check.clone(),
            schema: self.schema.clone(),
        }
    }
}
