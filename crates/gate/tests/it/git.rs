//! D3, G1, G2: looks at a repository, their verdicts and what they say.

use deputize_authority::{Consent, Level, Preset, Promise, Tool, WorkspaceMode};
use deputize_gate::{
    Call, Class, Contained, Context, Effect, Fact, PathFact, ProgramFact, Verdict, decide, queries,
};
use serde_json::{Value, json};

use crate::repository::Repository;
use crate::world::{context, folder, grant_with, program};

fn facts() -> [Fact; 3] {
    [
        Fact::Path(folder("/w")),
        program("sh", "/usr/bin/dash"),
        program("git", "/usr/bin/git"),
    ]
}

struct Stance {
    preset: Preset,
    mode: WorkspaceMode,
    boundary: Level,
    held: &'static [Promise],
    approved: &'static [Consent],
}

const LOOKING: Stance = Stance {
    preset: Preset::ReadOnlyGit,
    mode: WorkspaceMode::Direct,
    boundary: Level::Full,
    held: &Promise::ALL,
    approved: &[],
};

fn judged(stance: &Stance, arguments: Value, facts: &[Fact]) -> Verdict {
    let grant = grant_with(stance.preset, stance.mode, &[Tool::Git]);
    let context = Context {
        boundary: stance.boundary,
        held: stance.held,
        approved: stance.approved,
        agreed: &[],
        ..context(&grant)
    };
    decide(Call::parse("git", &arguments).unwrap(), facts, &context)
}

#[track_caller]
fn assert_verdict(stance: &Stance, word: &str, rule: &str) {
    let verdict = judged(stance, json!({"op": "status"}), &facts());
    assert_eq!(
        (verdict.word(), verdict.rule().id),
        (word, rule),
        "{verdict:?}"
    );
}

#[test]
fn g3_a_look_is_allowed_where_git_can_change_nothing() {
    assert_verdict(&LOOKING, "allow", "git.read");
    let general = Stance {
        preset: Preset::General,
        ..LOOKING
    };
    assert_verdict(&general, "ask", "git.ask");
    assert_verdict(
        &Stance {
            mode: WorkspaceMode::CopyOnWrite,
            ..general
        },
        "allow",
        "git.read",
    );
    assert_verdict(
        &Stance {
            approved: &[Consent::Shell],
            ..general
        },
        "allow",
        "git.approved",
    );
    let lesser = Level::LandlockSeccomp;
    let needs = Preset::ReadOnlyGit.needs();
    let weaker = |boundary, held| Stance {
        boundary,
        held,
        ..LOOKING
    };
    assert_verdict(&weaker(lesser, needs), "allow", "git.read");
    assert_verdict(&weaker(lesser, &needs[1..]), "deny", "exec.promise_missing");
    assert_verdict(&weaker(Level::None, needs), "deny", "exec.uncontained");
}

#[test]
fn the_effect_of_a_look_is_known() {
    let arguments = json!({"op": "diff", "rev": "HEAD~1", "paths": ["src"]});
    let Verdict::Allow(allowed) = judged(&LOOKING, arguments, &facts()) else {
        panic!("not allowed");
    };
    assert_eq!(allowed.contained, Contained::No);
    assert_eq!(
        allowed.effects,
        [Effect::Execute {
            program: "/usr/bin/git".into(),
            argv: ["git", "diff", "HEAD~1", "src"].map(Into::into).to_vec(),
            class: Class::History,
        }]
    );
    assert_eq!(
        allowed.effects[0].describe(),
        "looks at the history with /usr/bin/git"
    );
}

#[test]
fn g4_g9_paths_of_a_look_are_judged_and_nothing_is_asked_about_denied_ones() {
    for (path, rule) in [
        ("../x", "path.outside"),
        ("/etc/passwd", "path.outside"),
        ("/lib/docs/a", "path.outside"),
        (".env", "secret.denied"),
        ("a/.ssh/id", "secret.denied"),
    ] {
        for arguments in [
            json!({"op": "status", "paths": ["a", path]}),
            json!({"op": "show", "path": path}),
            json!({"op": "blame", "path": path}),
        ] {
            let verdict = judged(&LOOKING, arguments.clone(), &facts());
            assert_eq!(
                (verdict.word(), verdict.rule().id),
                ("deny", rule),
                "{arguments}"
            );
            let grant = grant_with(Preset::ReadOnlyGit, WorkspaceMode::Direct, &[Tool::Git]);
            let call = Call::parse("git", &arguments).unwrap();
            assert_eq!(queries(&call, &context(&grant)), []);
        }
    }
}

#[test]
fn without_git_or_with_another_folder_nothing_runs() {
    let none = Fact::Program(ProgramFact {
        asked: "git".into(),
        canonical: None,
        device: 0,
        inode: 0,
    });
    let [path, sh, git] = facts();
    let swapped = Fact::Path(PathFact {
        inode: 3,
        ..folder("/w")
    });
    let status = || json!({"op": "status"});
    for (facts, rule) in [
        (vec![path.clone(), sh.clone(), none], "program.missing"),
        (vec![swapped, sh.clone(), git.clone()], "cwd.changed"),
        (vec![path.clone(), git, sh.clone()], "facts.missing"),
        (vec![path, sh], "facts.missing"),
        (vec![], "facts.missing"),
    ] {
        let verdict = judged(&LOOKING, status(), &facts);
        assert_eq!((verdict.word(), verdict.rule().id), ("deny", rule));
    }
}

/// Every look says what it should, through the whole of the neutral configuration.
#[test]
fn d3_looks_answer() {
    let repository = Repository::new();
    assert_eq!(
        repository.told(&json!({"op": "status"})),
        "## main\n M a.txt\nM  sub/b.txt\n"
    );
    assert_eq!(
        repository.told(&json!({"op": "status", "paths": ["sub", "no/such"]})),
        "## main\nM  sub/b.txt\n"
    );
    let diff = repository.told(&json!({"op": "diff"}));
    assert!(diff.contains("--- a/a.txt\n+++ b/a.txt\n"), "{diff}");
    assert!(
        diff.contains("-two\n+TWO\n") && !diff.contains("staged"),
        "{diff}"
    );
    let bare = repository.told(&json!({"op": "diff", "context": 0}));
    assert!(!bare.contains("\n one\n"), "{bare}");
    let staged = repository.told(&json!({"op": "diff", "staged": true, "output": "names"}));
    assert_eq!(staged, "M\tsub/b.txt\n");
    let range = repository.told(&json!({"op": "diff", "rev": "HEAD~1..HEAD", "output": "stat"}));
    assert!(range.contains("1 file changed, 1 insertion(+)"), "{range}");
    let log = repository.told(&json!({"op": "log"}));
    let lines: Vec<&str> = log.lines().collect();
    assert_eq!(lines.len(), 2);
    assert!(lines[0].ends_with(" A (HEAD -> main) second"), "{log}");
    assert!(lines[1].ends_with(" A first"), "{log}");
    let one = repository.told(&json!({"op": "log", "limit": 1, "output": "patch"}));
    assert!(
        one.contains("\n    second\n") && one.contains("\n+three\n"),
        "{one}"
    );
    let path = repository.told(&json!({"op": "log", "path": "sub"}));
    assert_eq!(path.lines().count(), 1);
    let shown = repository.told(&json!({"op": "show", "rev": "HEAD~1", "output": "names"}));
    assert!(shown.contains("A\ta.txt\nA\tsub/b.txt\n"), "{shown}");
    let file = repository.told(&json!({"op": "show", "rev": "HEAD", "path": "./sub/../a.txt"}));
    assert_eq!(file, "one\ntwo\nthree\n");
    let blame = repository.told(&json!({"op": "blame", "path": "a.txt", "start": 3}));
    assert!(
        blame.contains("A 20") && blame.ends_with("3) three\n"),
        "{blame}"
    );
    assert_eq!(blame.lines().count(), 1);
}

/// Paths are names, whatever git would make of them, and nothing is taken for an option.
#[test]
fn odd_names_are_only_names() {
    let repository = Repository::new();
    for name in [
        "-rf",
        ":(exclude)x",
        ":x",
        "*",
        "a\nb",
        "é",
        "--output=x",
        "HEAD",
        "q\"'$(x)",
    ] {
        repository.write(name, "1\n");
        repository.git(&["--literal-pathspecs", "add", "--", name]);
        repository.git(&["commit", "-q", "-m", "odd"]);
        repository.write(name, "2\n");
        let path = format!("./{name}");
        let status = repository.told(&json!({"op": "status", "path": path}));
        assert_eq!(status.lines().count(), 2, "{name:?}: {status}");
        for look in [
            json!({"op": "diff", "path": path}),
            json!({"op": "log", "path": path}),
            json!({"op": "show", "path": path}),
            json!({"op": "blame", "path": path}),
        ] {
            assert!(repository.told(&look).contains(['1', 'o']), "{look}");
        }
    }
    for rev in [
        "HEAD --output=x",
        "no such",
        "$(x)",
        "@{-1}..",
        "HEAD^{/a b}",
    ] {
        let output = repository.look(&json!({"op": "log", "rev": rev}));
        assert!(!output.status.success(), "{rev}");
    }
    assert!(!repository.path("x").exists());
}

/// Other people's folders, folders without a repository, and a repository around the workspace.
#[test]
fn only_a_repository_of_the_workspace_is_looked_at() {
    let repository = Repository::empty();
    let output = repository.look(&json!({"op": "status"}));
    assert_eq!(output.status.code(), Some(128));
    // One above is none of the workspace's.
    assert!(
        repository
            .plainly(&repository.beside(""), &["init", "-q"])
            .status
            .success()
    );
    assert_eq!(
        repository.look(&json!({"op": "status"})).status.code(),
        Some(128)
    );
    let repository = Repository::new();
    if std::os::unix::fs::chown(repository.path(""), Some(4711), Some(4711)).is_ok() {
        let refused = repository.plainly(&repository.path(""), &["status"]);
        assert!(!refused.status.success(), "the owner doesn't matter to git");
        repository.told(&json!({"op": "status"}));
    }
}

/// G9: what was committed once is not shown either, by whatever look, unless its class is allowed.
#[test]
fn g9_secrets_in_the_history_are_left_out() {
    let repository = Repository::new();
    let secrets = [
        ".env",
        "app/.env.local",
        "deploy/prod.env",
        "x/.SSH/config",
        "k/id_rsa",
        "k/store.P12",
        ".aws/credentials",
        ".config/gh/hosts.yml",
        "home/.kube/deep/er/config",
    ];
    for path in secrets {
        repository.write(path, "SECRET\n");
    }
    repository.write("src/plain.txt", "PLAIN\n");
    repository.git(&["add", "-f", "."]);
    repository.git(&["commit", "-q", "-m", "all of them"]);
    let blob = repository.git(&["rev-parse", "HEAD:.env"]);
    for path in secrets {
        repository.write(path, "SECRET 2\n");
    }
    repository.write("src/plain.txt", "PLAIN 2\n");
    for look in [
        json!({"op": "show"}),
        json!({"op": "log", "output": "patch"}),
        json!({"op": "diff"}),
        json!({"op": "diff", "rev": "HEAD~1"}),
        json!({"op": "diff", "rev": "HEAD~1..HEAD"}),
        json!({"op": "diff", "paths": [".", "src"]}),
    ] {
        let told = repository.told(&look);
        assert!(told.contains("PLAIN"), "{look}: {told}");
        assert!(!told.contains("SECRET"), "{look}: {told}");
    }
    // The control: git as anybody runs it shows each of them.
    let told = repository.git(&["show"]);
    assert_eq!(told.matches("+SECRET").count(), secrets.len());
    // Nor does a hash reach what a path doesn't.
    for look in [
        json!({"op": "show", "rev": blob}),
        json!({"op": "diff", "rev": blob, "path": "src/plain.txt"}),
        json!({"op": "log", "rev": blob, "output": "patch"}),
    ] {
        let output = repository.look(&look);
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(!told.contains("SECRET"), "{look}: {told}");
    }
}
