//! The kinds of effects, each by a call that has it and nothing else of note.

/// One kind.
pub(crate) struct Kind {
    /// In words.
    pub(crate) name: &'static str,
    /// The call that stands for it.
    pub(crate) call: Sample,
}

/// A call in the workspace `/w` of an account with the home `/home/u`.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Sample {
    /// A file is read.
    Read(&'static str),
    /// A look at the history.
    GitLog,
    /// A file is written by the tool.
    Write(&'static str),
    /// A command line.
    Bash(&'static str),
}

const fn kind(name: &'static str, call: Sample) -> Kind {
    Kind { name, call }
}

/// Every row of the table.
pub(crate) const KINDS: &[Kind] = &[
    kind("reads in the workspace", Sample::Read("src/lib.rs")),
    kind("reads outside", Sample::Read("/etc/hosts")),
    kind("reads a secret", Sample::Read(".env")),
    kind("looks at the history", Sample::GitLog),
    kind("changes a file", Sample::Write("src/lib.rs")),
    kind(
        "changes what git runs",
        Sample::Write(".git/hooks/pre-commit"),
    ),
    kind(
        "changes an agent's configuration",
        Sample::Write(".claude/settings.json"),
    ),
    kind(
        "changes an agent's instructions",
        Sample::Write("AGENTS.md"),
    ),
    kind(
        "changes an editor's tasks",
        Sample::Write(".vscode/tasks.json"),
    ),
    kind("changes what a shell runs", Sample::Write(".envrc")),
    kind("changes a file outside", Sample::Write("/etc/hosts")),
    kind(
        "looks, by a command",
        Sample::Bash("grep -rn fn src | head"),
    ),
    kind(
        "changes the workspace, by a command",
        Sample::Bash("mkdir -p src/new"),
    ),
    kind("removes build output", Sample::Bash("rm -rf target")),
    kind("commits", Sample::Bash("git commit -am wip")),
    kind("runs the project's code", Sample::Bash("cargo test")),
    kind("can't be read", Sample::Bash("eval \"$(cat steps)\"")),
    kind("removes a folder of sources", Sample::Bash("rm -rf src")),
    kind(
        "changes a protected place, by a command",
        Sample::Bash("cp hook .git/hooks/pre-commit"),
    ),
    kind("writes to scratch space", Sample::Bash("echo x > /tmp/x")),
    kind("writes outside", Sample::Bash("cp x /etc/x")),
    kind("destroys", Sample::Bash("rm -rf ~/")),
    kind("rewrites history", Sample::Bash("git reset --hard HEAD~3")),
    kind(
        "reads a secret, by a command",
        Sample::Bash("cat ~/.ssh/id_ed25519"),
    ),
    kind("uses the network", Sample::Bash("curl https://example.com")),
    kind(
        "installs packages, whose hooks run",
        Sample::Bash("npm install left-pad"),
    ),
    kind("takes more authority", Sample::Bash("sudo ls")),
    kind(
        "leaves something behind to run later",
        Sample::Bash("crontab jobs"),
    ),
    kind("runs a container", Sample::Bash("docker run alpine ls")),
    kind(
        "changes a service elsewhere",
        Sample::Bash("terraform destroy"),
    ),
    kind("changes the machine", Sample::Bash("reboot")),
    kind("administers Deputize", Sample::Bash("deputize approve 1")),
];
