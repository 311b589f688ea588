//! A child's calls: through the gate, then to the worker, each step written down.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use deputize_agent::{CallOutcome, Claim, Decision, Finding, Finished};
use deputize_authority::{Approval, Consent, Grant, Level, Refusal, Rules, Scope, Untrusted};
use deputize_boundary::HostFacts;
use deputize_egress::HeldPorts;
use deputize_gate::{Agreed, Call, Contained, Context, Sealed, Verdict, admit, decide, queries};
use deputize_ledger as ledger;
use deputize_model::ToolUse;
use deputize_tools::{ClaimCheck, Request, Response};
use deputize_workspace::Observed;

use super::Child;
use super::ground::{Footing, RunCopy};
use super::hosted::{Boundaries, Hosted, Wanted};
use crate::RunError;
use crate::boundary::Site;

/// The most bytes that a copy may hold: what large builds write, and too little to fill a disk.
const COPY_BYTES: u64 = 16 << 30;

/// What a run needs for its calls.
pub(super) struct Toolbox {
    pub(super) grant: Grant,
    pub(super) host: HostFacts,
    /// The run's folder.
    pub(super) run: PathBuf,
    /// What a person agreed to for this run.
    approved: Vec<Consent>,
    /// Calls that a person said yes to for as long as the run goes on.
    agreed: Mutex<Vec<Agreed>>,
    /// The person's rules.
    rules: Rules,
    /// What the run stands on, from the first call that needs it.
    pub(super) footing: Footing,
    /// What file tools said that they changed.
    touched: Mutex<BTreeSet<String>>,
    /// Files that the copy had changed when it was last looked at.
    changed: AtomicU64,
}

/// What the gate said about a call, for the machine and for the record.
pub(super) struct Decided {
    pub(super) decision: Decision,
    pub(super) verdict: ledger::Verdict,
    pub(super) rule: String,
    pub(super) reason: String,
    /// Whether the boundary contains whatever it does.
    pub(super) contained: Contained,
    /// Present exactly when the call may run.
    pub(super) sealed: Option<Sealed<Call>>,
    /// Present exactly when a person would have to be asked.
    pub(super) question: Option<Question>,
}

/// What a person would have to be asked.
pub(super) struct Question {
    pub(super) call: Call,
    pub(super) reasons: Vec<String>,
    /// How far a yes may reach.
    pub(super) longest: Scope,
}

/// What came of a call that ran.
pub(super) struct Ran {
    pub(super) outcome: CallOutcome,
    pub(super) code: String,
    pub(super) bytes: u64,
}

impl Toolbox {
    pub(super) fn new(
        child: &Child,
        boundaries: Boundaries,
        run: &Path,
        approvals: &[Approval],
        ports: HeldPorts,
    ) -> Result<Self, RunError> {
        let wanted = Wanted {
            grant: child.granted.grant.clone(),
            host: child.host.clone(),
            site: Site::of(&child.request.run.read),
            cloning: Arc::default(),
            run: run.to_owned(),
            records: crate::store::placeholders(child.look.state()?),
        };
        Ok(Self {
            grant: child.granted.grant.clone(),
            host: child.host.clone(),
            run: run.to_owned(),
            rules: child.rules.clone(),
            approved: approvals
                .iter()
                .flat_map(|approval| approval.effects.iter().copied())
                .collect(),
            agreed: Mutex::default(),
            footing: Footing::new(boundaries, wanted, ports),
            touched: Mutex::default(),
            changed: AtomicU64::new(0),
        })
    }

    /// Takes a person's yes to a call, where it reaches further than this one time.
    pub(super) fn agree(&self, agreed: &Agreed) {
        if agreed.scope() != Scope::Once
            && let Ok(mut all) = self.agreed.lock()
        {
            all.push(agreed.clone());
        }
    }

    /// Puts a call to the gate; with a person's yes, if there was one just now.
    pub(super) async fn decide(
        &self,
        tool: &ToolUse,
        yes: Option<Agreed>,
    ) -> Result<Decided, RunError> {
        let kept = self
            .agreed
            .lock()
            .map_or_else(|_| Vec::new(), |all| all.clone());
        let agreed: Vec<Agreed> = kept.into_iter().chain(yes).collect();
        // Arguments that nobody understands, and tools that weren't granted, need no boundary.
        let bare = self.context(Level::None, &[], &agreed);
        let call = match admit(&tool.name, &tool.arguments, &bare) {
            Ok(call) => call,
            Err(denied) => return Ok(Decided::refused_at_the_door(*denied)),
        };
        let hosted = self.footing.hosted().await?;
        let held: Vec<_> = hosted.plan.held().collect();
        let context = self.context(hosted.plan.level, &held, &agreed);
        let asked = queries(&call, &context);
        let facts = if asked.is_empty() {
            Vec::new()
        } else {
            match hosted.ask(&Request::Facts(asked)).await {
                Ok(Response::Facts(facts)) => facts,
                // Without facts the gate denies, and says so.
                Ok(_) => Vec::new(),
                Err(error) => return Err(lost(&error)),
            }
        };
        Ok(Decided::of(decide(call, &facts, &context)))
    }

    fn context<'a>(
        &'a self,
        boundary: Level,
        held: &'a [deputize_authority::Promise],
        agreed: &'a [Agreed],
    ) -> Context<'a> {
        Context {
            grant: &self.grant,
            mode: self.grant.mode(),
            home: self.host.home.as_deref(),
            boundary,
            held,
            approved: &self.approved,
            agreed,
            rules: self.rules.calls(),
        }
    }

    /// Runs a call that the gate allowed, and sees what it changed.
    pub(super) async fn run(&self, sealed: Sealed<Call>) -> Result<Ran, RunError> {
        let ground = self.footing.ground().await?;
        let mut ran = self.carry_out(&ground.hosted, &sealed).await?;
        if let (Some(copy), true) = (&ground.copy, may_write(sealed.call())) {
            ran.outcome.changed_files = self.newly_changed(copy).await?;
        }
        Ok(ran)
    }

    async fn carry_out(&self, hosted: &Hosted, sealed: &Sealed<Call>) -> Result<Ran, RunError> {
        if let Some(start) = sealed.start() {
            let captured = self.command(hosted, &start).await?;
            return Ok(Ran::of_command(&captured, start.timeout));
        }
        let request = Request::Run(Box::new(sealed.clone()));
        let answer = hosted.ask(&request).await.map_err(|error| lost(&error))?;
        Ok(match answer {
            Response::Output(output) => {
                let mut ran = Ran::new(Finished::Answered, "ok", output.rendered());
                ran.outcome.changed_files = self.touch(output.changed);
                ran
            }
            Response::Failed(failure) => {
                let text = format!("{}: {}", failure.code, failure.message);
                Ran::new(Finished::Failed, &failure.code, text)
            }
            Response::Facts(_) | Response::Evidence(_) => {
                let text = "the worker answered something else".to_owned();
                Ran::new(Finished::Failed, "bad_answer", text)
            }
        })
    }

    /// Takes down what a file tool says that it changed; how many of these are new.
    fn touch(&self, changed: Vec<String>) -> u64 {
        let Ok(mut touched) = self.touched.lock() else {
            return 0;
        };
        let new = changed
            .into_iter()
            .filter(|path| touched.insert(path.clone()));
        u64::try_from(new.count()).unwrap_or(u64::MAX)
    }

    /// Files that were changed since the last look. A copy that has grown too large ends the run: what
    /// is in it stays.
    async fn newly_changed(&self, copy: &RunCopy) -> Result<u64, RunError> {
        let Observed {
            changed_files,
            bytes,
        } = copy.observe().await?;
        if bytes > COPY_BYTES {
            return Err(RunError::Refused(Refusal::new(
                "copy_too_large",
                "workspace",
                format!(
                    "the run's copy holds {} MiB, more than the {} MiB that one may",
                    bytes >> 20,
                    COPY_BYTES >> 20
                ),
                "look at what it wrote with `deputize diff`, then discard it",
            )));
        }
        let before = self.changed.swap(changed_files, Ordering::Relaxed);
        Ok(changed_files.saturating_sub(before))
    }

    /// Looks claims up; one finding each.
    pub(super) async fn check(&self, claims: &[Claim]) -> Vec<Finding> {
        let unknown = |why: &str| {
            vec![
                Finding::Fails {
                    why: why.to_owned()
                };
                claims.len()
            ]
        };
        if claims.is_empty() {
            return Vec::new();
        }
        let asked = claims
            .iter()
            .map(|claim| deputize_tools::Claim {
                path: claim.path.clone(),
                line: claim.line,
                quote: claim.quote.clone(),
            })
            .collect();
        let Ok(hosted) = self.footing.hosted().await else {
            return unknown("it couldn't be looked up without a boundary");
        };
        match hosted.ask(&Request::Evidence(asked)).await {
            Ok(Response::Evidence(checks)) if checks.len() == claims.len() => {
                checks.into_iter().map(finding).collect()
            }
            Ok(_) | Err(_) => unknown("it couldn't be looked up"),
        }
    }

    /// Ends the boundary, unless another run still uses it.
    pub(super) async fn close(self) -> Result<(), RunError> {
        self.footing.close().await
    }
}

/// Whether a call may leave something else behind than it found.
fn may_write(call: &Call) -> bool {
    matches!(
        call,
        Call::Write { .. } | Call::Edit { .. } | Call::Bash { .. }
    )
}

pub(super) fn lost(error: &super::hosted::Lost) -> RunError {
    let detail = match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    };
    RunError::Boundary(deputize_boundary::BoundaryError::Supervisor {
        doing: "reach the worker",
        source: std::io::Error::other(detail),
    })
}

fn finding(check: ClaimCheck) -> Finding {
    match check {
        ClaimCheck::Holds {
            line: Some(line),
            claimed: Some(_),
            ..
        } => Finding::Moved { line },
        ClaimCheck::Holds { .. } => Finding::Holds,
        ClaimCheck::Missing { why, .. } => Finding::Fails { why },
    }
}

impl Ran {
    pub(super) fn new(finished: Finished, code: &str, text: String) -> Self {
        let bytes = u64::try_from(text.len()).unwrap_or(u64::MAX);
        let content = Untrusted::new(text);
        let outcome = CallOutcome {
            content,
            finished,
            changed_files: 0,
        };
        Self {
            outcome,
            code: code.to_owned(),
            bytes,
        }
    }
}

impl Decided {
    /// A denial before anything was looked up: no such call, or not granted.
    fn refused_at_the_door(denied: deputize_gate::Denied) -> Self {
        let rule = denied.rule.id.to_owned();
        let message = denied.message;
        let invalid = rule.starts_with("arguments.") || rule == "tool.unknown";
        let decision = if invalid {
            Decision::Invalid { message }
        } else {
            Decision::Denied {
                rule: rule.clone(),
                message,
            }
        };
        let verdict = ledger::Verdict::Deny;
        Self {
            decision,
            verdict,
            rule,
            reason: denied.reason,
            contained: Contained::No,
            sealed: None,
            question: None,
        }
    }

    fn of(verdict: Verdict) -> Self {
        let rule = verdict.rule().id.to_owned();
        match verdict {
            Verdict::Allow(allowed) => Self {
                decision: Decision::Allowed,
                verdict: ledger::Verdict::Allow,
                rule,
                reason: allowed.notes.join("; "),
                contained: allowed.contained,
                sealed: Some(allowed.sealed),
                question: None,
            },
            // What is put to nobody is a refusal that says so.
            Verdict::Ask(asked) => Self {
                decision: Decision::Denied {
                    rule: rule.clone(),
                    message: format!(
                        "this needs a person's approval, and nobody can be asked: {}",
                        asked.reasons.join("; ")
                    ),
                },
                verdict: ledger::Verdict::Ask,
                rule,
                reason: asked.reasons.join("; "),
                contained: Contained::No,
                sealed: None,
                question: Some(Question {
                    call: asked.call,
                    reasons: asked.reasons,
                    longest: asked.scope,
                }),
            },
            Verdict::Deny(denied) => Self {
                decision: Decision::Denied {
                    rule: rule.clone(),
                    message: denied.message,
                },
                verdict: ledger::Verdict::Deny,
                rule,
                reason: denied.reason,
                contained: Contained::No,
                sealed: None,
                question: None,
            },
        }
    }
}
