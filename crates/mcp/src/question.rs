//! Questions to a person, through the client (elicitation).

use std::sync::Arc;
use std::time::Duration;

use deputize_authority::{Channel, Scope};
use rmcp::model::{
    ClientResult, ElicitRequest, ElicitRequestParams, RequestMetaObject, ServerRequest,
};
use rmcp::service::{Peer, PeerRequestOptions, RoleServer};
use serde_json::json;

use crate::taken_back::TakenBack;
use crate::wire::{Desk, QUESTION};

/// A question as it is put.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    /// What it is about: `spawn`, `call`, `apply`, `discard` or `extend`.
    pub(crate) kind: &'static str,
    /// The run that it is about.
    pub(crate) run: String,
    /// What a yes does, in one line: dialogs of some hosts show the first lines of a card and no more.
    pub(crate) yes: String,
    /// The card: the runtime's words first.
    pub(crate) card: String,
    /// How far a yes may be made to reach.
    pub(crate) scopes: &'static [Scope],
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Yes, through this channel.
    Yes(Channel),
    /// No, through this channel.
    No(Channel),
    /// Nobody answered.
    Nobody,
    /// The client can't show questions.
    NoUi,
}

/// An answer, with what else came in for the question.
pub(crate) struct Put {
    pub(crate) answer: Answer,
    /// Answers that were dropped, since they had no right proof.
    pub(crate) dropped: usize,
}

/// Puts questions to one client.
#[derive(Clone)]
pub(crate) struct Asker {
    pub(crate) desk: Arc<Desk>,
    /// The host that proves its answers.
    pub(crate) host: Option<String>,
    pub(crate) patience: Duration,
}

/// Whether the client can show questions.
pub(crate) fn has_ui(peer: &Peer<RoleServer>) -> bool {
    let info = peer.peer_info();
    info.is_some_and(|info| {
        let declared = info.capabilities.elicitation.as_ref();
        // An empty declaration means forms; one that names only another way doesn't.
        declared.is_some_and(|way| way.form.is_some() || way.url.is_none())
    })
}

/// What a client calls itself.
pub(crate) fn client_name(peer: &Peer<RoleServer>) -> String {
    let info = peer.peer_info();
    info.map_or_else(String::new, |info| info.client_info.name.clone())
}

impl Asker {
    /// Puts a question and waits for its answer, for so long as questions stay open.
    pub(crate) async fn put(&self, peer: &Peer<RoleServer>, question: &Question) -> Put {
        if !has_ui(peer) {
            return Put {
                answer: Answer::NoUi,
                dropped: 0,
            };
        }
        let id = random_id();
        let _open = Open {
            desk: &self.desk,
            id: &id,
        };
        let answered = self.wait(peer, &id, question).await;
        let dropped = self.desk.close(&id);
        let answer = match answered {
            Some(result) => self.read(peer, &id, question, &result),
            None => Answer::Nobody,
        };
        Put { answer, dropped }
    }

    async fn wait(
        &self,
        peer: &Peer<RoleServer>,
        id: &str,
        question: &Question,
    ) -> Option<ClientResult> {
        let request = self.request(id, question)?;
        let options = PeerRequestOptions::with_timeout(self.patience);
        let handle = peer.send_cancellable_request(request, options).await.ok()?;
        let taken_back = TakenBack::new(peer, &handle.id);
        let answered = handle.await_response().await;
        taken_back.answered();
        answered.ok()
    }

    fn request(&self, id: &str, question: &Question) -> Option<ServerRequest> {
        let scopes: Vec<&str> = match self.host {
            Some(_) => question.scopes.iter().map(|scope| scope.name()).collect(),
            None => Vec::new(),
        };
        let mut properties = json!({
            "answer": {
                "type": "string",
                "title": "Your answer",
                "enum": ["no", "yes"],
                "default": "no",
            },
        });
        if self.desk.needs_proof() {
            if !scopes.is_empty() {
                properties["scope"] = json!({
                    "type": "string",
                    "title": "How far a yes reaches",
                    "enum": scopes,
                });
            }
            properties["proof"] = json!({ "type": "string", "title": "The host's proof" });
        }
        let about = json!({
            "id": id,
            "kind": question.kind,
            "run": question.run,
            "scopes": scopes,
        });
        let mut meta = RequestMetaObject::new();
        meta.0.0.insert(QUESTION.to_owned(), about);
        let schema = json!({
            "type": "object",
            "properties": properties,
            "required": ["answer"],
        });
        let params = ElicitRequestParams::FormElicitationParams {
            meta: Some(meta),
            message: match self.host {
                // Shows every line, and the last of them beside the answers.
                Some(_) => question.card.clone(),
                None => format!("{}\n\n{}", question.yes, question.card),
            },
            requested_schema: serde_json::from_value(schema).ok()?,
        };
        Some(ServerRequest::ElicitRequest(ElicitRequest::new(params)))
    }

    fn read(
        &self,
        peer: &Peer<RoleServer>,
        id: &str,
        question: &Question,
        result: &ClientResult,
    ) -> Answer {
        let result = serde_json::to_value(result).unwrap_or_default();
        let by = |scope| match &self.host {
            Some(host) => Channel::Host {
                host: host.clone(),
                scope,
            },
            None => Channel::client(&client_name(peer)),
        };
        match result["action"].as_str() {
            Some("accept") => {}
            // A proof can't stand in these, so a host with a secret doesn't say them.
            Some("decline") if !self.desk.needs_proof() => return Answer::No(by(Scope::Once)),
            _ => return Answer::Nobody,
        }
        let Some(said) = self.desk.read(id, &result["content"]) else {
            return Answer::Nobody;
        };
        let scope = match self.host {
            Some(_) => question
                .scopes
                .iter()
                .copied()
                .find(|scope| scope.name() == said.scope),
            None => Some(Scope::Once),
        };
        let named = said.scope.is_empty() || self.host.is_none();
        match (said.answer.as_str(), scope) {
            ("yes", Some(scope)) => Answer::Yes(by(scope)),
            ("yes", None) if named => Answer::Yes(by(Scope::Once)),
            // A yes for a scope that wasn't offered is none that can be understood.
            ("yes", None) => Answer::Nobody,
            _ => Answer::No(by(Scope::Once)),
        }
    }
}

/// A question that is waited for. Where the wait is given up, no answer counts any more.
struct Open<'a> {
    desk: &'a Desk,
    id: &'a str,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.desk.close(self.id);
    }
}

/// Good for one question: 128 random bits.
fn random_id() -> String {
    let mut bytes = [0_u8; 16];
    let mut filled = 0;
    while filled < bytes.len() {
        // A kernel without random bytes gives an error that retrying doesn't cure; the loop ends all
        // the same, since early boot is the only such time.
        if let Ok(count) =
            rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty())
        {
            filled += count;
        }
    }
    bytes
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect::<Vec<_>>()
        .concat()
}

/// What stands on a card beside the question of whether it may start.
pub(crate) fn dropped_note(dropped: usize) -> Option<String> {
    (dropped > 0).then(|| {
        format!(
            "{dropped} answers without the host's proof came in while a person was asked, and were \
             dropped"
        )
    })
}
