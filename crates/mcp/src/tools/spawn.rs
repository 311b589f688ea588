//! `subagent`: one task, several side by side, or several one after the other.

use std::sync::{Arc, Mutex};

use deputize_authority::preflight::RunRequest;
use deputize_authority::{Refusal, Scope};
use deputize_runs::words::{card, previous};
use deputize_runs::{
    Again, CancelReason, Child, ChildRequest, ModelRequest, Outcome, Principal, RunError, RunId,
    Slot, Status,
};
use rmcp::model::CallToolResult;
use rmcp::service::{Peer, RequestContext, RoleServer};
use serde_json::{Value, json};

use super::blocking;
use super::group::{Chain, lock};
use crate::answer;
use crate::calls::Calls;
use crate::input::{Subagent, Task};
use crate::notify;
use crate::question::{Answer, Question, client_name, dropped_note, has_ui};
use crate::sampling;
use crate::server::Server;

/// Tasks of one call.
const MAX_TASKS: usize = 16;

/// Columns of a card: hosts wrap it as they like.
const WIDTH: usize = 100;

/// What stands for the earlier answer in a step of a chain.
const PREVIOUS: &str = "{previous}";

pub(super) async fn call(
    server: &Server,
    input: Subagent,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResult, Refusal> {
    let kinds = [
        input.prompt.is_some(),
        !input.tasks.is_empty(),
        !input.chain.is_empty(),
    ];
    if kinds.into_iter().filter(|given| *given).count() != 1 {
        return Err(Refusal::new(
            "arguments_invalid",
            "prompt",
            "a call has one of `prompt`, `tasks` and `chain`",
            "give exactly one of them",
        ));
    }
    let count = input.tasks.len().max(input.chain.len());
    if count > MAX_TASKS {
        return Err(Refusal::new(
            "arguments_invalid",
            "tasks",
            format!("{count} tasks are more than {MAX_TASKS}"),
            "give fewer, each with more to do",
        ));
    }
    if !input.chain.is_empty() {
        return chain(server, &input, context).await;
    }
    let tasks = match input.single() {
        Some(task) => vec![task],
        None => {
            let tasks = input.tasks.iter().cloned();
            tasks.map(|task| input.complete(task)).collect()
        }
    };
    let is_single = input.prompt.is_some();
    // All of them have a place before the first begins.
    let mut placed = Vec::with_capacity(tasks.len());
    for task in tasks {
        placed.push(place(server, &context.peer, task).await?);
    }
    let runs: Vec<RunId> = placed
        .into_iter()
        .map(|(slot, child)| begin(server, &context.peer, slot, child))
        .collect();
    if !input.background {
        wait(server, context, &runs).await;
    }
    let statuses: Vec<_> = runs
        .iter()
        .filter_map(|run| server.live.status(run))
        .collect();
    Ok(match statuses.as_slice() {
        [one] if is_single => answer::run(one),
        all => answer::runs(all, ""),
    })
}

/// Plans a task and takes a place for it. Nothing was begun when this fails.
async fn place(
    server: &Server,
    peer: &Peer<RoleServer>,
    task: Task,
) -> Result<(Slot, Child), Refusal> {
    let again = match task.again {
        true => Again::Allow,
        false => Again::Refuse,
    };
    let request = request(server, peer, task);
    let settings = Arc::clone(&server.settings);
    let planned = blocking(move || settings.outside.plan(&settings.look, request)).await?;
    let mut child = planned.map_err(|error: RunError| error.refusal())?;
    child.settled().refuse_denied()?;
    let slot = server.live.admit(&child, again)?;
    server.live.recall(&mut child);
    if !has_ui(peer) {
        if child.settled().open().next().is_some() {
            return Err(child.unaskable());
        }
        return Ok((slot, child));
    }
    child.asks(Arc::new(Calls {
        asker: server.asker.clone(),
        live: server.live.clone(),
        run: child.id().clone(),
        peer: peer.clone(),
    }));
    Ok((slot, child))
}

fn request(server: &Server, peer: &Peer<RoleServer>, task: Task) -> ChildRequest {
    let host = match &server.asker.host {
        Some(host) => host.clone(),
        None => client_name(peer),
    };
    ChildRequest {
        principal: Principal::Agent { host },
        run: RunRequest {
            prompt: task.prompt.into_bytes(),
            preset: task.preset.unwrap_or_else(|| "general".to_owned()),
            workspace: task.workspace,
            check: task.check,
            ports: task.ports,
            budget: server.settings.budget.clone(),
            ..RunRequest::default()
        },
        workdir: task.workdir,
        read: task.read,
        model: ModelRequest {
            name: task.model,
            host: sampling::served(peer, &server.signs),
            ..ModelRequest::default()
        },
        schema: task.schema.map(Value::Object),
        allow: server.settings.allow.clone(),
        rules: server.settings.rules.clone(),
    }
}

fn begin(server: &Server, peer: &Peer<RoleServer>, slot: Slot, child: Child) -> RunId {
    let (asking, peer) = (server.clone(), peer.clone());
    server
        .live
        .begin(slot, child, |child| consent(asking, peer, child))
}

/// Puts the one question of a spawn, where anything is open (S3).
async fn consent(
    server: Server,
    peer: Peer<RoleServer>,
    mut child: Child,
) -> Result<Child, Refusal> {
    if child.settled().open().next().is_none() {
        return Ok(child);
    }
    let question = Question {
        kind: "spawn",
        run: child.id().to_string(),
        yes: format!(
            "A child needs your yes: for its whole run, it {}.",
            child.settled().open_in_words()
        ),
        card: format!("{}Start it?", card(&child.planned(), WIDTH)),
        scopes: &[Scope::Run, Scope::Preset],
    };
    server.live.tell(
        child.id(),
        "question",
        "a person is asked whether it may start".to_owned(),
    );
    let put = server.asker.put(&peer, &question).await;
    let note = dropped_note(put.dropped);
    match put.answer {
        Answer::Yes(by) => {
            server.live.accept(&mut child, &by);
            if let Some(note) = note {
                child.note(note);
            }
            Ok(child)
        }
        Answer::No(by) => Err(child.settled().declined_through(&by)),
        Answer::Nobody => {
            let mut refusal = child.unanswered_by_client();
            if let Some(note) = note {
                refusal.reason = format!("{}; {note}", refusal.reason);
            }
            Err(refusal)
        }
        Answer::NoUi => Err(child.unaskable()),
    }
}

/// Waits for the ends of runs, as long as a call may take. A call that is cancelled stops them.
async fn wait(server: &Server, context: &RequestContext<RoleServer>, runs: &[RunId]) {
    let ends = async {
        for run in runs {
            server.live.wait(run, server.settings.limits.handle).await;
        }
    };
    let token = context.meta.get_progress_token();
    let ours = |run: &RunId| runs.contains(run);
    tokio::select! {
        _ = tokio::time::timeout(server.settings.limits.handle, ends) => {}
        () = context.ct.cancelled() => {
            for run in runs {
                server.live.stop(run, CancelReason::Person).await;
            }
        }
        () = notify::progress(&server.live, &context.peer, token, &ours) => {}
    }
}

/// Begins a chain, and waits for it as long as a call may take; it goes on after that.
async fn chain(
    server: &Server,
    input: &Subagent,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResult, Refusal> {
    let steps: Vec<Task> = input
        .chain
        .iter()
        .map(|task| input.complete(task.clone()))
        .collect();
    // The first step is refused as a single one would be.
    let mut steps = steps.into_iter();
    let Some(first) = steps.next() else {
        return Err(nothing());
    };
    let placed = place(server, &context.peer, first).await?;
    let state = server.groups.begin(input.chain.len());
    let going = tokio::spawn(walk(
        server.clone(),
        context.peer.clone(),
        placed,
        steps.collect(),
        Arc::clone(&state),
    ));
    if !input.background {
        let token = context.meta.get_progress_token();
        let ours = |run: &RunId| lock(&state).runs.contains(run);
        tokio::select! {
            _ = tokio::time::timeout(server.settings.limits.handle, going) => {}
            () = context.ct.cancelled() => {
                lock(&state).over = true;
                let current = lock(&state).runs.last().cloned();
                if let Some(run) = current {
                    server.live.stop(&run, CancelReason::Person).await;
                }
            }
            () = notify::progress(&server.live, &context.peer, token, &ours) => {}
        }
    } else {
        // The first run has an id as soon as it has a place.
        while lock(&state).runs.is_empty() && !lock(&state).over {
            tokio::task::yield_now().await;
        }
    }
    let chain = lock(&state).clone();
    Ok(told(server, &chain))
}

fn nothing() -> Refusal {
    Refusal::new(
        "arguments_invalid",
        "chain",
        "the chain has no steps",
        "give at least one",
    )
}

/// Walks a chain to its end, or to the first step that isn't ok.
async fn walk(
    server: Server,
    peer: Peer<RoleServer>,
    first: (Slot, Child),
    rest: Vec<Task>,
    state: Arc<Mutex<Chain>>,
) {
    let mut placed = Some(first);
    let mut rest = rest.into_iter();
    while let Some((slot, child)) = placed.take() {
        let run = begin(&server, &peer, slot, child);
        lock(&state).runs.push(run.clone());
        let ended = server.live.ended(&run).await;
        let Some(Outcome::Result(result)) = ended else {
            break;
        };
        let is_over = lock(&state).over;
        if is_over || result.status != Status::Ok {
            break;
        }
        let Some(mut task) = rest.next() else {
            break;
        };
        task.prompt = task.prompt.replace(PREVIOUS, &previous(&result));
        match place(&server, &peer, task).await {
            Ok(next) => placed = Some(next),
            Err(refusal) => {
                lock(&state).refused = Some(refusal);
                break;
            }
        }
    }
    lock(&state).over = true;
}

/// Where a chain stands.
pub(super) fn told(server: &Server, chain: &Chain) -> CallToolResult {
    let runs: Vec<_> = chain
        .runs
        .iter()
        .filter_map(|run| server.live.status(run))
        .collect();
    let state = match chain.over {
        true => "is over",
        false => "goes on",
    };
    let mut note = format!(
        "The chain {state}: {} of {} steps began.\n",
        chain.runs.len(),
        chain.steps
    );
    if let Some(refusal) = &chain.refused {
        note.push_str(&format!(
            "Its next step was refused: {} [{}, {}].\nFix: {}.\n",
            refusal.reason, refusal.code, refusal.field, refusal.fix
        ));
    }
    let mut answer = answer::runs(&runs, &note);
    if let Some(object) = &mut answer.structured_content {
        object["chain"] = json!({
            "steps": chain.steps,
            "began": chain.runs.len(),
            "over": chain.over,
            "refused": chain.refused,
        });
    }
    answer
}
