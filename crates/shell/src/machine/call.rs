//! One command whose words are expanded: which program it is, and who knows about it.

use super::{Machine, State};
use crate::effect::{Role, Step};
use crate::programs;
use crate::rules;
use crate::value::{Field, Out, Taint};

/// A command that is called.
pub(crate) struct Call<'a> {
    /// The program's name, without its folder.
    pub(crate) name: &'a str,
    /// Its arguments.
    pub(crate) args: &'a [Field],
}

/// What a name is looked for among.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lookup {
    /// The functions of the line, then builtins and programs.
    Functions,
    /// Builtins and programs only.
    Programs,
}

/// Folders whose programs are those that one thinks of.
const SYSTEM: &[&str] = &[
    "/bin/",
    "/usr/bin/",
    "/sbin/",
    "/usr/sbin/",
    "/usr/local/bin/",
    "/usr/local/sbin/",
    "/opt/homebrew/bin/",
    "/snap/bin/",
];

/// Whether a command changes files of a repository that it doesn't name.
fn turns(first: &Field, args: &[Field]) -> bool {
    const VERBS: [&str; 20] = [
        "checkout",
        "switch",
        "stash",
        "apply",
        "am",
        "merge",
        "rebase",
        "reset",
        "restore",
        "pull",
        "cherry-pick",
        "revert",
        "clean",
        "submodule",
        "worktree",
        "read-tree",
        "checkout-index",
        "sparse-checkout",
        "lfs",
        "bisect",
    ];
    let name = first.shown();
    match name.rsplit('/').next().unwrap_or_default() {
        "patch" | "unzip" | "tar" | "bsdtar" | "cpio" | "7z" => true,
        "git" | "hub" => args.iter().any(|arg| {
            arg.known()
                .is_none_or(|word| VERBS.contains(&word.as_ref()))
        }),
        _ => false,
    }
}

impl Machine<'_> {
    /// Calls a command; gives what it writes to its output.
    pub(crate) fn call(&mut self, argv: &[Field], state: &mut State) -> Out {
        self.called(argv, Lookup::Functions, state)
    }

    /// Calls a command past the functions of the line, as `command`, `exec` and `builtin` do.
    pub(crate) fn call_program(&mut self, argv: &[Field], state: &mut State) -> Out {
        self.called(argv, Lookup::Programs, state)
    }

    fn called(&mut self, argv: &[Field], lookup: Lookup, state: &mut State) -> Out {
        // `time -- command`: the grammar leaves the dashes with the words.
        let argv = match argv.split_first() {
            Some((first, rest)) if first.known().as_deref() == Some("--") => rest,
            _ => argv,
        };
        if !self.step() {
            return Out::Unknown(Taint::NONE);
        }
        // Long calls cost more: their words are copied.
        self.spend(argv.len() / 8);
        let Some((first, args)) = argv.split_first() else {
            return Out::empty();
        };
        let before = self.current;
        self.current = self.note(argv, lookup, state);
        self.by = first.shown();
        // However it was set: by `read`, `printf -v`, a loop, a list.
        for (name, value) in std::mem::take(&mut state.heeded) {
            programs::environment(self, &name, &value, state);
        }
        let out = self.dispatch(first, args, argv, lookup, state);
        if turns(first, args) {
            self.turn();
        }
        self.current = before;
        out
    }

    /// Lists a command, and says where.
    fn note(&mut self, argv: &[Field], lookup: Lookup, state: &State) -> Option<usize> {
        if self.steps.len() >= crate::limits::MAX_EFFECTS {
            return None;
        }
        let shown = || argv.iter().take(64);
        let is_function = lookup == Lookup::Functions
            && argv
                .first()
                .and_then(Field::known)
                .is_some_and(|name| state.functions.contains_key(name.as_ref()));
        self.steps.push(Step {
            depth: self.depth.saturating_sub(1),
            words: shown().map(Field::shown).collect(),
            literal: shown()
                .map(|word| !word.has_glob() && word.known().is_some())
                .collect(),
            parent: self.current,
            cwd: state.cwd.clone(),
            plain: !is_function && !state.sets_variables,
            span: self.span.clone(),
        });
        Some(self.steps.len() - 1)
    }

    /// Finds out what a command is, and follows it.
    fn dispatch(
        &mut self,
        first: &Field,
        args: &[Field],
        argv: &[Field],
        lookup: Lookup,
        state: &mut State,
    ) -> Out {
        if first.has_glob() {
            self.pattern_name(argv, state);
            return Out::Unknown(Taint::NONE);
        }
        let Some(name) = first.known().map(|name| name.into_owned()) else {
            self.unknown_name(argv, state);
            return Out::Unknown(first.taint().risky());
        };
        if lookup == Lookup::Functions
            && let Some(body) = state.functions.get(&name).cloned()
        {
            let before = std::mem::replace(&mut state.output, Out::empty());
            self.function(&name, &body, args, state);
            return std::mem::replace(&mut state.output, before);
        }
        self.program(&name, args, state)
    }

    /// Follows a program or a builtin that was looked up.
    fn program(&mut self, name: &str, args: &[Field], state: &mut State) -> Out {
        if name.is_empty() {
            return Out::empty();
        }
        if !name.is_ascii() {
            self.act(&rules::opaque::LETTERS);
        }
        let Some((folder, base)) = name.rsplit_once('/') else {
            if state.search_changed && !programs::is_builtin(name) {
                self.act(&rules::persistence::ENVIRONMENT);
            }
            return programs::run(self, &Call { name, args }, state);
        };
        let folder = format!("{folder}/");
        let normal = crate::place::normal(&folder, None, &state.links) + "/";
        if name.starts_with('/') && SYSTEM.contains(&normal.as_str()) {
            return programs::run(self, &Call { name: base, args }, state);
        }
        // A program by its path: what it does isn't known, unless this line wrote it.
        let field = Field::lit(name);
        let target = self.path(Role::Execute, &field, state);
        match self.content(&target.path, state) {
            Out::Known(text) if !text.is_empty() => {
                self.script(&text, args, state);
            }
            _ => {
                self.suspect_file(&target.path, state);
                self.act(if target.place == crate::place::Place::Inside {
                    &rules::opaque::SCRIPT
                } else {
                    &rules::opaque::PROGRAM
                });
            }
        }
        // A copy of a known program does harm under any name.
        let mut copy = vec![Field::lit(base)];
        copy.extend(args.iter().cloned());
        if programs::is_known(base) {
            self.suspect_call(&copy, state);
        } else {
            programs::suspect_tail(self, args, state);
        }
        Out::Unknown(Taint::NONE)
    }

    /// Runs known text as a script with arguments.
    pub(crate) fn script(&mut self, text: &str, args: &[Field], state: &State) -> Out {
        let mut inside = state.clone();
        inside.output = Out::empty();
        inside.positional = args.to_vec();
        inside.positional_known = true;
        let other = text
            .strip_prefix("#!")
            .and_then(|rest| rest.lines().next())
            .filter(|line| !line.contains("sh"));
        match other {
            Some(_) => {
                self.act(&rules::opaque::SCRIPT);
                programs::inline::scan(self, text, "python", &inside);
                Out::Unknown(Taint::NONE)
            }
            None => {
                self.inner(text, &mut inside);
                inside.output
            }
        }
    }
}
