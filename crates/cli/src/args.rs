//! The command line, exactly as typed. What it means is decided elsewhere.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Parser, Subcommand};
use clap_complete::Shell;

/// Hand work to a deputy that holds a bounded grant and nothing else.
#[derive(Debug, Parser)]
#[command(
    name = "deputize",
    version,
    max_term_width = 100,
    arg_required_else_help = true
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Give a child agent a task and print its result.
    #[command(after_help = RUN_CODES)]
    Run(Run),
    /// Run a command in a boundary: the current folder read-only, nothing else of home, no network.
    #[command(after_help = EXEC_CODES)]
    Exec(Exec),
    /// Show what a run changed in its copy of the workspace.
    #[command(after_help = DIFF_CODES)]
    Diff(Diff),
    /// Bring what a run changed to the workspace, all of it or nothing.
    #[command(after_help = APPLY_CODES)]
    Apply(Apply),
    /// Take back what was applied, as one change.
    #[command(after_help = APPLY_CODES)]
    Undo(Undo),
    /// Throw a run's copy away; the workspace stays as it is.
    #[command(after_help = DIFF_CODES)]
    Discard(Discard),
    /// Remove copies that were applied or hold nothing; with a limit, old or large ones.
    #[command(after_help = DIFF_CODES)]
    Gc(Gc),
    /// Watch a recorded child fix a test and try what it shouldn't, on a project of its own.
    #[command(after_help = DEMO_CODES)]
    Demo(Demo),
    /// Say what this machine can enforce, and prove it by trying.
    Doctor(Doctor),
    /// Look at the ledgers of runs, and check them.
    #[command(arg_required_else_help = true)]
    Audit(Audit),
    /// Say what the gate thinks of a call, and why.
    Explain(Explain),
    /// Answer another host's hook before a tool call: its JSON in, a decision in its form out.
    #[command(after_help = GATE_CODES)]
    Gate(Gate),
    /// Serve the tools of a run to a host, over the Model Context Protocol on standard streams.
    #[command(after_help = MCP_CODES)]
    Mcp(Mcp),
    /// Look at the rules about command lines, and run their examples.
    #[command(arg_required_else_help = true)]
    Rules(Rules),
    /// Store, list and remove the keys of models' providers.
    #[command(arg_required_else_help = true)]
    Auth(Auth),
    /// Make Deputize known to a host: its configuration is shown, then written.
    #[command(after_help = DIFF_CODES)]
    Install(Install),
    /// Take back what `install` wrote, exactly.
    #[command(after_help = DIFF_CODES)]
    Uninstall(Uninstall),
    /// Print a completion script for a shell.
    Completions(Completions),
    /// Print the manual page.
    Man,
}

const RUN_CODES: &str = "Exit codes: 0 ok, 1 error, 2 request refused, 3 blocked, \
                         4 budget exhausted, 130 cancelled.";

const DIFF_CODES: &str = "Exit codes: 0 done, 1 a failure, 2 refused and nothing changed.";

const APPLY_CODES: &str = "Exit codes: 0 done, 1 a failure, 2 refused and nothing changed, 4 done but \
                           for what is in conflict (--partial).";
const DEMO_CODES: &str = "Exit codes: 0 everything held, 1 something did not, 2 refused.";

const EXEC_CODES: &str = "Exit codes: the command's own; 128+N when signal N ended it; 125 a failure \
                          of deputize, 126 refused or not executable, 127 no such program.";

const MCP_CODES: &str = "Exit codes: 0 the client is gone, or SIGTERM or SIGINT ended it; 1 a failure, 2 \
                         refused. Every run has ended before.";

const GATE_CODES: &str = "Exit codes: 0 answered, or left to the host without a word; 2 blocked, with the \
                          reason on standard error.";

#[derive(Debug, clap::Args)]
pub(crate) struct Run {
    /// The task, self-contained. Read from standard input when absent or `-`.
    pub(crate) prompt: Option<OsString>,
    /// Which mechanics apply.
    #[arg(long, default_value = "general", value_name = "NAME")]
    pub(crate) preset: String,
    /// Which model answers: `PROVIDER:MODEL`, `scout` (code search, no language model) or
    /// `script:FILE`. Without it, the configured one, or one that runs on this machine.
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// A model that takes over when the one before it can't be used. May be repeated.
    #[arg(long, value_name = "NAME")]
    pub(crate) fallback: Vec<String>,
    /// The folder to work in; the child sees nothing outside it.
    #[arg(long, value_name = "DIR")]
    pub(crate) workdir: Option<PathBuf>,
    /// Replace a limit of the preset, e.g. `turns=50`. May be repeated.
    #[arg(long, value_name = "LIMIT=NUMBER")]
    pub(crate) budget: Vec<String>,
    /// The agent definition. Not available in this version.
    #[arg(long, value_name = "NAME", hide = true)]
    pub(crate) agent: Option<String>,
    /// What the child knows of the conversation.
    #[arg(long, value_name = "MODE", hide = true)]
    pub(crate) context: Option<String>,
    /// Where the child's writes go: `copy-on-write` (into a copy, the default), `worktree` (into a
    /// private clone with a fresh checkout of HEAD) or `direct`.
    #[arg(long, value_name = "MODE")]
    pub(crate) workspace: Option<String>,
    /// A shell command that must pass before the run is ok; the runtime runs it, not the child.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) check: Option<String>,
    /// What the answer must look like: a JSON Schema, or a file that holds one.
    #[arg(long, value_name = "FILE|JSON")]
    pub(crate) schema: Option<OsString>,
    /// A further folder or file that the child may read. May be repeated.
    #[arg(long, value_name = "PATH")]
    pub(crate) read: Vec<PathBuf>,
    /// A port on which a command of the child listens, to be reached at 127.0.0.1 outside. May be
    /// repeated.
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Vec<u16>,
    /// Agree beforehand to effects that would be asked about, e.g. `shell,write`.
    #[arg(long, value_name = "EFFECTS", value_delimiter = ',')]
    pub(crate) allow: Vec<String>,
    /// A file of rules that allow or deny effects, beside your own.
    #[arg(long, value_name = "FILE")]
    pub(crate) rules: Option<PathBuf>,
    /// Show what would be granted and enforced, and start nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print the result as one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the receipt after the result.
    #[arg(long)]
    pub(crate) receipt: bool,
    /// Show nothing but the result.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Mcp {
    /// The host that starts this server, which proves its answers with a secret.
    #[arg(long, value_name = "NAME", requires = "host_secret_fd")]
    pub(crate) host: Option<String>,
    /// The descriptor from which 32 bytes of secret are read: a pipe of its own.
    #[arg(long, value_name = "N", requires = "host")]
    pub(crate) host_secret_fd: Option<u16>,
    /// Agree beforehand to effects that would be asked about, e.g. `shell,write`.
    #[arg(long, value_name = "EFFECTS", value_delimiter = ',')]
    pub(crate) allow: Vec<String>,
    /// A file of rules that allow or deny effects, beside your own.
    #[arg(long, value_name = "FILE")]
    pub(crate) rules: Option<PathBuf>,
    /// Replace a limit of the presets, e.g. `turns=50`. May be repeated.
    #[arg(long, value_name = "LIMIT=NUMBER")]
    pub(crate) budget: Vec<String>,
    /// Seconds after which a call that isn't done answers with a handle.
    #[arg(long, value_name = "SECONDS", default_value_t = 40, value_parser = clap::value_parser!(u64).range(..=45))]
    pub(crate) handle_after: u64,
    /// Seconds that a question stays open.
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) answer_within: u64,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Exec {
    /// A folder that the command may write. May be repeated.
    #[arg(long, value_name = "DIR")]
    pub(crate) write: Vec<PathBuf>,
    /// A further folder or file that the command may read. May be repeated.
    #[arg(long, value_name = "PATH")]
    pub(crate) read: Vec<PathBuf>,
    /// A variable to pass in: NAME takes your value, NAME=VALUE sets one. May be repeated.
    #[arg(long, value_name = "NAME[=VALUE]")]
    pub(crate) env: Vec<String>,
    /// A class of secrets that the command may read all the same, e.g. `env_file`.
    #[arg(long, value_name = "CLASS")]
    pub(crate) secret: Vec<String>,
    /// A limit: `memory=BYTES` (suffixes k, m, g).
    #[arg(long, value_name = "LIMIT=VALUE")]
    pub(crate) limit: Vec<String>,
    /// A host to reach. Not available in this version.
    #[arg(long, value_name = "NAME", hide = true)]
    pub(crate) host: Vec<String>,
    /// A port on which the command listens, to be reached at 127.0.0.1 outside. May be repeated.
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) port: Vec<u16>,
    /// The folder to work in.
    #[arg(long, value_name = "DIR")]
    pub(crate) workdir: Option<PathBuf>,
    /// Show what would be granted and enforced, and run nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Report the outcome as JSON on standard error, after the command's own output.
    #[arg(long)]
    pub(crate) json: bool,
    /// Say which boundary stands before the command begins.
    #[arg(long, short)]
    pub(crate) verbose: bool,
    /// The command and its arguments.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Diff {
    /// The run, by its id or the end of it.
    pub(crate) run: String,
    /// Show only these files and folders, relative to the workspace.
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Show a line for each change, with its number of lines.
    #[arg(long, conflicts_with_all = ["json", "name_only"])]
    pub(crate) stat: bool,
    /// Show nothing but the paths.
    #[arg(long, conflicts_with = "json")]
    pub(crate) name_only: bool,
    /// Print the manifest as one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Apply {
    /// The run, by its id or the end of it.
    pub(crate) run: String,
    /// Don't ask.
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// The hash that `deputize diff` ended with: refuse when the copy holds anything else by now.
    #[arg(long, value_name = "HASH")]
    pub(crate) manifest: Option<String>,
    /// Apply this path too, though it is held back. May be repeated.
    #[arg(long, value_name = "PATH")]
    pub(crate) include: Vec<PathBuf>,
    /// Leave what is in conflict as it is, and do the rest.
    #[arg(long)]
    pub(crate) partial: bool,
    /// Show what would change, and change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Report the outcome as one JSON object; asks nothing.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Undo {
    /// The run, by its id or the end of it.
    pub(crate) run: String,
    /// Don't ask.
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Leave what was changed since as it is, and take back the rest.
    #[arg(long)]
    pub(crate) partial: bool,
    /// Report the outcome as one JSON object; asks nothing.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Discard {
    /// The run, by its id or the end of it.
    pub(crate) run: String,
    /// Don't ask.
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Report the outcome as one JSON object; asks nothing.
    #[arg(long)]
    pub(crate) json: bool,
}

/// A program that a parent agent lives in.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(crate) enum HostName {
    /// The extension, among Pi's packages.
    Pi,
    /// The server, among Claude Code's.
    Claude,
    /// The server, among Codex's.
    Codex,
    /// The server, in the file of any client of MCP.
    Mcp,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Install {
    /// The host.
    pub(crate) host: HostName,
    /// Have the host ask the gate before each of its own tool calls, too.
    #[arg(long)]
    pub(crate) gate: bool,
    /// Show what would be written, and write nothing.
    #[arg(long)]
    pub(crate) print: bool,
    /// The client's file of servers, for the host `mcp`.
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// The program that the host is to start, where it isn't this one.
    #[arg(long, value_name = "PATH")]
    pub(crate) program: Option<PathBuf>,
    /// The extension's package, for the host `pi`: `npm:NAME@VERSION`, or a folder.
    #[arg(long, value_name = "PACKAGE")]
    pub(crate) package: Option<String>,
    /// Don't ask.
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Report the outcome as one JSON object; asks nothing.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Uninstall {
    /// The host.
    pub(crate) host: HostName,
    /// Show what would be taken back, and change nothing.
    #[arg(long)]
    pub(crate) print: bool,
    /// Don't ask.
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Report the outcome as one JSON object; asks nothing.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Gc {
    /// Remove copies of at least so many days.
    #[arg(long, value_name = "DAYS")]
    pub(crate) older_than: Option<u64>,
    /// Remove the oldest copies until the others take no more than this.
    #[arg(long, value_name = "BYTES")]
    pub(crate) keep_bytes: Option<u64>,
    /// By age or size, remove copies with unapplied changes too.
    #[arg(long)]
    pub(crate) unapplied: bool,
    /// Show what would be removed, and remove nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print the copies as one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Demo {
    /// Print what was seen as one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Doctor {
    /// Print the report as one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Audit {
    #[command(subcommand)]
    pub(crate) command: AuditCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// Check a ledger's hash chain; all ledgers when no run is named.
    Verify {
        /// The run, by its id or the end of it; or a ledger's file.
        run: Option<String>,
        /// A head that was kept elsewhere, as SEQ:HASH: detects a ledger that was cut or rewritten.
        #[arg(long, value_name = "SEQ:HASH")]
        head: Option<String>,
        /// Print the reports as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show a run's events; the list of runs when none is named.
    Show {
        /// The run, by its id or the end of it.
        run: Option<String>,
        /// Print events as JSON, one per line.
        #[arg(long)]
        json: bool,
        /// Show the receipt instead of the events.
        #[arg(long)]
        receipt: bool,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct Explain {
    /// The tool: read, ls, find, grep, git, bash, write, edit or exec.
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Option<String>,
    /// Its path argument.
    #[arg(long, value_name = "PATH")]
    pub(crate) path: Option<String>,
    /// Its pattern argument.
    #[arg(long, value_name = "PATTERN")]
    pub(crate) pattern: Option<String>,
    /// All its arguments as a JSON object.
    #[arg(long, value_name = "JSON", conflicts_with_all = ["path", "pattern"])]
    pub(crate) args: Option<String>,
    /// The preset whose grant a child's call meets. When absent, a shell command is judged as that of
    /// an unconfined agent of the folder, and other calls by the least preset that has the tool.
    #[arg(long, value_name = "NAME")]
    pub(crate) preset: Option<String>,
    /// How much is asked: explore, ask, auto-edit or auto-all. A preset's own when absent; a shell
    /// command without a preset is judged unconfined then.
    #[arg(long, value_name = "NAME")]
    pub(crate) mode: Option<String>,
    /// What a shell command without a preset would be bound by: none, landlock+seccomp or full.
    #[arg(long, value_name = "LEVEL", conflicts_with = "preset")]
    pub(crate) boundary: Option<String>,
    /// The folder that the call's child or agent works in.
    #[arg(long, value_name = "DIR")]
    pub(crate) workdir: Option<PathBuf>,
    /// Read calls from standard input, one JSON object a line, such as
    /// `{"tool":"bash","command":"ls","cwd":"/w","root":"/w","home":"/home/u"}`, and answer one per
    /// line. `mode` and `boundary` name what a command would be bound by.
    #[arg(long, conflicts_with_all = ["tool", "path", "pattern", "args", "command", "mode", "boundary"])]
    pub(crate) stdin: bool,
    /// Print the explanation as one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
    /// A shell command, quoted; or, with `--tool exec`, a program and its arguments after `--`.
    #[arg(value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Gate {
    /// Read the call from standard input: the only way, and the default.
    #[arg(long)]
    pub(crate) stdin: bool,
    /// The host; told from its input when absent.
    #[arg(long, value_name = "NAME")]
    pub(crate) host: Option<HookHost>,
    /// A folder that the agent may change. May be repeated. When absent, the project that the host
    /// names, else the call's own folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Vec<PathBuf>,
    /// What becomes of a call that a person should be asked about: `ask` (denied where the host can't
    /// ask), `deny`, or `leave` to the host's own rules.
    #[arg(long, value_name = "HOW", default_value = "ask")]
    pub(crate) on_ask: Questions,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(crate) enum HookHost {
    ClaudeCode,
    Codex,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(crate) enum Questions {
    Ask,
    Deny,
    Leave,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Rules {
    #[command(subcommand)]
    pub(crate) command: RulesCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RulesCommand {
    /// List every rule: your own with their lines, then the built-in ones with id, what they come to,
    /// why, and the safer way.
    List {
        /// Print the list as one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Run the examples of every rule, your own too, and say which fail.
    Test {
        /// Print the outcome as one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Check a file of rules: faults with line and column, rules that never count, examples that don't
    /// hold.
    Lint {
        /// The file; without it, your own rules.toml.
        file: Option<PathBuf>,
        /// Print what was found as one JSON object.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct Auth {
    #[command(subcommand)]
    pub(crate) command: AuthCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AuthCommand {
    /// Store a key: typed without being shown, or read from standard input. It goes into the system's
    /// keyring where there is one, else into a file that only you can read.
    Set {
        /// The provider, e.g. `anthropic`.
        provider: String,
        /// Store it in the file even where there is a keyring.
        #[arg(long)]
        file: bool,
        /// Print what was done as one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Say where the key of each provider lies; never the key.
    List {
        /// Print the list as one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Remove a stored key.
    Remove {
        /// The provider.
        provider: String,
        /// Print what was done as one JSON object.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct Completions {
    /// The shell.
    pub(crate) shell: Shell,
}
