//! Plays a script.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::script::{Expect, Script, ScriptedTurn};
use crate::{
    Message, ModelClient, ModelError, ModelLabel, ModelName, Price, Stop, ToolUse, Turn,
    TurnFuture, TurnRequest, UsageSource, Watch,
};

/// Waits. The edge gives it, so that this room needs neither a clock nor an executor, and tests can
/// wait without waiting.
pub trait Sleeper: Send + Sync {
    /// Ends after that many milliseconds.
    fn sleep(&self, millis: u64) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

/// A model that plays a script from its first turn to its last. One client serves one run.
///
/// The request is looked at for `expect` alone: tools are asked for even in a tool-less turn, as a
/// misbehaving model would.
pub struct ScriptedModel {
    name: ModelName,
    script: Script,
    sleeper: Arc<dyn Sleeper>,
    served: AtomicUsize,
}

impl ScriptedModel {
    /// Makes a model that will play `script`.
    #[must_use]
    pub fn new(name: ModelName, script: Script, sleeper: Arc<dyn Sleeper>) -> Self {
        Self {
            name,
            script,
            sleeper,
            served: AtomicUsize::new(0),
        }
    }

    fn play(
        &self,
        index: usize,
        request: &TurnRequest,
    ) -> Result<(&ScriptedTurn, Turn), ModelError> {
        let turns = &self.script.turns;
        let last = turns.last().filter(|_| self.script.repeat_last);
        let scripted = turns
            .get(index)
            .or(last)
            .ok_or(ModelError::ScriptEnded { turns: turns.len() })?;
        check(&scripted.expect, index + 1, &request.messages)?;
        let calls: Vec<ToolUse> = (1..)
            .zip(&scripted.calls)
            .map(|(number, call)| ToolUse {
                id: call
                    .id
                    .clone()
                    .unwrap_or_else(|| format!("script-{}-{number}", index + 1)),
                name: call.name.clone(),
                arguments: call.arguments.clone(),
            })
            .collect();
        let stop = scripted.stop.unwrap_or(if calls.is_empty() {
            Stop::Finished
        } else {
            Stop::ToolCalls
        });
        let turn = Turn {
            text: scripted.text.clone(),
            calls,
            usage: scripted.usage,
            model: self.name.to_string(),
            stop,
            opaque: None,
            usage_source: UsageSource::Reported,
            cost_micros: None,
            price: self.script.price,
        };
        Ok((scripted, turn))
    }
}

impl ModelClient for ScriptedModel {
    fn name(&self) -> &ModelName {
        &self.name
    }

    fn label(&self) -> ModelLabel {
        ModelLabel::Scripted
    }

    fn price(&self) -> Option<Price> {
        self.script.price
    }

    fn turn<'a>(&'a self, request: &'a TurnRequest, _: &'a dyn Watch) -> TurnFuture<'a> {
        Box::pin(async move {
            let index = self.served.fetch_add(1, Ordering::Relaxed);
            let (scripted, turn) = self.play(index, request)?;
            if scripted.delay_ms > 0 {
                self.sleeper.sleep(scripted.delay_ms).await;
            }
            match &scripted.error {
                Some(error) => Err(error.into()),
                None => Ok(turn),
            }
        })
    }
}

/// Compares the tool results since the last turn with what the script expects of them.
fn check(expect: &Expect, turn: usize, messages: &[Message]) -> Result<(), ModelError> {
    let results: Vec<&str> = messages
        .iter()
        .rev()
        .take_while(|message| !matches!(message, Message::Assistant { .. }))
        .filter_map(|message| match message {
            Message::ToolResult { content, .. } => Some(content.as_str()),
            _ => None,
        })
        .collect();
    let stands = |text: &String| results.iter().any(|result| result.contains(text.as_str()));
    if let Some(text) = expect.contains.iter().find(|text| !stands(text)) {
        return Err(ModelError::ScriptMissed {
            turn,
            text: text.clone(),
        });
    }
    if let Some(text) = expect.lacks.iter().find(|text| stands(text)) {
        return Err(ModelError::ScriptSaw {
            turn,
            text: text.clone(),
        });
    }
    Ok(())
}
