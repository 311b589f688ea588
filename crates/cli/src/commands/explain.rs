//! `deputize explain`: what the gate thinks of a call, and why. Nothing is run.

use std::io::BufRead;
use std::path::PathBuf;
use std::process::ExitCode;

use deputize_authority::preflight::{self, ExecRequest, RunRequest};
use deputize_authority::{EnvName, Grant, Level, Mode, Promise, Rules, escape};
use deputize_boundary::BoundaryPlan;
use deputize_gate::{
    Call, Context, Explanation, Fact, Launch, Stance, Standing, admit, explain, explain_line,
    queries,
};
use deputize_runs::{Look, RunError, choose_dry, worker_entry};
use deputize_shell::{User, second_opinion};
use deputize_tools::{Request, Response};
use serde_json::{Map, Value, json};

use crate::args::Explain;
use crate::failure::{self, Voice, usage};
use crate::output::{print, print_json, print_json_line};
use crate::request::look_around;

/// Longest line of `--stdin`, in bytes: the largest call and some room.
const LINE_BYTES: usize = 4 << 20;

pub(crate) fn main(args: &Explain) -> ExitCode {
    let outcome = if args.stdin { many(args) } else { one(args) };
    outcome.unwrap_or_else(|error| failure::tell(&error, Voice::of(args.json)))
}

fn one(args: &Explain) -> Result<ExitCode, RunError> {
    let look = look_around()?;
    let explanation = if args.tool.as_deref() == Some("exec") {
        let (preset, mode) = (&args.preset, args.mode.as_ref().or(args.boundary.as_ref()));
        let named = [
            (
                "preset",
                preset.as_ref(),
                "leave --preset out, or name a child's tool",
            ),
            (
                "mode",
                mode,
                "leave --mode and --boundary out, or name a child's tool",
            ),
        ];
        if let Some((field, _, fix)) = named.into_iter().find(|(_, named, _)| named.is_some()) {
            let why = "a command that a person types has a grant of its own, not a preset's";
            return Err(usage(field, why.to_owned(), fix));
        }
        Desk::for_command(&look, args)?.explain_command(args)?
    } else {
        let (tool, arguments) = call(args)?;
        match line_of(args, &tool, &arguments) {
            Some(line) => {
                let root = args.workdir.as_ref().map(|dir| look.caller.join(dir));
                let root = root.unwrap_or_else(|| look.caller.clone());
                let root = root.to_string_lossy();
                let rules = look.rules(None)?;
                let standing = standing(&look, &rules, &root, &root, None);
                let stance = stance(args.mode.as_deref(), args.boundary.as_deref())?;
                explain_line(line, &standing, stance, second_opinion)
            }
            None => {
                let preset = preset(args, &tool);
                let mut desk =
                    Desk::for_child(&look, preset, args.workdir.clone(), look.rules(None)?)?;
                desk.mode = args.mode.as_deref().map(mode).transpose()?;
                desk.explain(&tool, &arguments)?
            }
        }
    };
    if args.json {
        print_json(&explanation);
    } else {
        print(&explanation.text());
    }
    Ok(ExitCode::SUCCESS)
}

/// The command line that an unconfined agent would run: whoever names a preset means a child's.
fn line_of<'a>(args: &Explain, tool: &str, arguments: &'a Value) -> Option<&'a str> {
    if tool != "bash" || args.preset.is_some() {
        return None;
    }
    let arguments = arguments.as_object()?;
    match arguments.get("command") {
        Some(Value::String(line)) if arguments.len() == 1 => Some(line),
        _ => None,
    }
}

/// Where an agent stands whose folders are known as text; nothing is looked up.
fn standing(look: &Look, rules: &Rules, root: &str, cwd: &str, home: Option<&str>) -> Standing {
    let own = look.home.as_ref().map(|home| home.to_string_lossy());
    let home = home.or(own.as_deref()).unwrap_or("/");
    Standing::new(&[root], cwd, home, User::Ordinary).with_rules(rules.calls().to_vec())
}

/// The preset that was named, else the smallest one that has the tool.
fn preset<'a>(args: &'a Explain, tool: &str) -> &'a str {
    args.preset.as_deref().unwrap_or(match tool {
        "bash" | "write" | "edit" => "general",
        "git" => "read-only-git",
        _ => "read-only",
    })
}

/// The call that the flags describe.
fn call(args: &Explain) -> Result<(String, Value), RunError> {
    if let Some(command) = args.command.first() {
        let command = command.to_string_lossy();
        return Ok(("bash".to_owned(), json!({ "command": command })));
    }
    let Some(tool) = &args.tool else {
        return Err(usage(
            "tool",
            "there is no call to explain".to_owned(),
            "name one, as in `deputize explain --tool read --path src/lib.rs`",
        ));
    };
    let arguments = match &args.args {
        Some(text) => serde_json::from_str(text).map_err(|error| {
            usage(
                "args",
                format!("it is no JSON: {error}"),
                "quote a JSON object",
            )
        })?,
        None => {
            let mut object = Map::new();
            for (name, value) in [("path", &args.path), ("pattern", &args.pattern)] {
                object.extend(
                    value
                        .clone()
                        .map(|value| (name.to_owned(), Value::String(value))),
                );
            }
            // Where a change is made decides, not what it is.
            match tool.as_str() {
                "write" => object.extend([("content".to_owned(), json!(""))]),
                "edit" => object.extend([("edits".to_owned(), json!([{"old": "…", "new": ""}]))]),
                _ => {}
            }
            Value::Object(object)
        }
    };
    Ok((tool.clone(), arguments))
}

/// Reads calls, one JSON object a line; answers one line each, whatever the line holds.
fn many(args: &Explain) -> Result<ExitCode, RunError> {
    let look = look_around()?;
    let rules = look.rules(None)?;
    let mut input = std::io::stdin().lock();
    let mut line = Vec::new();
    loop {
        let length = next_line(&mut input, &mut line).map_err(|source| RunError::State {
            doing: "read calls from",
            path: "standard input".into(),
            source,
        })?;
        if length == 0 {
            return Ok(ExitCode::SUCCESS);
        }
        let answer = match answer(&look, args, &rules, &line) {
            Ok(explanation) => serde_json::to_value(explanation).unwrap_or_default(),
            // No call: no allowance either.
            Err(error) => {
                let refusal = error.refusal();
                json!({ "verdict": "deny", "rule": "call.unreadable", "reasons": [refusal.reason], "effects": [], "error": refusal })
            }
        };
        print_json_line(&answer);
    }
}

/// Reads a line and returns its whole length; what is beyond the limit is read and dropped, so that
/// the next line begins where it begins.
fn next_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> std::io::Result<usize> {
    line.clear();
    let mut length = 0;
    loop {
        let available = input.fill_buf()?;
        let end = available
            .iter()
            .position(|byte| *byte == b'\n')
            .map(|at| at + 1);
        let taken = end.unwrap_or(available.len());
        let kept = taken.min(LINE_BYTES.saturating_sub(line.len()));
        line.extend_from_slice(&available[..kept]);
        length += taken;
        input.consume(taken);
        if end.is_some() || taken == 0 {
            return Ok(length);
        }
    }
}

fn answer(
    look: &Look,
    args: &Explain,
    rules: &Rules,
    line: &[u8],
) -> Result<Explanation, RunError> {
    let mut object: Map<String, Value> =
        serde_json::from_slice(line).map_err(|error| bad(error.to_string()))?;
    let mut text = |name: &str| match object.remove(name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(bad(format!("`{name}` is no text"))),
    };
    let tool = text("tool")?.ok_or_else(|| bad("there is no `tool`".to_owned()))?;
    let (cwd, root, home) = (text("cwd")?, text("root")?, text("home")?);
    let stance = stance(text("mode")?.as_deref(), text("boundary")?.as_deref())?;
    if tool == "bash" && args.preset.is_none() {
        let command = text("command")?.ok_or_else(|| bad("there is no `command`".to_owned()))?;
        if let Some(unknown) = object.keys().next() {
            let unknown = escape(unknown).chars().take(80).collect::<String>();
            return Err(bad(format!("`{unknown}` is no part of a call of bash")));
        }
        for folder in [&cwd, &root, &home].into_iter().flatten() {
            if !folder.starts_with('/') || folder.contains('\0') {
                return Err(bad("`cwd`, `root` and `home` are absolute".to_owned()));
            }
        }
        let own = args.workdir.as_ref().map(|dir| look.caller.join(dir));
        let own = own.unwrap_or_else(|| look.caller.clone());
        let own = own.to_string_lossy();
        let root = root.as_deref().or(cwd.as_deref()).unwrap_or(&own);
        let cwd = cwd.as_deref().unwrap_or(root);
        let standing = standing(look, rules, root, cwd, home.as_deref());
        return Ok(explain_line(&command, &standing, stance, second_opinion));
    }
    let workdir = root.or(cwd).map(PathBuf::from);
    let workdir = workdir.or_else(|| args.workdir.clone());
    let mut desk = Desk::for_child(look, preset(args, &tool), workdir, rules.clone())?;
    desk.mode = match stance {
        Stance::Bound(mode, _) => Some(mode),
        Stance::Unconfined => None,
    };
    desk.explain(&tool, &Value::Object(object))
}

fn bad(why: String) -> RunError {
    usage(
        "line",
        why,
        "write one JSON object with `tool` and its arguments",
    )
}

/// What binds a command: nothing, or a mode and a boundary. The one that is missing is a child's.
fn stance(named: Option<&str>, boundary: Option<&str>) -> Result<Stance, RunError> {
    if named.is_none() && boundary.is_none() {
        return Ok(Stance::Unconfined);
    }
    let mode = named.map_or(Ok(Mode::AutoEdit), mode)?;
    let boundary = match boundary {
        None => Level::None,
        Some("full") => Level::Full,
        Some(name) => Level::ALL
            .into_iter()
            .find(|level| level.label() == name)
            .ok_or_else(|| {
                let why = format!("no boundary has the level `{}`", escape(name));
                usage("boundary", why, "use none, landlock+seccomp or full")
            })?,
    };
    Ok(Stance::Bound(mode, boundary))
}

/// The mode of that name; `_` and `-` are equal.
fn mode(name: &str) -> Result<Mode, RunError> {
    let spelled = name.replace('_', "-");
    let mut modes = Mode::ALL.into_iter();
    modes.find(|mode| mode.name() == spelled).ok_or_else(|| {
        let why = format!("no mode is named `{}`", escape(name));
        usage("mode", why, "use explore, ask, auto-edit or auto-all")
    })
}

/// A grant and its planned boundary, to hold calls against.
struct Desk<'a> {
    look: &'a Look,
    grant: Grant,
    plan: BoundaryPlan,
    rules: Rules,
    /// Another mode than the grant's.
    mode: Option<Mode>,
}

impl<'a> Desk<'a> {
    fn for_child(
        look: &'a Look,
        preset: &str,
        workdir: Option<PathBuf>,
        rules: Rules,
    ) -> Result<Self, RunError> {
        let request = RunRequest {
            prompt: b"explain".to_vec(),
            preset: preset.to_owned(),
            ..RunRequest::default()
        };
        let grant = preflight::child(&request, &look.surroundings(workdir.as_deref()))?.grant;
        Self::planned(look, grant, rules)
    }

    fn for_command(look: &'a Look, args: &Explain) -> Result<Self, RunError> {
        let request = ExecRequest {
            argv: args.command.clone(),
            ..ExecRequest::default()
        };
        let grant = preflight::exec(&request, &look.surroundings(args.workdir.as_deref()))?;
        // What a person types is their own word.
        Self::planned(look, grant, Rules::default())
    }

    fn planned(look: &'a Look, grant: Grant, rules: Rules) -> Result<Self, RunError> {
        let plan = choose_dry(&grant, &look.host())?;
        Ok(Self {
            look,
            grant,
            plan,
            rules,
            mode: None,
        })
    }

    fn explain(&self, tool: &str, arguments: &Value) -> Result<Explanation, RunError> {
        let held: Vec<Promise> = self.plan.held().collect();
        let context = self.context(&held);
        let call = admit(tool, arguments, &context);
        let facts = match &call {
            Ok(call) => self.facts(call, &context)?,
            Err(_) => Vec::new(),
        };
        Ok(explain(call, &facts, &context))
    }

    fn explain_command(&self, args: &Explain) -> Result<Explanation, RunError> {
        let variables = &self.plan.environment;
        let search = variables
            .iter()
            .find(|(name, _)| name == "PATH")
            .map(|(_, path)| path.split(':').map(PathBuf::from).collect())
            .unwrap_or_default();
        let names = variables
            .iter()
            .map(|(name, _)| EnvName(name.clone()))
            .collect();
        let launch = Launch::new(args.command.clone(), ".".into(), names, search)
            .map_err(|error| usage("command", error.to_string(), "correct the command"))?;
        let held: Vec<Promise> = self.plan.held().collect();
        let context = self.context(&held);
        let call = Call::Exec(launch);
        let facts = self.facts(&call, &context)?;
        Ok(explain(Ok(call), &facts, &context))
    }

    fn context<'c>(&'c self, held: &'c [Promise]) -> Context<'c> {
        Context {
            grant: &self.grant,
            mode: self.mode.unwrap_or_else(|| self.grant.mode()),
            home: self.look.home.as_deref(),
            boundary: self.plan.level,
            held,
            approved: &[],
            agreed: &[],
            rules: self.rules.calls(),
        }
    }

    fn facts(&self, call: &Call, context: &Context<'_>) -> Result<Vec<Fact>, RunError> {
        let asked = queries(call, context);
        if asked.is_empty() {
            return Ok(Vec::new());
        }
        let mut worker = worker_entry(&self.grant).map_err(|why| {
            usage(
                "workdir",
                escape(&why),
                "give yourself access to the folder",
            )
        })?;
        match Response::decode(&worker(&Request::Facts(asked).encode())) {
            Ok(Response::Facts(facts)) => Ok(facts),
            // Without facts the gate denies, and says so.
            _ => Ok(Vec::new()),
        }
    }
}
