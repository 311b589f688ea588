//! Package managers and build tools, by program and first word.

use super::{Handler, lists};
use crate::effect::Role;
use crate::machine::{Call, Machine, State};
use crate::rules::{self, Rule, package};
use crate::value::{Field, Out, Taint};

/// A manager: the words that only look or edit the workspace, what its others come to.
struct Manager {
    names: &'static str,
    /// First words (or whole beginnings) that are harmless.
    looks: &'static str,
    /// First words that publish or take back.
    publishes: &'static str,
    /// First words that remove from the machine.
    removes: &'static str,
    rule: &'static Rule,
}

static MANAGERS: &[Manager] = &[
    Manager {
        names: "cargo",
        looks: "tree, version, metadata, fmt, locate-project, read-manifest, pkgid, verify-project, help, \
        --list, clean, config, init, new",
        publishes: "publish, yank, owner",
        removes: "",
        rule: &package::HOOKS,
    },
    Manager {
        names: "npm pnpm yarn bun cnpm",
        looks: "ls, list, ll, la, root, prefix, bin, explain, why, help, version --json, config get, \
        config list, pkg get, licenses list, pm ls, -version",
        publishes: "publish, unpublish, deprecate, owner, access, dist-tag, token, npm publish, pm publish",
        removes: "",
        rule: &package::HOOKS,
    },
    Manager {
        names: "pip pip3 pipx",
        looks: "list, show, freeze, check, help, debug, inspect, cache dir, config list",
        publishes: "",
        removes: "",
        rule: &package::HOOKS,
    },
    Manager {
        names: "uv poetry pdm hatch rye pipenv flit",
        looks: "tree, version, pip list, pip freeze, pip show, python list, show, check, help, env info, \
        env list, self version",
        publishes: "publish",
        removes: "",
        rule: &package::HOOKS,
    },
    Manager {
        names: "go",
        looks: "version, env, fmt, doc, help, bug",
        publishes: "",
        removes: "",
        rule: &package::HOOKS,
    },
    Manager {
        names: "gem",
        looks: "list, which, environment, help, specification, contents",
        publishes: "push, yank, owner",
        removes: "",
        rule: &package::HOOKS,
    },
    Manager {
        names: "twine",
        looks: "check",
        publishes: "upload, register",
        removes: "",
        rule: &package::HOOKS,
    },
    Manager {
        names: "apt apt-get aptitude dnf yum zypper brew port snap flatpak apk pacman yay paru emerge \
        xbps-install xbps-remove nix-env nix guix pkg pkg_add choco winget scoop rpm dpkg apt-mark \
        apt-key add-apt-repository opkg swupd",
        looks: "list, show, search, info, -l, -L, -S, -s, -q, -qa, -ql, -qi, -Q, -Qi, -Qs, -Ql, -Ss, -Si, \
        policy, depends, rdepends, deps, --version, leaves, outdated, config, doctor, why, -I, \
        showpkg, madison, provides, repolist, history",
        publishes: "",
        removes: "remove, purge, autoremove, erase, uninstall, -R, -Rs, -Rns, -Rdd, -Rcns, -r, -P, --purge, \
        --remove, -e, del, rm, delete, --unmerge, -C, zap, clean-all",
        rule: &package::SYSTEM,
    },
    Manager {
        names: "make gmake cmake ninja meson bazel bazelisk buck buck2 pants scons waf just task mage \
        invoke tox nox pytest py.test unittest jest vitest mocha ava cypress playwright karma tsc \
        eslint prettier webpack vite rollup esbuild parcel next nuxt gatsby ng vue turbo nx lerna \
        gulp grunt npx pnpx bunx yarnx uvx bundle bundler composer mvn mvnw gradle gradlew ant sbt \
        lein dotnet nuget msbuild swiftc xcodebuild pod fastlane flutter dart mix rebar3 stack \
        cabal opam dune conda mamba micromamba rustup rustc nvm fnm volta asdf mise pyenv rbenv \
        sdk corepack pre-commit husky lefthook mypy pyright pylint flake8 tox-uv coverage \
        cargo-nextest trunk wasm-pack cross maturin setup.py gcc g++ cc c++ clang clang++ ld javac \
        java kotlinc scalac erlc ghc rspec phpunit artisan phpstan ember expo electron storybook \
        changeset semantic-release release-it nodenv air gotestsum golangci-lint ginkgo wire \
        protoc buf sqlc act earthly dagger tilt skaffold direnv devbox nix-shell nix-build lix \
        solc forge hardhat truffle anchor zig nimble vcpkg conan autoreconf autoconf automake \
        configure jupyter streamlit uvicorn gunicorn flask django-admin celery airflow dbt \
        ansible-galaxy rails-none rake-none cap",
        looks: "--version, version, --help, help, --list, -version, list",
        publishes: "semantic-release",
        removes: "",
        rule: &package::HOOKS,
    },
];

pub(super) fn handler(name: &str) -> Option<Handler> {
    manager(name).map(|_| run as Handler)
}

fn manager(name: &str) -> Option<&'static Manager> {
    MANAGERS.iter().find(|manager| lists(manager.names, name))
}

fn run(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    // Settings that are kept: they name programs and flags for what runs later.
    if call.name == "go"
        && call.args.first().and_then(Field::known).as_deref() == Some("env")
        && call.args.iter().any(|arg| {
            let text = arg.prefix();
            let name = text.trim_start_matches('-').split('=').next();
            text.starts_with('-') && matches!(name, Some("w" | "u"))
        })
    {
        machine.act(&rules::persistence::ENVIRONMENT);
    }
    let Some(manager) = manager(call.name) else {
        return Out::empty();
    };
    let words: Vec<String> = call.args.iter().map(Field::shown).collect();
    if super::sql::resets(&format!("{} {}", call.name, words.join(" "))) {
        machine.act(&rules::remote::DATABASE_DESTROY);
    }
    if call.name == "bun" {
        for pair in words.windows(2) {
            if matches!(pair[0].as_str(), "-e" | "--eval" | "-p" | "--print") {
                super::inline::scan(machine, &pair[1], "javascript", state);
                machine.act(&rules::opaque::CODE);
            }
        }
    }
    // `cargo +nightly …`, `npm --prefix x …`
    let mut at = 0;
    while let Some(word) = words.get(at) {
        if word.starts_with('+') && call.name == "cargo"
            || matches!(
                word.as_str(),
                "--offline"
                    | "--quiet"
                    | "-q"
                    | "--silent"
                    | "--locked"
                    | "--frozen"
                    | "-s"
                    | "-y"
                    | "--yes"
            ) && manager.rule != &package::SYSTEM
        {
            at += 1;
        } else if matches!(
            word.as_str(),
            "--prefix"
                | "--cwd"
                | "-C"
                | "--dir"
                | "--project"
                | "--directory"
                | "--manifest-path"
                | "--filter"
                | "-w"
                | "--workspace"
                | "--config"
        ) && manager.rule != &package::SYSTEM
            && !matches!(call.name, "make" | "gmake")
        {
            if word == "--config" {
                machine.act(&rules::opaque::OPTION);
            }
            at += 2;
        } else {
            break;
        }
    }
    let rest = words.get(at..).unwrap_or_default();
    let line = rest.join(" ");
    let starts = |forms: &str| {
        forms
            .split(", ")
            .filter(|form| !form.is_empty())
            .any(|form| {
                line == form
                    || line
                        .strip_prefix(form)
                        .is_some_and(|rest| rest.starts_with(' '))
            })
    };
    carried(machine, call, &words, state);
    written(machine, call, &words, state);
    if starts(manager.publishes) && !words.iter().any(|word| word == "--dry-run" || word == "-n") {
        machine.act(&package::PUBLISH);
        return Out::Unknown(Taint::NONE);
    }
    if starts(manager.removes)
        || manager.rule == &package::SYSTEM
            && rest.iter().any(|word| {
                manager.removes.split(", ").any(|form| form == word) && !word.starts_with("-e")
            })
    {
        machine.act(&package::REMOVED);
        return Out::Unknown(Taint::NONE);
    }
    let global = words.iter().any(|word| {
        matches!(
            word.as_str(),
            "-g" | "--global" | "--system" | "--break-system-packages"
        )
    }) || rest.first().is_some_and(|word| word == "global");
    if starts(manager.looks)
        || rest.is_empty()
            && matches!(
                call.name,
                "go" | "cargo" | "npm" | "pnpm" | "brew" | "apt" | "pip" | "uv"
            )
    {
        // `npm ls` and the like read the workspace; a version is printed.
        return Out::Unknown(Taint::NONE);
    }
    machine.act(if global && manager.rule == &package::HOOKS {
        &package::SYSTEM
    } else {
        manager.rule
    });
    // An index, a proxy or a source that is named by its address.
    for word in words.iter().filter(|word| word.contains("://")) {
        let from = word
            .rfind(['=', '+'])
            .filter(|at| word[..*at].find("://").is_none());
        let address = Field::lit(&word[from.map_or(0, |at| at + 1)..]);
        machine.network(super::net::host(&address));
    }
    let fetches = rest.first().is_some_and(|word| {
        matches!(
            word.as_str(),
            "install"
                | "add"
                | "i"
                | "ci"
                | "update"
                | "upgrade"
                | "get"
                | "download"
                | "fetch"
                | "sync"
                | "search"
                | "view"
                | "audit"
                | "login"
                | "create"
                | "dlx"
                | "exec"
                | "x"
        )
    });
    if fetches {
        machine.network(None);
    }
    Out::Unknown(Taint::NONE)
}

/// Arguments that are commands.
fn carried(machine: &mut Machine<'_>, call: &Call<'_>, words: &[String], state: &State) {
    match call.name {
        "make" | "gmake" => {
            for arg in call.args {
                let text = arg.shown();
                if let Some((name, value)) = text.split_once('=').filter(|_| !text.starts_with('-'))
                {
                    // A variable of make that names a program, or whose value is evaluated.
                    if name == "SHELL" || value.contains("$(shell") || value.contains(' ') {
                        let code = value.trim_start_matches("$(shell ").trim_end_matches(')');
                        machine.suspect(code, state);
                    }
                }
                if let Some(code) = text.strip_prefix("--eval=") {
                    eval(machine, code, state);
                }
            }
            for (at, word) in words.iter().enumerate() {
                let Some(next) = call.args.get(at + 1) else {
                    break;
                };
                match word.as_str() {
                    "--eval" | "-E" => eval(machine, &next.shown(), state),
                    "-f" | "--file" | "--makefile" if next.shown() != "-" => {
                        if let Out::Known(text) = machine.read_file(next, state) {
                            recipes(machine, &text, state);
                        }
                    }
                    _ => {}
                }
            }
        }
        _ => {
            for text in words.iter().filter(|text| text.contains(' ')) {
                machine.suspect(text, state);
            }
            super::suspect_tail(machine, call.args, state);
        }
    }
    // A makefile or script on the input.
    if let Some(Out::Known(text)) = state.input.clone() {
        recipes(machine, &text, state);
    }
}

/// The lines of a makefile.
fn recipes(machine: &mut Machine<'_>, text: &str, state: &State) {
    for line in text.lines().take(64) {
        let line = shell_of(line.trim_start_matches(['\t', '@', '-']));
        machine.suspect(&line, state);
    }
}

/// A recipe as the shell gets it: `$(HOME)` is a variable of make's, and `$$` a dollar.
fn shell_of(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("$(") {
        out.push_str(before);
        let name = after.split_once(')').filter(|(name, _)| {
            !name.is_empty()
                && name
                    .chars()
                    .all(|c| c.is_ascii_uppercase() || c == '_' || c.is_ascii_digit())
        });
        rest = match name {
            Some((name, after)) => {
                out.push_str(&format!("${{{name}}}"));
                after
            }
            None => {
                out.push_str("$(");
                after
            }
        };
    }
    out.push_str(rest);
    out.replace("$$", "$")
}

/// `make --eval='x:;rm -rf /'`.
fn eval(machine: &mut Machine<'_>, code: &str, state: &State) {
    for piece in code.split([';', '\n', '\t']) {
        let piece = piece
            .trim()
            .trim_start_matches("$(shell ")
            .trim_end_matches(')');
        machine.suspect(piece.trim_start_matches(['@', '-']), state);
    }
    if let Some(at) = code.find("$(shell ") {
        machine.suspect(code[at + 8..].trim_end_matches(')'), state);
    }
}

/// Options that say where something is written.
fn written(machine: &mut Machine<'_>, call: &Call<'_>, words: &[String], state: &State) {
    for (at, word) in words.iter().enumerate() {
        let named = matches!(
            word.as_str(),
            "--target"
                | "-t"
                | "--target-dir"
                | "--prefix"
                | "--root"
                | "--out-dir"
                | "--outDir"
                | "--output"
                | "-o"
                | "--install-dir"
                | "--outdir"
                | "--out"
                | "-d"
                | "--log-file"
        );
        let fits = match call.name {
            "pip" | "pip3" => matches!(word.as_str(), "-t" | "--target" | "--prefix" | "--root"),
            "cargo" => matches!(word.as_str(), "--root" | "--target-dir" | "--out-dir"),
            "make" | "gmake" | "jest" | "pytest" => false,
            _ => {
                named && word != "-t" && word != "-d"
                    || matches!(call.name, "javac") && word == "-d"
            }
        };
        if fits && let Some(path) = call.args.get(at + 1) {
            machine.path(Role::Write, path, state);
        }
        if let Some((name, _)) = word.split_once('=')
            && matches!(
                name,
                "--target"
                    | "--prefix"
                    | "--root"
                    | "--target-dir"
                    | "--outDir"
                    | "--out-dir"
                    | "--outdir"
                    | "--output"
                    | "DESTDIR"
                    | "PREFIX"
                    | "prefix"
            )
            && !(call.name == "cargo" && name == "--target")
        {
            let value = call.args[at].after(name.len() + 1);
            machine.path(Role::Write, &value, state);
        }
    }
    // A folder to work in that lies outside.
    for pair in words.windows(2) {
        if matches!(
            pair[0].as_str(),
            "-C" | "--directory" | "--cwd" | "--manifest-path"
        ) && !matches!(call.name, "apt" | "apt-get" | "pacman")
        {
            machine.path(Role::Read, &Field::lit(&pair[1]), state);
        }
    }
}
