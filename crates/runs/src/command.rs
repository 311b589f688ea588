//! One command that a person typed: `deputize exec`.
//!
//! The same rooms as for a child, without a model: preflight, boundary, gate, ledger. The gate is
//! asked with the promises that the boundary really holds.

use std::ffi::OsString;
use std::os::fd::AsFd as _;
use std::path::PathBuf;
use std::time::Instant;

use deputize_authority::preflight::{self, ExecRequest};
use deputize_authority::{Consent, EnvName, Grant, Level, Promise, Refusal, Root};
use deputize_boundary::plan::Sealed;
use deputize_boundary::{
    BoundaryPlan, CommandEnd, CommandSpec, PinnedProgram, Placeholders, Purpose, SelfTest, Signals,
    harden_supervisor,
};
use deputize_egress::HeldPorts;
use deputize_gate::{
    Call, Context, Fact, Identity, Launch, Query, Start, Verdict, decide, queries,
};
use deputize_ledger::{
    CallDecided, CallFinished, Ledger, RunFinished, RunStarted, Verdict as Word,
};
use deputize_tools::{Request, Response};
use serde_json::json;

use crate::boundary::{Chosen, Probe, Site, Weaker, start};
use crate::clock::{millis, wall_ms};
use crate::error::Doing as _;
use crate::folder::private_folders;
use crate::store::placeholders;
use crate::{Look, RunError, RunFolder, RunId, Store, record, worker_entry};

/// A request to run a command, with what the edge adds to it.
#[derive(Debug, Clone, Default)]
pub struct Execution {
    /// What is asked for.
    pub request: ExecRequest,
    /// The folder, as typed; the caller's when absent.
    pub workdir: Option<PathBuf>,
    /// Variables to pass in, by name and value.
    pub environment: Vec<(String, String)>,
    /// Bytes of memory at which the command is ended.
    pub memory_bytes: Option<u64>,
}

/// How it went.
#[derive(Debug)]
pub struct Executed {
    /// Its id in the ledger.
    pub run: RunId,
    /// How the command ended.
    pub end: CommandEnd,
    /// The plan of the boundary: level and promises.
    pub plan: BoundaryPlan,
    /// What the self-test saw, before the command began.
    pub self_test: Option<SelfTest>,
    /// Why the boundary is weaker than the strongest level, where it is.
    pub weaker: Option<Weaker>,
    /// What went wrong beside the command.
    pub warnings: Vec<String>,
}

/// Decides about a command without running it.
///
/// # Errors
/// The refusal.
pub fn plan(look: &Look, execution: &Execution) -> Result<Grant, Refusal> {
    preflight::exec(
        &execution.request,
        &look.surroundings(execution.workdir.as_deref()),
    )
}

/// Runs a command in a boundary, with this process's own standard streams. Must be called on the
/// main thread, before any other exists.
///
/// `on_start` is told about the boundary before the command begins.
///
/// # Errors
/// A refusal, or a failure of our own; the command has not run then, or nothing of it is left.
pub fn execute(
    look: &Look,
    execution: &Execution,
    program: &PinnedProgram,
    on_start: impl FnOnce(&BoundaryPlan, Option<&Weaker>),
) -> Result<Executed, RunError> {
    harden_supervisor()?;
    let grant = plan(look, execution)?;
    let id = RunId::new();
    let folder = RunFolder::create(Store::below(look.state()?).runs(), &id)?;
    let ledger = match open(look, &grant, &folder, &id) {
        Ok(ledger) => ledger,
        Err(error) => {
            folder.discard();
            return Err(error);
        }
    };
    let mut session = Session {
        look,
        execution,
        grant,
        folder,
        ledger,
        begun: Instant::now(),
    };
    // From here on the ledger has begun, and gets its end whatever comes.
    let (placeholders, outcome) = match session.placeholders() {
        Ok(kept) => {
            let outcome = session.run(program, kept.as_ref(), on_start);
            (kept, outcome)
        }
        Err(error) => (None, Err(error)),
    };
    let mut warnings = Vec::new();
    if let Some(Err(error)) = placeholders.map(Placeholders::finish) {
        warnings.push(format!(
            "placeholders of protected paths could not be removed: {error}"
        ));
    }
    if let Err(error) = session.finish(outcome.as_ref().map(|done| &done.end)) {
        warnings.push(format!("the ledger is whole but incomplete: {error}"));
    }
    let Done {
        plan,
        weaker,
        end,
        self_test,
    } = outcome?;
    Ok(Executed {
        run: id,
        end,
        plan,
        self_test,
        weaker,
        warnings,
    })
}

struct Session<'a> {
    look: &'a Look,
    execution: &'a Execution,
    grant: Grant,
    folder: RunFolder,
    ledger: Ledger,
    begun: Instant,
}

struct Done {
    plan: BoundaryPlan,
    weaker: Option<Weaker>,
    end: CommandEnd,
    self_test: Option<SelfTest>,
}

impl Session<'_> {
    /// A record for mount points, where something is writable that holds protected paths.
    fn placeholders(&self) -> Result<Option<Placeholders>, RunError> {
        let records = placeholders(self.look.state()?);
        if self.grant.bounds().write.is_none() {
            return Placeholders::tidy(&records)
                .map(|()| None)
                .doing("clean up by the records in", &records);
        }
        private_folders(&records)?;
        let roots = self.grant.bounds().write.items().map(Root::path);
        Placeholders::begin(&records, roots)
            .map(Some)
            .doing("keep a record in", &records)
    }

    fn run(
        &mut self,
        program: &PinnedProgram,
        placeholders: Option<&Placeholders>,
        on_start: impl FnOnce(&BoundaryPlan, Option<&Weaker>),
    ) -> Result<Done, RunError> {
        let host = self.look.host();
        let request = &self.execution.request;
        let ports = &request.ports;
        let held = HeldPorts::take(ports.iter().copied())?;
        let probe = Probe::new(self.folder.path())?;
        let signals = Signals::take()?;
        let Chosen {
            mut boundary,
            plan,
            weaker,
        } = start(
            program,
            &self.grant,
            &host,
            &Site::of(request.read.iter().chain(&request.write)),
            &probe,
            placeholders,
            // Init must be free to connect inside.
            if ports.is_empty() {
                Purpose::OneCommand
            } else {
                Purpose::Serve
            },
        )?;
        if plan.level != Level::Full {
            self.refuse_weaker(plan.level, weaker.as_ref())?;
        }
        let _published = if ports.is_empty() {
            None
        } else {
            let dialer = boundary.open_dialer()?;
            Some(
                held.lead(dialer)
                    .doing("publish the ports of", "deputize".as_ref())?,
            )
        };
        self.ledger
            .record(&record::boundary(&plan, None), wall_ms())?;
        on_start(&plan, weaker.as_ref());
        let spec = self.approve(&plan)?;
        let (stdin, stdout, stderr) = (std::io::stdin(), std::io::stdout(), std::io::stderr());
        let begun = Instant::now();
        let command = boundary.run(&spec, [stdin.as_fd(), stdout.as_fd(), stderr.as_fd()])?;
        let (end, self_test) = boundary.await_end_passing(command, &signals)?;
        boundary.stop()?;
        let outcome = record::word(&end);
        let outcome = if outcome.is_empty() {
            format!("{end:?}")
        } else {
            outcome
        };
        // The command has run: a full disk is said in the end, it doesn't hide how it ended.
        let finished = CallFinished {
            call: 1,
            outcome,
            bytes: 0,
            ms: millis(begun),
        };
        let written = self.ledger.record(&finished, wall_ms());
        drop(written);
        Ok(Done {
            plan,
            weaker,
            end,
            self_test,
        })
    }

    /// What a boundary without namespaces can't give is refused rather than left out.
    fn refuse_weaker(&self, level: Level, weaker: Option<&Weaker>) -> Result<(), RunError> {
        let execution = self.execution;
        let (field, lacks) = if execution.memory_bytes.is_some() {
            ("memory", "can't even watch the memory of a command")
        } else if !execution.request.ports.is_empty() {
            ("port", "lets no command listen")
        } else {
            return Ok(());
        };
        Err(RunError::Refused(Refusal::new(
            "boundary_too_weak",
            field,
            format!("a boundary of level {level} {lacks}"),
            weaker.map_or_else(String::new, |weaker| weaker.fix.clone()),
        )))
    }

    /// Puts the command to the gate; what comes back is built from the bytes that it sealed.
    fn approve(&mut self, plan: &BoundaryPlan) -> Result<CommandSpec, RunError> {
        let request = &self.execution.request;
        let search: Vec<PathBuf> = self
            .execution
            .environment
            .iter()
            .chain(&plan.environment)
            .find(|(name, _)| name == "PATH")
            .map(|(_, path)| path.split(':').map(PathBuf::from).collect())
            .unwrap_or_default();
        let names = plan.environment.iter().chain(&self.execution.environment);
        let names = names.map(|(name, _)| EnvName(name.clone())).collect();
        let launch =
            Launch::new(request.argv.clone(), ".".into(), names, search).map_err(|error| {
                refused(
                    "command",
                    error.to_string(),
                    "shorten or correct the command",
                )
            })?;
        let held: Vec<Promise> = plan.held().collect();
        let home = self.look.home.clone();
        let context = Context {
            grant: &self.grant,
            mode: self.grant.mode(),
            home: home.as_deref(),
            boundary: plan.level,
            held: &held,
            // The person who typed the command is the principal.
            approved: &[Consent::Shell],
            agreed: &[],
            rules: &[],
        };
        let call = Call::Exec(launch);
        let facts = self.facts(queries(&call, &context))?;
        let verdict = decide(call, &facts, &context);
        let word = match &verdict {
            Verdict::Allow(_) => Word::Allow,
            Verdict::Ask(_) => Word::Ask,
            Verdict::Deny(_) => Word::Deny,
        };
        self.ledger.record(
            &CallDecided {
                call: 1,
                tool: "exec".to_owned(),
                arguments: json!({ "argv": shown(&request.argv) }),
                verdict: word,
                rule: verdict.rule().id.to_owned(),
                reason: String::new(),
            },
            wall_ms(),
        )?;
        match verdict {
            Verdict::Allow(allowed) => match allowed.sealed.start() {
                Some(start) => Ok(self.spec(&start)),
                None => {
                    let reason = "the gate sealed another call".to_owned();
                    Err(refused(
                        "command",
                        reason,
                        "report this: it is a fault of deputize",
                    ))
                }
            },
            Verdict::Ask(asked) => Err(refused(
                "command",
                asked.reasons.join("; "),
                "a person must approve it",
            )),
            Verdict::Deny(denied) => Err(refused("command", denied.reason, &denied.instead)),
        }
    }

    /// Exactly what was sealed: arguments, folder and program file.
    fn spec(&self, start: &Start<'_>) -> CommandSpec {
        let sealed = |identity: &Identity| Sealed {
            path: identity.canonical.clone(),
            device: identity.device,
            inode: identity.inode,
        };
        let environment = start
            .env
            .iter()
            .chain(&self.execution.environment)
            .cloned()
            .collect();
        let program = start.program.map(sealed);
        CommandSpec::new(&start.argv, sealed(start.cwd), program, environment)
            .memory(self.execution.memory_bytes)
    }

    /// A person's command is looked up from outside: nothing of a model is in it.
    fn facts(&self, queries: Vec<Query>) -> Result<Vec<Fact>, RunError> {
        let mut worker = worker_entry(&self.grant)
            .map_err(|why| refused("workdir", why, "give yourself access to the folder"))?;
        let answer = worker(&Request::Facts(queries).encode());
        match Response::decode(&answer) {
            Ok(Response::Facts(facts)) => Ok(facts),
            // Without facts the gate denies, and says so.
            _ => Ok(Vec::new()),
        }
    }

    fn finish(
        &mut self,
        end: Result<&CommandEnd, &RunError>,
    ) -> Result<(), deputize_ledger::AppendError> {
        let status = match end {
            Ok(CommandEnd::Exited(0)) => "ok",
            Err(RunError::Refused(_)) => "blocked",
            Ok(_) | Err(_) => "error",
        };
        let finished = RunFinished {
            status: status.to_owned(),
            summary: String::new(),
            evidence: 0,
            warnings: 0,
            usage: json!({ "commands": u8::from(end.is_ok()) }),
            ms: millis(self.begun),
        };
        self.ledger.record(&finished, wall_ms()).map(drop)
    }
}

fn refused(field: &str, reason: String, fix: &str) -> RunError {
    RunError::Refused(Refusal::new("gate_denied", field, reason, fix))
}

fn shown(argv: &[OsString]) -> Vec<String> {
    argv.iter()
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect()
}

/// Opens the ledger and writes down what was granted, before anything starts.
fn open(look: &Look, grant: &Grant, folder: &RunFolder, id: &RunId) -> Result<Ledger, RunError> {
    let redactor = look.redactor()?;
    let mut ledger = Ledger::create(&folder.ledger(), id.as_str(), redactor, wall_ms())?;
    let started = RunStarted {
        run: id.to_string(),
        agent: String::new(),
        context: "independent".to_owned(),
        cwd: grant.workspace().path().display().to_string(),
        model: "none: a command that a person typed".to_owned(),
        preset: grant.preset().name().to_owned(),
        tools: record::tools(grant),
        resources: record::word(&grant.bounds().resources),
        trust: "the person's own command line".to_owned(),
        grant: grant.digest().to_string(),
    };
    ledger.record(&started, wall_ms())?;
    ledger.record(&record::grant(grant), wall_ms())?;
    Ok(ledger)
}
