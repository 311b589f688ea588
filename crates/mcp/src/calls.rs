//! Questions about single calls of a run, while it goes on (S9).

use deputize_runs::words::call_question;
use deputize_runs::{AnswerFuture, CallAnswer, CallQuestion, Live, RunId};
use rmcp::service::{Peer, RoleServer};

use crate::question::{Answer, Asker, Question};

/// Characters of a call in the line that says what a yes does: the card below has it in full.
const YES: usize = 200;

/// Columns of a question: hosts wrap it as they like.
const WIDTH: usize = 100;

/// Asks the client that began a run about its calls.
pub(crate) struct Calls {
    pub(crate) asker: Asker,
    pub(crate) live: Live,
    pub(crate) run: RunId,
    pub(crate) peer: Peer<RoleServer>,
}

impl deputize_runs::Asker for Calls {
    fn ask(&self, asked: CallQuestion) -> AnswerFuture<'_> {
        Box::pin(async move {
            let question = Question {
                kind: "call",
                run: self.run.to_string(),
                yes: format!(
                    "Your yes runs one call of a child: {} {}",
                    asked.tool.preview(64),
                    asked.arguments.preview(YES)
                ),
                card: format!("{}\nRun it?", call_question(&asked, WIDTH)),
                scopes: asked.scopes(),
            };
            let told = format!("a person is asked about its call #{}", asked.call);
            self.live.tell(&self.run, "question", told);
            match self.asker.put(&self.peer, &question).await.answer {
                Answer::Yes(by) => {
                    let scope = by.scope();
                    CallAnswer::Yes(by, scope)
                }
                Answer::No(by) => CallAnswer::No(by),
                Answer::Nobody | Answer::NoUi => CallAnswer::Nobody,
            }
        })
    }
}
