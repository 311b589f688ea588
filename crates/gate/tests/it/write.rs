//! G2, G4, G9: calls that change a file.

use deputize_authority::{Consent, Grant, Level, Preset, Promise, Tool, WorkspaceMode};
use deputize_gate::{
    Bound, Call, Change, Contained, Context, Effect, Fact, Kind, Outcome, PathFact, Query, Verdict,
    decide, queries,
};
use serde_json::json;

use crate::world::{context, file, folder, grant_with};

const CHANGING: [Tool; 2] = [Tool::Write, Tool::Edit];

fn grant(mode: WorkspaceMode) -> Grant {
    grant_with(Preset::General, mode, &CHANGING)
}

fn write(path: &str) -> Call {
    Call::parse("write", &json!({"path": path, "content": "x"})).unwrap()
}

fn edit(path: &str) -> Call {
    let arguments = json!({"path": path, "edits": [{"old": "a", "new": "b"}]});
    Call::parse("edit", &arguments).unwrap()
}

fn missing(asked: &str, folder: &str, rest: &str) -> PathFact {
    PathFact {
        outcome: Outcome::Missing,
        canonical: Some(folder.into()),
        rest: rest.into(),
        kind: Kind::Missing,
        inode: 80,
        ..file(asked)
    }
}

fn judged(mode: WorkspaceMode, call: Call, fact: PathFact) -> Verdict {
    decide(call, &[Fact::Path(fact)], &context(&grant(mode)))
}

#[track_caller]
fn assert_verdict(verdict: &Verdict, word: &str, rule: &str) {
    assert_eq!(
        (verdict.word(), verdict.rule().id),
        (word, rule),
        "{verdict:?}"
    );
}

#[test]
fn g11_a_change_of_a_copy_is_contained_and_one_of_the_folder_itself_is_a_question() {
    for call in [write("a"), edit("a")] {
        for mode in [WorkspaceMode::CopyOnWrite, WorkspaceMode::Worktree] {
            let verdict = judged(mode, call.clone(), file("/w/a"));
            assert_verdict(&verdict, "allow", "write.contained");
            let Verdict::Allow(allowed) = verdict else {
                panic!("not allowed");
            };
            assert_eq!(allowed.contained, Contained::Yes);
        }
        let verdict = judged(WorkspaceMode::Direct, call.clone(), file("/w/a"));
        assert_verdict(&verdict, "ask", "write.ask");
        let direct = grant(WorkspaceMode::Direct);
        let facts = [Fact::Path(file("/w/a"))];
        for (approved, word) in [([Consent::Write], "allow"), ([Consent::Shell], "ask")] {
            let context = Context {
                approved: &approved,
                ..context(&direct)
            };
            let verdict = decide(call.clone(), &facts, &context);
            assert_eq!(verdict.word(), word, "{approved:?}");
        }
    }
    // Another writable root is not in the copy.
    let verdict = judged(
        WorkspaceMode::CopyOnWrite,
        write("/lib/docs/a"),
        file("/lib/docs/a"),
    );
    assert_verdict(&verdict, "ask", "write.ask");
}

#[test]
fn g3_explore_changes_nothing_and_without_a_boundary_nothing_is_changed() {
    let explore = grant_with(Preset::ReadOnly, WorkspaceMode::CopyOnWrite, &CHANGING);
    let facts = [Fact::Path(file("/w/a"))];
    let verdict = decide(write("a"), &facts, &context(&explore));
    assert_verdict(&verdict, "deny", "mode.explore");
    let copy = grant(WorkspaceMode::CopyOnWrite);
    for (boundary, held) in [
        (Level::None, &Promise::ALL[..]),
        (Level::Full, &Promise::ALL[1..]),
    ] {
        let context = Context {
            boundary,
            held,
            ..context(&copy)
        };
        let verdict = decide(write("a"), &facts, &context);
        assert_verdict(&verdict, "deny", "write.uncontained");
    }
}

/// The sealed call holds what the worker compares: the file, or the folder and the names below it.
#[test]
fn g8_a_change_is_bound_to_what_was_seen() {
    let bound = |call, fact| match judged(WorkspaceMode::CopyOnWrite, call, fact) {
        Verdict::Allow(allowed) => {
            let Bound::Path(bound) = allowed.sealed.bound().clone() else {
                panic!("not a path");
            };
            assert!(allowed.sealed.start().is_none());
            (allowed.effects, bound)
        }
        other => panic!("{other:?}"),
    };
    let change = |path: &str, change| {
        vec![Effect::Write {
            path: path.into(),
            change,
        }]
    };
    let (effects, there) = bound(write("a"), file("/w/a"));
    assert_eq!(effects, change("/w/a", Change::Replace));
    assert_eq!(there.found.unwrap().inode, 77);
    assert_eq!(there.fresh, None);
    // The way there leads through a link.
    let (effects, new) = bound(write("l/new/b"), missing("/w/l/new/b", "/w/d", "new/b"));
    assert_eq!(effects, change("/w/d/new/b", Change::Create));
    let fresh = new.fresh.unwrap();
    assert_eq!(
        (fresh.folder.inode, fresh.rest.to_str()),
        (80, Some("new/b"))
    );
    assert_eq!(new.found, None);
    let (effects, _) = bound(edit("none"), missing("/w/none", "/w", "none"));
    assert_eq!(effects, change("/w/none", Change::Edit));
}

#[test]
fn g4_only_the_writable_roots_are_written_and_the_denial_names_them() {
    for path in ["../x", "/etc/passwd", "~/.bashrc", "/w2/a", "/lib/read/a"] {
        let grant = grant(WorkspaceMode::CopyOnWrite);
        let context = context(&grant);
        assert_eq!(queries(&write(path), &context), [], "{path}");
        let Verdict::Deny(denied) = decide(write(path), &[], &context) else {
            panic!("not denied");
        };
        assert_eq!(denied.rule.id, "write.outside");
        assert_eq!(denied.allowed_scope, ["/w", "/lib/docs"]);
    }
    let led = |canonical: &str| PathFact {
        canonical: Some(canonical.into()),
        ..file("/w/a")
    };
    let mode = WorkspaceMode::CopyOnWrite;
    assert_verdict(
        &judged(mode, write("a"), led("/lib/read/a")),
        "deny",
        "write.outside",
    );
    assert_verdict(
        &judged(mode, write("a"), led("/etc/passwd")),
        "deny",
        "path.escapes",
    );
    let outside = missing("/w/l/x", "/lib/read", "x");
    assert_verdict(
        &judged(mode, write("l/x"), outside),
        "deny",
        "write.outside",
    );
    assert_eq!(
        queries(&write("./a/../b"), &context(&grant(mode))),
        [Query::Path {
            path: "/w/b".into()
        }]
    );
}

#[test]
fn g4_only_a_regular_file_with_one_name_is_replaced() {
    let mode = WorkspaceMode::CopyOnWrite;
    for kind in [
        Kind::Folder,
        Kind::Fifo,
        Kind::Socket,
        Kind::Device,
        Kind::Other,
    ] {
        let fact = PathFact {
            kind,
            ..file("/w/a")
        };
        assert_verdict(&judged(mode, write("a"), fact), "deny", "path.not_a_file");
    }
    let linked = PathFact {
        links: 2,
        ..file("/w/a")
    };
    let verdict = judged(mode, edit("a"), linked);
    assert_verdict(&verdict, "deny", "write.hard_link");
    let Verdict::Deny(denied) = verdict else {
        panic!("not denied");
    };
    assert!(
        denied.message.contains("Copy it to a new name first"),
        "{}",
        denied.message
    );
    // Names that mean nothing below a missing folder.
    for rest in ["", "..", "a/../b", "/a"] {
        let verdict = judged(mode, write("a"), missing("/w/a", "/w", rest));
        assert_verdict(&verdict, "deny", "facts.missing");
    }
    assert_verdict(
        &judged(mode, write("a"), file("/w/b")),
        "deny",
        "facts.missing",
    );
}

/// By what is named, by where links lead, and through folders that aren't there yet.
#[test]
fn g4_protected_paths_are_denied_by_class_at_every_depth() {
    let mode = WorkspaceMode::CopyOnWrite;
    for (path, rule) in [
        (".git/hooks/pre-commit", "write.protected_git"),
        (".git/config", "write.protected_git"),
        ("a/b/.git/hooks/x", "write.protected_git"),
        ("a/.GIT/Info/attributes", "write.protected_git"),
        (".git/modules/m/.git/config", "write.protected_git"),
        ("a/.git", "write.protected_git"),
        (".git", "write.protected_git"),
        (".husky/pre-push", "write.protected_git"),
        (".claude/settings.json", "write.protected_agent"),
        ("AGENTS.md", "write.protected_instructions"),
        ("src/agents.MD", "write.protected_instructions"),
        (".git/HEAD", "write.protected_git"),
        (".mcp.json", "write.protected_agent"),
        (".vscode/tasks.json", "write.protected_editor"),
        ("a/.zed/tasks.json", "write.protected_editor"),
        (".envrc", "write.protected_startup"),
        ("/lib/docs/x/.claude/a", "write.protected_agent"),
    ] {
        let call = write(path);
        let context_grant = grant(mode);
        assert_eq!(queries(&call, &context(&context_grant)), [], "{path}");
        let verdict = decide(call, &[], &context(&context_grant));
        assert_verdict(&verdict, "deny", rule);
        let led_to = if path.starts_with('/') {
            path.to_owned()
        } else {
            format!("/w/{path}")
        };
        let behind_a_link = PathFact {
            canonical: Some(led_to.clone().into()),
            ..file("/w/plain")
        };
        assert_verdict(&judged(mode, write("plain"), behind_a_link), "deny", rule);
        let (parent, name) = led_to.rsplit_once('/').unwrap();
        let fresh = missing("/w/plain", parent, name);
        assert_verdict(&judged(mode, write("plain"), fresh), "deny", rule);
    }
    for path in [
        "src/AGENTS.md.txt",
        ".gitignore",
        ".github/workflows/a.yml",
        "a.git/config",
    ] {
        let fact = file(&format!("/w/{path}"));
        assert_eq!(judged(mode, write(path), fact).word(), "allow", "{path}");
    }
}

#[test]
fn g9_secrets_are_not_written_either() {
    let mode = WorkspaceMode::CopyOnWrite;
    let verdict = judged(mode, write(".env"), file("/w/.env"));
    assert_verdict(&verdict, "deny", "secret.denied");
    let fresh = missing("/w/l/x", "/w/.ssh", "x");
    assert_verdict(&judged(mode, write("l/x"), fresh), "deny", "secret.denied");
    let folder = folder("/w");
    assert_verdict(&judged(mode, write("."), folder), "deny", "path.not_a_file");
}
