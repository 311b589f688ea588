//! A host for tests: it keeps the time, remembers effects, and makes events short to write.

use deputize_agent::{
    Brief, CallKind, CallOutcome, Decision, Effect, Event, Finished, Millis, Notice, OfferedTool,
    RunResult, State,
};
use deputize_authority::{Budget, Untrusted, WorkspaceMode};
use deputize_model::{ModelLabel, Stop, ToolSpec, ToolUse, Turn, TurnRequest, Usage, UsageSource};
use serde_json::{Value, json};

pub(crate) const WORKSPACE: &str = "/work/repo";

pub(crate) fn brief(budget: Budget) -> Brief {
    let kinds = [
        ("read", CallKind::Look),
        ("grep", CallKind::Look),
        ("bash", CallKind::Run),
        ("write", CallKind::Change),
        ("poll", CallKind::Poll),
    ];
    Brief {
        run: "run-1".to_owned(),
        prompt: "Where are limits enforced?".to_owned(),
        workspace: WORKSPACE.to_owned(),
        workspace_mode: WorkspaceMode::CopyOnWrite,
        tools: kinds
            .map(|(name, kind)| OfferedTool {
                spec: ToolSpec {
                    name: name.to_owned(),
                    description: "a tool".to_owned(),
                    parameters: json!({}),
                },
                kind,
            })
            .into(),
        budget,
        price: None,
        model: "script".to_owned(),
        model_label: ModelLabel::Scripted,
        max_output_tokens: 1000,
        definition: None,
        project: None,
        check: None,
        schema: None,
    }
}

pub(crate) fn turns(turns: u64) -> Budget {
    Budget {
        turns: Some(turns),
        ..Budget::UNLIMITED
    }
}

pub(crate) fn says(text: &str) -> Turn {
    Turn {
        text: text.to_owned(),
        calls: Vec::new(),
        usage: Usage {
            input_tokens: 10,
            cached_input_tokens: 0,
            output_tokens: 5,
            ..Usage::NONE
        },
        model: "test".to_owned(),
        stop: Stop::Finished,
        opaque: None,
        usage_source: UsageSource::Reported,
        cost_micros: None,
        price: None,
    }
}

pub(crate) fn calls(asked: &[(&str, Value)]) -> Turn {
    Turn {
        calls: asked
            .iter()
            .zip(0..)
            .map(|((name, arguments), id)| ToolUse {
                id: format!("id{id}"),
                name: (*name).to_owned(),
                arguments: arguments.clone(),
            })
            .collect(),
        stop: Stop::ToolCalls,
        ..says("")
    }
}

/// A call of `read` that no other is like.
pub(crate) fn read(number: u64) -> Turn {
    calls(&[("read", json!({"path": format!("src/{number}.rs")}))])
}

pub(crate) fn answered(content: &str) -> CallOutcome {
    CallOutcome {
        content: Untrusted::new(content),
        finished: Finished::Answered,
        changed_files: 0,
    }
}

pub(crate) fn denied(message: &str) -> Decision {
    Decision::Denied {
        rule: "outside-root".to_owned(),
        message: message.to_owned(),
    }
}

pub(crate) struct Host {
    pub(crate) state: State,
    pub(crate) now: u64,
    /// Effects that no test has looked at yet.
    pub(crate) effects: Vec<Effect>,
    pub(crate) notices: Vec<Notice>,
    pub(crate) turn: u64,
    pub(crate) call: u64,
}

impl Host {
    pub(crate) fn start(brief: Brief) -> Self {
        let mut host = Self {
            state: State::new(brief),
            now: 1_000,
            effects: Vec::new(),
            notices: Vec::new(),
            turn: 0,
            call: 0,
        };
        host.event(Event::Start);
        host
    }

    pub(crate) fn event(&mut self, event: Event) {
        for effect in self.state.step(event, Millis(self.now)) {
            match effect {
                Effect::Notice(notice) => self.notices.push(notice),
                Effect::AskModel { turn, .. } => {
                    self.turn = turn;
                    self.effects.push(effect);
                }
                Effect::Call { call, .. } => {
                    self.call = call;
                    self.effects.push(effect);
                }
                effect => self.effects.push(effect),
            }
        }
    }

    /// Lets time pass.
    pub(crate) fn after(&mut self, seconds: u64) {
        self.now += seconds * 1000;
        self.event(Event::Tick);
    }

    pub(crate) fn reply(&mut self, reply: Turn) {
        self.effects.clear();
        let turn = self.turn;
        self.event(Event::ModelReplied { turn, reply });
    }

    pub(crate) fn decide(&mut self, decision: Decision) {
        let call = self.call;
        self.event(Event::CallDecided { call, decision });
    }

    pub(crate) fn finish_call(&mut self, outcome: CallOutcome) {
        let call = self.call;
        self.event(Event::CallFinished { call, outcome });
    }

    /// Allows the call at hand and answers it.
    pub(crate) fn answer(&mut self, content: &str) {
        self.effects.clear();
        self.decide(Decision::Allowed);
        self.finish_call(answered(content));
    }

    /// The request that is out, when there is one.
    pub(crate) fn request(&self) -> &TurnRequest {
        self.effects
            .iter()
            .rev()
            .find_map(|effect| match effect {
                Effect::AskModel { request, .. } => Some(request),
                _ => None,
            })
            .unwrap_or_else(|| panic!("no request among {:?}", self.effects))
    }

    pub(crate) fn asks(&self) -> bool {
        self.effects
            .iter()
            .any(|effect| matches!(effect, Effect::AskModel { .. }))
    }

    /// The claims to look up.
    pub(crate) fn claims(&self) -> Vec<String> {
        self.effects
            .iter()
            .find_map(|effect| match effect {
                Effect::CheckEvidence(claims) => {
                    Some(claims.iter().map(deputize_agent::Claim::shown).collect())
                }
                _ => None,
            })
            .unwrap_or_default()
    }

    pub(crate) fn check(&mut self, findings: Vec<deputize_agent::Finding>) {
        self.event(Event::EvidenceChecked(findings));
    }

    pub(crate) fn finished(&self) -> Option<&RunResult> {
        self.effects.iter().find_map(|effect| match effect {
            Effect::Finish(result) => Some(&**result),
            _ => None,
        })
    }

    pub(crate) fn result(&self) -> &RunResult {
        self.finished()
            .unwrap_or_else(|| panic!("not finished: {:?}", self.effects))
    }

    /// The last message of the conversation that the runtime or a tool wrote.
    pub(crate) fn last_told(&self) -> &str {
        match self.state.messages().last() {
            Some(
                deputize_model::Message::User(text)
                | deputize_model::Message::ToolResult { content: text, .. },
            ) => text,
            other => panic!("the last message is {other:?}"),
        }
    }
}
