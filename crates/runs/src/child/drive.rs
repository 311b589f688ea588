//! Drives the loop: does what the machine says, tells it what happened, writes everything down.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use deputize_agent::{Effect, Event as Happened, Finding, Millis, Notice, RunResult, State};
use deputize_egress::HeldPorts;
use deputize_gate::{Call, Sealed};
use deputize_ledger::{Ledger, Noticed};
use deputize_model::{ModelError, ToolUse, Turn};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::sync::oneshot;
use tokio::time::sleep_until;

use super::closing::Last;
use super::commands::CheckRan;
use super::heard::{Heard, Hearing};
use super::questions::Answered;
use super::toolbox::{Decided, Ran, Toolbox};
use super::{Boundaries, Child, Finished, Word};
use crate::clock::millis;
use crate::{Event, RunError, RunFolder, Said, record};

/// How often a face is told where the run stands.
const STATUS: Duration = Duration::from_millis(200);

pub(super) type Waiting = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// What an asynchronous step came to.
pub(super) enum Outcome {
    Replied {
        turn: u64,
        reply: Result<Box<Turn>, ModelError>,
        ms: u64,
    },
    Decided {
        call: u64,
        tool: ToolUse,
        decided: Result<Box<Decided>, RunError>,
    },
    Answered(Box<Answered>),
    Ran {
        call: u64,
        ran: Result<Ran, RunError>,
        ms: u64,
    },
    CheckEnded {
        command: String,
        ran: CheckRan,
    },
    Checked(Vec<Finding>),
}

impl Child {
    /// Runs the child to its end: its processes are gone and its ledger is whole when this returns.
    ///
    /// `events` are told to a face; `words` come from one.
    ///
    /// # Errors
    /// Only what keeps a run from starting, an open question among it. Everything after that is in the
    /// result.
    pub async fn run(
        self,
        boundaries: Boundaries,
        events: UnboundedSender<Event>,
        mut words: UnboundedReceiver<Word>,
    ) -> Result<Finished, RunError> {
        // Whoever forgets to ask gets no child.
        let approvals = self.approvals()?;
        let ports = HeldPorts::take(self.granted.grant.bounds().ports.items().copied())?;
        let (hearing, mut heard) = Hearing::new();
        self.model.ready(&hearing.of_turn(0)).await?;
        let folder = RunFolder::create(self.store.runs(), &self.id)?;
        let toolbox = Toolbox::new(&self, boundaries, folder.path(), &approvals, ports);
        let opened = self.open(&folder, &approvals);
        let (toolbox, ledger) = match toolbox.and_then(|toolbox| Ok((toolbox, opened?))) {
            Ok(opened) => opened,
            Err(error) => {
                folder.discard();
                return Err(error);
            }
        };
        let mut drive = Drive {
            state: State::new(self.brief()),
            child: &self,
            toolbox: Arc::new(toolbox),
            ledger,
            ledger_broken: None,
            events,
            hearing,
            begun: Instant::now(),
            boundary_told: false,
            result: None,
        };
        drive.show_start();
        for note in &self.granted.notes {
            drive.notice("preflight", note.clone());
        }
        let mut result = drive.until_end(&mut words, &mut heard).await;
        // Every field by name: one that is left in place keeps what it holds alive.
        let Drive {
            child: _,
            state,
            toolbox,
            ledger,
            ledger_broken,
            events: _events,
            hearing: _,
            begun,
            boundary_told: _,
            result: _,
        } = drive;
        let mut last = Last {
            child: &self,
            folder: &folder,
            ledger,
            ledger_broken,
            begun,
        };
        let enforced = match toolbox.footing.stood() {
            Some(stood) => record::enforced(&stood.plan, Some(&stood.self_test)),
            None => record::not_started(),
        };
        // What the boundary is held by goes with the toolbox; the copy outlives it.
        let (copy, snapshot) = (toolbox.footing.copy(), toolbox.footing.snapshot());
        // The end of the processes comes before every word about the end of the run.
        if let Err(error) = close(toolbox).await {
            result
                .warnings
                .push(format!("boundary: its end is not proven: {error}"));
        }
        last.keep_transcript(&state, &mut result);
        if let Some(copy) = copy.or(snapshot) {
            last.see_changes(&copy, &mut result).await;
        }
        last.finish(&mut result, enforced);
        Ok(Finished {
            result,
            folder: folder.path().to_owned(),
        })
    }
}

/// Ends the boundary. Nothing holds the toolbox any more once the loop has ended: the futures that
/// shared it are dropped.
async fn close(toolbox: Arc<Toolbox>) -> Result<(), RunError> {
    match Arc::into_inner(toolbox) {
        Some(toolbox) => toolbox.close().await,
        None => Err(RunError::Ending),
    }
}

/// A run under way.
pub(super) struct Drive<'a> {
    pub(super) child: &'a Child,
    state: State,
    pub(super) toolbox: Arc<Toolbox>,
    pub(super) ledger: Ledger,
    /// The first failure to write; the run ends by it.
    pub(super) ledger_broken: Option<String>,
    pub(super) events: UnboundedSender<Event>,
    hearing: Hearing,
    begun: Instant,
    pub(super) boundary_told: bool,
    result: Option<RunResult>,
}

impl Drive<'_> {
    async fn until_end(
        &mut self,
        words: &mut UnboundedReceiver<Word>,
        heard: &mut UnboundedReceiver<Heard>,
    ) -> RunResult {
        let mut waiting: Option<Waiting> = None;
        let mut effects: VecDeque<Effect> = self.state.step(Happened::Start, self.now()).into();
        let mut listening = true;
        loop {
            while let Some(effect) = effects.pop_front() {
                self.take(effect, &mut waiting);
            }
            if let Some(result) = self.result.take() {
                return result;
            }
            let happened = tokio::select! {
                outcome = next(&mut waiting) => {
                    waiting = None;
                    // What was said before it is told before it.
                    while let Ok(said) = heard.try_recv() {
                        if let Some(said) = self.hear(said) {
                            effects.extend(self.state.step(said, self.now()));
                        }
                    }
                    self.come_to(outcome, &mut waiting)
                }
                Some(heard) = heard.recv() => self.hear(heard),
                word = words.recv(), if listening => match word {
                    Some(Word::Cancel(reason)) => Some(Happened::Cancel(reason)),
                    Some(Word::Extend(budget)) => Some(Happened::Extend(budget)),
                    Some(Word::Steer { text, tell }) => {
                        effects.extend(self.steer(text, tell));
                        None
                    }
                    Some(Word::Note { code, message }) => {
                        self.notice(code, message);
                        None
                    }
                    None => {
                        listening = false;
                        None
                    }
                },
                () = sleep_until(self.wake()) => Some(Happened::Tick),
            };
            let now = self.now();
            if let Some(happened) = happened {
                effects.extend(self.state.step(happened, now));
            }
            if let Some(why) = self.ledger_broken.clone() {
                let failed = Happened::HostFailed {
                    code: "ledger_failed",
                    message: why,
                };
                effects.extend(self.state.step(failed, now));
            }
            // A face that is gone needs no status.
            let _ = self.events.send(Event::Status(self.state.snapshot(now)));
        }
    }

    /// Adds to the task, and tells what came of it.
    fn steer(&mut self, text: String, tell: oneshot::Sender<Said>) -> Vec<Effect> {
        let effects = self.state.step(Happened::Steer(text), self.now());
        let said = effects.iter().find_map(|effect| match effect {
            Effect::Notice(Notice::Steered) => Some(Said::Taken),
            Effect::Notice(Notice::SteerFull) => Some(Said::Full),
            Effect::Notice(Notice::SteerInvalid) => Some(Said::Invalid),
            _ => None,
        });
        // Whoever asked may have given up.
        let _ = tell.send(said.unwrap_or(Said::TooLate));
        effects
    }

    /// Takes what a model's client says beside its turns.
    fn hear(&mut self, heard: Heard) -> Option<Happened> {
        match heard {
            Heard::Streaming { turn } => Some(Happened::ModelStreaming { turn }),
            // How a relay stands is for the record; a person is told what is worth a line.
            Heard::Notice { code, message } if code == "relay" => {
                self.write(&Noticed {
                    code: code.to_owned(),
                    message,
                });
                None
            }
            Heard::Notice { code, message } => {
                self.notice(code, message);
                None
            }
        }
    }

    /// Begins what the machine asks for.
    fn take(&mut self, effect: Effect, waiting: &mut Option<Waiting>) {
        match effect {
            Effect::AskModel { turn, request } => {
                let model = Arc::clone(&self.child.model);
                let watch = self.hearing.of_turn(turn);
                *waiting = Some(Box::pin(async move {
                    let begun = Instant::now();
                    let reply = model.turn(&request, &watch).await.map(Box::new);
                    Outcome::Replied {
                        turn,
                        reply,
                        ms: millis(begun),
                    }
                }));
            }
            Effect::Call { call, tool } => {
                let toolbox = Arc::clone(&self.toolbox);
                *waiting = Some(Box::pin(async move {
                    let decided = toolbox.decide(&tool, None).await.map(Box::new);
                    Outcome::Decided {
                        call,
                        tool,
                        decided,
                    }
                }));
            }
            // Whatever was under way is dropped; its answer is not waited for.
            Effect::DropModel { .. } | Effect::DropCall { .. } | Effect::DropCheck => {
                *waiting = None;
            }
            Effect::RunCheck { command } => {
                let toolbox = Arc::clone(&self.toolbox);
                *waiting = Some(Box::pin(async move {
                    let ran = toolbox.run_check(command.clone()).await;
                    Outcome::CheckEnded { command, ran }
                }));
            }
            Effect::CheckEvidence(claims) => {
                let toolbox = Arc::clone(&self.toolbox);
                *waiting = Some(Box::pin(async move {
                    Outcome::Checked(toolbox.check(&claims).await)
                }));
            }
            Effect::Notice(notice) => self.notice(notice.code(), notice.to_string()),
            Effect::Finish(result) => self.result = Some(*result),
        }
    }

    /// Writes down what came of something, and turns it into what the machine is told.
    fn come_to(&mut self, outcome: Outcome, waiting: &mut Option<Waiting>) -> Option<Happened> {
        match outcome {
            Outcome::Replied {
                turn,
                reply: Ok(reply),
                ms,
            } => {
                self.write_turn(turn, &reply, ms);
                Some(Happened::ModelReplied {
                    turn,
                    reply: *reply,
                })
            }
            Outcome::Replied {
                turn,
                reply: Err(error),
                ..
            } => {
                self.notice(error.code(), error.to_string());
                Some(Happened::ModelFailed { turn, error })
            }
            Outcome::Decided {
                call,
                tool,
                decided: Ok(mut decided),
            } => {
                self.tell_boundary();
                self.write_decision(call, &tool, &decided);
                let question = decided.question.take();
                let asking =
                    question.and_then(|question| self.asking(call, &tool, question, &decided.rule));
                if let Some(asking) = asking {
                    *waiting = Some(asking);
                    return Some(Happened::ApprovalAsked { call });
                }
                if let Some(sealed) = decided.sealed {
                    *waiting = Some(self.running(call, sealed));
                }
                Some(Happened::CallDecided {
                    call,
                    decision: decided.decision,
                })
            }
            Outcome::Answered(answered) => self.answered(*answered, waiting),
            Outcome::Ran {
                call,
                ran: Ok(ran),
                ms,
            } => {
                self.write_end(call, &ran, ms);
                Some(Happened::CallFinished {
                    call,
                    outcome: ran.outcome,
                })
            }
            Outcome::Decided {
                decided: Err(error),
                ..
            }
            | Outcome::Ran {
                ran: Err(error), ..
            } => {
                let refusal = error.refusal();
                let message = format!("{}; {}", refusal.reason, refusal.fix);
                Some(Happened::HostFailed {
                    code: "boundary_failed",
                    message,
                })
            }
            Outcome::CheckEnded { command, ran } => {
                self.write_check(command, &ran);
                Some(Happened::CheckFinished {
                    outcome: ran.outcome,
                    output: ran.output,
                })
            }
            Outcome::Checked(findings) => Some(Happened::EvidenceChecked(findings)),
        }
    }

    fn running(&self, call: u64, sealed: Sealed<Call>) -> Waiting {
        let toolbox = Arc::clone(&self.toolbox);
        Box::pin(async move {
            let begun = Instant::now();
            let ran = toolbox.run(sealed).await;
            Outcome::Ran {
                call,
                ran,
                ms: millis(begun),
            }
        })
    }

    fn now(&self) -> Millis {
        Millis(millis(self.begun))
    }

    /// When to look up: at the machine's deadline, and often enough for a face.
    fn wake(&self) -> tokio::time::Instant {
        let now = Instant::now();
        let status = now + STATUS;
        let due = self
            .state
            .next_deadline()
            .map(|Millis(at)| self.begun + Duration::from_millis(at));
        due.map_or(status, |due| due.clamp(now, status)).into()
    }
}

/// The outcome of what is under way; never, when nothing is.
async fn next(waiting: &mut Option<Waiting>) -> Outcome {
    match waiting {
        Some(waiting) => waiting.await,
        None => std::future::pending().await,
    }
}
