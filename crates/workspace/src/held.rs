//! Which paths configure what later runs outside the boundary, at whatever depth they lie.

use std::path::Path;

use deputize_authority::{ProtectedKind, protected_kind};

use crate::entry::What;
use crate::rel_path::RelPath;

/// Names beyond those that a boundary protects, in lower case. A boundary keeps its list short, since
/// each of its rows is a mount; here a row costs a question.
const NAMES: &[(&str, &str)] = &[
    // Instructions and settings of coding agents.
    (".cursorignore", AGENT),
    (".roomodes", AGENT),
    (".roorules", AGENT),
    (".amazonq", AGENT),
    (".aider.conf.yml", AGENT),
    ("opencode.jsonc", AGENT),
    ("copilot-instructions.md", AGENT),
    (".qwen", AGENT),
    (".crush.json", AGENT),
    ("crush.json", AGENT),
    (".junie", AGENT),
    (".augment", AGENT),
    (".trae", AGENT),
    (".factory", AGENT),
    (".amp", AGENT),
    (".goose", AGENT),
    (".cline", AGENT),
    (".openhands", AGENT),
    (".zencoder", AGENT),
    ("agent.md", AGENT),
    ("warp.md", AGENT),
    (".rules", AGENT),
    ("mcp.json", AGENT),
    (".aider.model.settings.yml", AGENT),
    (".codeium", AGENT),
    (".tabnine", AGENT),
    // Git obeys them, or runs what they name.
    (".gitmodules", GIT),
    (".gitattributes", GIT),
    (".gitconfig", GIT),
    (".githooks", GIT),
    (".huskyrc", GIT),
    (".lefthook", GIT),
    ("lefthook.yml", GIT),
    ("lefthook.yaml", GIT),
    (".lefthook.yml", GIT),
    (".overcommit.yml", GIT),
    (".pre-commit-config.yaml", GIT),
    (".pre-commit-config.yml", GIT),
    ("lefthook.toml", GIT),
    ("lefthook-local.yml", GIT),
    (".lfsconfig", GIT),
    (".hg", GIT),
    (".hgrc", GIT),
    (".jj", GIT),
    (".svn", GIT),
    (".bzr", GIT),
    // A shell, an editor or a debugger runs them when it starts or enters the folder.
    (".kshrc", STARTUP),
    (".autoenv", STARTUP),
    (".autoenv.zsh", STARTUP),
    (".gvimrc", STARTUP),
    (".nvimrc", STARTUP),
    (".emacs", STARTUP),
    (".dir-locals-2.el", STARTUP),
    (".gdbinit", STARTUP),
    (".lldbinit", STARTUP),
    (".mise.toml", STARTUP),
    ("mise.toml", STARTUP),
    (".mise", STARTUP),
    (".mise.local.toml", STARTUP),
    ("mise.local.toml", STARTUP),
    (".tool-versions", STARTUP),
    (".lvimrc", STARTUP),
    (".local.vimrc", STARTUP),
    (".lazy.lua", STARTUP),
    (".vim", STARTUP),
    (".vs", STARTUP),
    (".theia", STARTUP),
    (".rprofile", STARTUP),
    (".renviron", STARTUP),
    (".ghci", STARTUP),
    (".iex.exs", STARTUP),
    (".ocamlinit", STARTUP),
    (".pdbrc", STARTUP),
    (".irbrc", STARTUP),
    (".pryrc", STARTUP),
    (".rspec", STARTUP),
    (".pythonrc", STARTUP),
    ("usercustomize.py", STARTUP),
    ("sitecustomize.py", STARTUP),
    (".venv", STARTUP),
    // A package manager or a compiler takes programs, registries or scripts from them.
    (".npmrc", MANAGER),
    (".yarnrc", MANAGER),
    (".yarnrc.yml", MANAGER),
    (".pnpmfile.cjs", MANAGER),
    (".pypirc", MANAGER),
    ("pip.conf", MANAGER),
    (".bazelrc", MANAGER),
    (".cargo", MANAGER),
    ("rust-toolchain", MANAGER),
    ("rust-toolchain.toml", MANAGER),
    (".mvn", MANAGER),
    (".bundle", MANAGER),
    ("bunfig.toml", MANAGER),
    (".pnp.cjs", MANAGER),
    (".yarn", MANAGER),
    (".pydistutils.cfg", MANAGER),
];

/// Ends of names that editors open as a set of tasks and settings.
const ENDS: &[(&str, &str)] = &[(".code-workspace", STARTUP), (".sublime-project", STARTUP)];

/// Places of more than one name.
const PLACES: &[(&str, &str)] = &[
    (".github/instructions", AGENT),
    (".github/prompts", AGENT),
    (".github/chatmodes", AGENT),
    (".github/agents", AGENT),
    (".config/mise", STARTUP),
    ("tools/bazel", MANAGER),
];

const REPOSITORY: &str = "it belongs to a repository: commits stay in the copy";
const AGENT: &str = "a coding agent obeys it";
const GIT: &str = "git or a hook runner obeys it";
const STARTUP: &str = "an editor, a shell or a debugger runs it";
const MANAGER: &str = "a package manager or a compiler obeys it";

/// Why a path is held back, if it is by its name.
pub(crate) fn held_by_name(path: &RelPath) -> Option<&'static str> {
    // Invalid bytes in one segment don't hide what the others say.
    let lower = path.as_path().to_string_lossy().to_lowercase();
    let names: Vec<&str> = lower.split('/').collect();
    for (index, name) in names.iter().enumerate() {
        let rest = names[index..].join("/");
        let place = PLACES.iter().find(|(place, _)| {
            let below = rest.strip_prefix(place);
            below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
        });
        // Some file systems take these for the same name.
        let name = name.trim_end_matches([' ', '.']);
        if name == ".git" || name == "git~1" {
            return Some(REPOSITORY);
        }
        let known = NAMES.iter().find(|(held, _)| *held == name).or(place);
        let ends = ENDS.iter().find(|(end, _)| name.ends_with(end));
        if let Some((_, why)) = known.or(ends) {
            return Some(why);
        }
        if let Some(kind) = protected_kind(Path::new(&rest)) {
            return Some(match kind {
                ProtectedKind::Git => GIT,
                ProtectedKind::Agent | ProtectedKind::Instructions => AGENT,
                ProtectedKind::Editor | ProtectedKind::Startup => STARTUP,
            });
        }
    }
    None
}

/// Whether a new entry is one that a boundary may have put there: empty, at a place that it keeps free.
pub(crate) fn is_placeholder(path: &RelPath, what: What, size: u64, holds_something: bool) -> bool {
    let is_empty = match what {
        What::Folder => !holds_something,
        // A `commondir` can't be empty: the boundary's says `.`, as its absence does.
        What::File => size == 0 || (path.name() == "commondir" && size == 2),
        _ => false,
    };
    is_empty && may_be_placeholder(path)
}

/// Whether a boundary may have put an empty entry at this path, to keep others from doing so.
fn may_be_placeholder(path: &RelPath) -> bool {
    let lower = path.as_path().to_string_lossy().to_lowercase();
    let names: Vec<&str> = lower.split('/').collect();
    let last = names.last().is_some_and(|name| *name == ".git");
    last || (0..names.len())
        .any(|index| protected_kind(Path::new(&names[index..].join("/"))).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    fn held(text: &str) -> bool {
        held_by_name(&RelPath::from_text(text).unwrap()).is_some()
    }

    /// C2: configuration is held at any depth, in any case, also beside names that aren't text.
    #[test]
    fn what_configures_others_is_held_at_any_depth() {
        for text in [
            "CLAUDE.md",
            "a/b/agents.MD",
            ".GIT/config",
            "vendor/x/.git",
            "vendor/x/.git/HEAD",
            ".claude/skills/x/SKILL.md",
            "sub/.vscode/tasks.json",
            ".husky/pre-commit",
            "my.code-workspace",
            "pkg/.npmrc",
            ".cargo/config.toml",
            "\\xff/.mcp.json",
            ".claude/\\xff",
            ".git./config",
            "a/GIT~1/x",
            ".github/prompts/x.md",
            "tools/bazel",
            "x.sublime-project",
        ] {
            assert!(held(text), "{text}");
        }
    }

    #[test]
    fn what_only_looks_like_it_is_not() {
        for text in [
            "CLAUDE.md.txt",
            "agents/x.md",
            "src/git/config",
            ".github/workflows/ci.yml",
        ] {
            assert!(!held(text), "{text}");
        }
        assert!(!may_be_placeholder(&RelPath::from_text("src").unwrap()));
        assert!(may_be_placeholder(
            &RelPath::top().join(OsStr::from_bytes(b".claude"))
        ));
    }

    #[test]
    fn names_are_in_lower_case() {
        for (name, _) in NAMES.iter().chain(ENDS) {
            assert_eq!(*name, name.to_lowercase());
        }
    }
}
