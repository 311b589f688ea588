//! H8: a look at a hostile repository runs nothing of it, with the real git. Each attack has its
//! control: git as anybody runs it does run the attacker's program.

use std::fs;

use serde_json::{Value, json};

use crate::repository::Repository;

/// One way to make git run something.
struct Attack {
    name: &'static str,
    set_up: fn(&Repository),
    /// What git does in the workspace that runs it.
    control: &'static [&'static str],
}

const fn attack(
    name: &'static str,
    set_up: fn(&Repository),
    control: &'static [&'static str],
) -> Attack {
    Attack {
        name,
        set_up,
        control,
    }
}

/// Names a program in the repository's configuration.
fn name(repository: &Repository, key: &str) {
    repository.git(&["config", key, &repository.canary()]);
}

fn attributes(repository: &Repository, line: &str) {
    repository.write(".git/info/attributes", &format!("{line}\n"));
}

const STATUS: &[&str] = &["status"];
const DIFF: &[&str] = &["diff"];
const LOG: &[&str] = &["log", "-p"];

const ATTACKS: &[Attack] = &[
    attack("fsmonitor", |r| name(r, "core.fsmonitor"), STATUS),
    attack(
        "filter in the tree",
        |r| {
            name(r, "filter.evil.clean");
            name(r, "filter.evil.smudge");
            r.git(&["config", "filter.evil.required", "true"]);
            r.write(".gitattributes", "* filter=evil\n");
        },
        DIFF,
    ),
    attack(
        "filter in the info file",
        |r| {
            name(r, "filter.evil.clean");
            attributes(r, "* filter=evil");
        },
        STATUS_OF_TOUCHED,
    ),
    attack(
        "filter process",
        |r| {
            name(r, "filter.evil.process");
            attributes(r, "* filter=evil");
        },
        DIFF,
    ),
    attack(
        "filters with odd names",
        |r| {
            for key in [
                "filter.we ird.Ä*?.clean",
                "filter.-c.clean",
                "filter.\\.clean",
            ] {
                name(r, key);
            }
            r.append(
                ".git/config",
                &format!("[filter \"q\\\"$(x)\"]\n\tclean = {}\n", r.canary()),
            );
            attributes(r, "*.txt filter=-c");
        },
        DIFF,
    ),
    attack(
        "filter from an included file",
        |r| {
            let evil = r.beside("evil.config");
            let clean = r.canary();
            fs::write(&evil, format!("[filter \"evil\"]\n\tclean = {clean}\n")).unwrap();
            r.git(&["config", "include.path", evil.to_str().unwrap()]);
            attributes(r, "* filter=evil");
        },
        DIFF,
    ),
    attack(
        "filter from a worktree's configuration",
        |r| {
            r.git(&["config", "extensions.worktreeConfig", "true"]);
            let clean = r.canary();
            r.git(&["config", "--worktree", "filter.evil.clean", &clean]);
            attributes(r, "* filter=evil");
        },
        DIFF,
    ),
    attack(
        "filter with another attributes file",
        |r| {
            name(r, "filter.evil.clean");
            let file = r.beside("attributes");
            fs::write(&file, "* filter=evil\n").unwrap();
            r.git(&["config", "core.attributesFile", file.to_str().unwrap()]);
        },
        DIFF,
    ),
    attack("external diff", |r| name(r, "diff.external"), DIFF),
    attack(
        "diff driver",
        |r| {
            name(r, "diff.evil.command");
            attributes(r, "* diff=evil");
        },
        DIFF,
    ),
    attack(
        "textconv",
        |r| {
            name(r, "diff.evil.textconv");
            attributes(r, "* diff=evil");
        },
        LOG,
    ),
    attack(
        "textconv of blame",
        |r| {
            name(r, "diff.evil.textconv");
            attributes(r, "* diff=evil");
        },
        &["blame", "HEAD", "--", "a.txt"],
    ),
    attack("alias", |r| r.alias("status"), &["stat"]),
    attack(
        "hook of the index",
        |r| {
            r.executable(".git/hooks/post-index-change");
            r.touch();
        },
        STATUS,
    ),
    attack(
        "hooks elsewhere",
        |r| {
            r.git(&["config", "core.hooksPath", "hooks"]);
            r.executable("hooks/post-index-change");
            r.touch();
        },
        STATUS,
    ),
    attack(
        "signatures",
        |r| {
            r.signed();
            name(r, "gpg.program");
            r.git(&["config", "log.showSignature", "true"]);
        },
        &["log", "-1"],
    ),
    attack(
        "signatures of another kind, by a format",
        |r| {
            r.signed();
            name(r, "gpg.openpgp.program");
            r.git(&["config", "format.pretty", "%G?"]);
        },
        &["log", "-1"],
    ),
    attack(
        "submodule",
        |r| {
            r.submodule();
            let monitor = r.canary();
            r.git_in("module", &["config", "core.fsmonitor", &monitor]);
        },
        STATUS,
    ),
    attack(
        "filter of a submodule",
        |r| {
            r.submodule();
            let clean = r.canary();
            r.git_in("module", &["config", "filter.evil.clean", &clean]);
            r.write(".git/modules/module/info/attributes", "* filter=evil\n");
            r.write("module/m.txt", "M\n");
        },
        DIFF,
    ),
    attack(
        "another common folder",
        |r| {
            r.copy_git_to("evil");
            r.write(".git/commondir", "../evil\n");
            let monitor = r.canary();
            r.append("evil/config", &format!("[core]\n\tfsmonitor = {monitor}\n"));
        },
        STATUS,
    ),
    attack(
        "another repository by a file",
        |r| {
            r.copy_git_to("evil");
            fs::remove_dir_all(r.path(".git")).unwrap();
            r.write(".git", "gitdir: evil\n");
            let clean = r.canary();
            r.append(
                "evil/config",
                &format!("[filter \"evil\"]\n\tclean = {clean}\n"),
            );
            r.write("evil/info/attributes", "* filter=evil\n");
        },
        DIFF,
    ),
    attack(
        "a repository that is the workspace",
        |r| {
            for name in ["HEAD", "config", "objects", "refs", "index"] {
                fs::rename(r.path(".git").join(name), r.path(name)).unwrap();
            }
            fs::remove_dir_all(r.path(".git")).unwrap();
            let monitor = r.canary();
            let work = r.path("sub");
            let core = format!(
                "[core]\n\trepositoryFormatVersion = 0\n\tbare = false\n\tworktree = {}\n",
                work.display()
            );
            r.write("config", &format!("{core}\tfsmonitor = {monitor}\n"));
        },
        STATUS,
    ),
    attack(
        "missing objects from a remote",
        |r| {
            r.append(
                ".git/config",
                &format!(
                    "[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\tpartialClone = o\n\
                     [remote \"o\"]\n\turl = ext::{}\n\tpromisor = true\n\
                     [protocol \"ext\"]\n\tallow = always\n[protocol \"file\"]\n\tallow = always\n",
                    r.mute_canary()
                ),
            );
            r.lose("HEAD:a.txt");
        },
        &["show", "HEAD:a.txt"],
    ),
    attack(
        "missing objects from a folder",
        |r| {
            let other = r.path("");
            r.append(
                ".git/config",
                &format!(
                    "[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\tpartialClone = o\n\
                     [remote \"o\"]\n\turl = file://{}\n\tuploadpack = {}\n\tpromisor = true\n\
                     [protocol \"file\"]\n\tallow = always\n",
                    other.display(),
                    r.mute_canary()
                ),
            );
            r.lose("HEAD:a.txt");
        },
        &["show", "HEAD:a.txt"],
    ),
];

const STATUS_OF_TOUCHED: &[&str] = &["status", "--porcelain"];

fn looks() -> Vec<Value> {
    vec![
        json!({"op": "status"}),
        json!({"op": "status", "path": "a.txt"}),
        json!({"op": "diff"}),
        json!({"op": "diff", "output": "stat"}),
        json!({"op": "diff", "staged": true}),
        json!({"op": "diff", "rev": "HEAD~1"}),
        json!({"op": "diff", "rev": "HEAD~1..HEAD", "path": "a.txt"}),
        json!({"op": "log"}),
        json!({"op": "log", "output": "patch"}),
        json!({"op": "log", "path": "a.txt"}),
        json!({"op": "show"}),
        json!({"op": "show", "path": "a.txt"}),
        json!({"op": "blame", "path": "a.txt"}),
        json!({"op": "blame", "path": "a.txt", "rev": "HEAD", "start": 1, "end": 2}),
    ]
}

#[test]
fn h8_no_look_runs_anything_that_a_repository_names() {
    for attack in ATTACKS {
        let repository = Repository::new();
        (attack.set_up)(&repository);
        repository.sung();
        for look in looks() {
            let output = repository.look(&look);
            let sung = repository.sung();
            assert!(
                sung.is_empty(),
                "{}: {look} ran {sung:?}: {output:?}",
                attack.name
            );
        }
        let output = repository.plainly(&repository.path(""), attack.control);
        let sung = repository.sung();
        assert!(
            !sung.is_empty(),
            "{}: the attack is none: {output:?}",
            attack.name
        );
    }
}

/// A pager is started for a terminal only, so both get one.
#[test]
fn h8_no_pager_is_started() {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

    let repository = Repository::new();
    name(&repository, "core.pager");
    name(&repository, "pager.log");
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY;
    let main = openpt(flags).unwrap();
    grantpt(&main).unwrap();
    unlockpt(&main).unwrap();
    let path = ptsname(&main, Vec::new()).unwrap();
    let terminal = || {
        let path = path.to_str().unwrap();
        fs::File::options()
            .read(true)
            .write(true)
            .open(path)
            .unwrap()
    };
    let mut look = repository.look_command(&json!({"op": "log"}));
    assert!(look.stdout(terminal()).status().unwrap().success());
    assert!(repository.sung().is_empty());
    let mut control = repository.plain_command(&repository.path(""), &["log"]);
    control.stdout(terminal()).status().unwrap();
    assert!(!repository.sung().is_empty(), "the attack is none");
}

/// What can't be switched off by its name isn't looked at.
#[test]
fn h8_a_filter_that_cannot_be_named_ends_the_look() {
    let repository = Repository::new();
    name(&repository, "filter.a=b.clean");
    attributes(&repository, "* filter=a=b");
    let output = repository.look(&json!({"op": "diff"}));
    assert_eq!(output.status.code(), Some(128));
    assert!(repository.sung().is_empty());
    repository.plainly(&repository.path(""), DIFF);
    assert!(!repository.sung().is_empty());
}

/// A look leaves the repository as it is, also where git would write its index anew.
#[test]
fn h8_a_look_writes_nothing() {
    let repository = Repository::new();
    repository.touch();
    let before = repository.snapshot();
    for look in looks() {
        repository.told(&look);
    }
    assert_eq!(repository.snapshot(), before);
    repository.git(STATUS);
    assert_ne!(repository.snapshot(), before, "the index was fresh");
}

impl Repository {
    fn alias(&self, name: &str) {
        let command = format!("!{}", self.canary());
        self.git(&["config", &format!("alias.{name}"), &command]);
        self.git(&["config", "alias.stat", &command]);
    }

    fn executable(&self, path: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        self.write(path, &format!("#!/bin/sh\n{}\n", self.canary()));
        fs::set_permissions(self.path(path), fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Makes what the index knows of a file's times wrong.
    fn touch(&self) {
        let file = fs::File::options()
            .write(true)
            .open(self.path("sub/b.txt"))
            .unwrap();
        file.set_modified(std::time::SystemTime::UNIX_EPOCH)
            .unwrap();
    }

    /// The newest commit gets something that looks like a signature.
    fn signed(&self) {
        let commit = self.git(&["cat-file", "commit", "HEAD"]);
        let (headers, message) = commit.split_once("\n\n").unwrap();
        let signature =
            "gpgsig -----BEGIN PGP SIGNATURE-----\n \n iQ==\n -----END PGP SIGNATURE-----";
        self.write("commit", &format!("{headers}\n{signature}\n\n{message}\n"));
        let hash = self.git(&["hash-object", "-t", "commit", "-w", "commit"]);
        self.git(&["update-ref", "HEAD", &hash]);
    }

    fn submodule(&self) {
        let source = self.beside("source");
        fs::create_dir(&source).unwrap();
        for arguments in [
            &["init", "-q", "-b", "main"][..],
            &["commit", "-q", "--allow-empty", "-m", "m"],
        ] {
            assert!(self.plainly(&source, arguments).status.success());
        }
        fs::write(source.join("m.txt"), "m\n").unwrap();
        assert!(self.plainly(&source, &["add", "."]).status.success());
        assert!(
            self.plainly(&source, &["commit", "-q", "-m", "m"])
                .status
                .success()
        );
        let source = source.to_str().unwrap();
        let file = "protocol.file.allow=always";
        self.git(&["-c", file, "submodule", "--quiet", "add", source, "module"]);
        self.git(&["commit", "-q", "-m", "module"]);
    }

    fn copy_git_to(&self, name: &str) {
        let status = std::process::Command::new("cp")
            .args(["-R"])
            .args([self.path(".git"), self.path(name)])
            .status();
        assert!(status.unwrap().success());
    }

    /// Takes an object away.
    fn lose(&self, object: &str) {
        let hash = self.git(&["rev-parse", object]);
        fs::remove_file(self.path(format!(".git/objects/{}/{}", &hash[..2], &hash[2..]))).unwrap();
    }

    /// Every file below, with its time and size.
    fn snapshot(&self) -> Vec<(std::path::PathBuf, std::time::SystemTime, u64)> {
        let mut out = Vec::new();
        let mut folders = vec![self.path("")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let stat = fs::symlink_metadata(&path).unwrap();
                if stat.is_dir() {
                    folders.push(path.clone());
                }
                out.push((path, stat.modified().unwrap(), stat.len()));
            }
        }
        out.sort();
        out
    }
}
