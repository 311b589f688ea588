//! G4, G7, G9: calls that look at one path.

use deputize_authority::{Bounds, Layer, Preset, Set, Tool};
use deputize_gate::{
    Bound, Contained, Effect, Fact, Kind, Outcome, PathFact, Query, Reach, Verdict, admit, decide,
    queries,
};
use serde_json::{Value, json};

use crate::world::{context, file, folder, grant};

fn judged(tool: &str, arguments: Value, fact: Option<PathFact>) -> Verdict {
    let grant = grant(Preset::ReadOnly);
    let context = context(&grant);
    let call = match admit(tool, &arguments, &context) {
        Ok(call) => call,
        Err(denied) => return Verdict::Deny(*denied),
    };
    let facts: Vec<Fact> = fact.into_iter().map(Fact::Path).collect();
    decide(call, &facts, &context)
}

fn read(path: &str, fact: PathFact) -> Verdict {
    judged("read", json!({ "path": path }), Some(fact))
}

#[track_caller]
fn assert_denied(verdict: &Verdict, rule: &str) {
    assert_eq!(
        (verdict.word(), verdict.rule().id),
        ("deny", rule),
        "{verdict:?}"
    );
}

#[test]
fn g1_unknown_ungranted_and_unavailable_tools_are_denied() {
    assert_denied(&judged("sudo", json!({}), None), "tool.unknown");
    assert_denied(
        &judged("exec", json!({"argv": ["ls"]}), None),
        "tool.not_granted",
    );
    assert_denied(
        &judged("bash", json!({"command": "ls"}), None),
        "tool.not_granted",
    );
    assert_denied(
        &judged("read", json!({"path": "a", "as_root": true}), None),
        "arguments.unknown",
    );
}

/// G7: the grant is looked at again when the call is judged, however the call was made.
#[test]
fn g7_a_call_that_slipped_through_is_still_denied() {
    let wide = grant(Preset::ReadOnly);
    let call = admit("read", &json!({"path": "a"}), &context(&wide)).unwrap();
    let narrow = wide.attenuate(
        Layer::Request,
        &Bounds {
            tools: Set::only([Tool::Ls]),
            ..Bounds::ANY
        },
    );
    assert_eq!(queries(&call, &context(&narrow)), []);
    let verdict = decide(call, &[Fact::Path(file("/w/a"))], &context(&narrow));
    assert_denied(&verdict, "tool.not_granted");
}

#[test]
fn g2_looking_inside_is_allowed_and_bound_to_what_was_seen() {
    let Verdict::Allow(allowed) = read("@src/../a.txt", file("/w/a.txt")) else {
        panic!("not allowed");
    };
    assert_eq!(allowed.rule.id, "read.allowed");
    assert_eq!(allowed.rule.origin, "built-in");
    assert_eq!(allowed.contained, Contained::No);
    assert_eq!(
        allowed.effects,
        [Effect::Read {
            path: "/w/a.txt".into(),
            reach: Reach::File
        }]
    );
    let Bound::Path(bound) = allowed.sealed.bound() else {
        panic!("not a path");
    };
    assert_eq!(bound.path.to_str(), Some("/w/a.txt"));
    let found = bound.found.as_ref().unwrap();
    assert_eq!((found.device, found.inode), (1, 77));
}

#[test]
fn every_looking_tool_has_its_reach() {
    for (tool, arguments, reach) in [
        ("ls", json!({}), Reach::Folder),
        ("find", json!({"pattern": "*"}), Reach::Recursive),
        ("grep", json!({"pattern": "x"}), Reach::Recursive),
        ("grep", json!({"terms": ["x"]}), Reach::Recursive),
    ] {
        let verdict = judged(tool, arguments, Some(folder("/w")));
        assert_eq!(verdict.word(), "allow", "{tool}");
        assert_eq!(
            verdict.effects(),
            [Effect::Read {
                path: "/w".into(),
                reach
            }]
        );
    }
}

/// What the gate asks is what the tool will open, and a denied path is not asked about.
#[test]
fn g4_queries_name_the_path_that_is_meant() {
    let grant = grant(Preset::ReadOnly);
    let context = context(&grant);
    let asked = |path: &str| {
        let call = admit("read", &json!({ "path": path }), &context).unwrap();
        queries(&call, &context)
    };
    assert_eq!(
        asked("./x/../@a"),
        [Query::Path {
            path: "/w/@a".into()
        }]
    );
    assert_eq!(
        asked("/lib/docs/a"),
        [Query::Path {
            path: "/lib/docs/a".into()
        }]
    );
    for denied in ["../x", "~/x", "/etc/passwd", "/w2/a", ".env", "a\0b", ""] {
        assert_eq!(asked(denied), [], "{denied:?}");
    }
}

#[test]
fn g4_paths_outside_are_denied_by_where_they_lie_and_by_where_they_lead() {
    for outside in ["../x", "/etc/passwd", "~/notes", "/", "/w2/a", "/w/../w2"] {
        let verdict = judged("read", json!({ "path": outside }), None);
        assert_denied(&verdict, "path.outside");
    }
    let led = |outcome, canonical: Option<&str>| PathFact {
        outcome,
        canonical: canonical.map(Into::into),
        ..file("/w/a")
    };
    for (fact, rule) in [
        (led(Outcome::Escapes, None), "path.escapes"),
        (led(Outcome::Resolved, Some("/etc/passwd")), "path.escapes"),
        (led(Outcome::Resolved, Some("/w2")), "path.escapes"),
        // The deepest folder that exists lies outside.
        (led(Outcome::Missing, Some("/tmp")), "path.escapes"),
        (led(Outcome::Loop, None), "path.loop"),
        (led(Outcome::Denied, None), "path.denied"),
        (led(Outcome::Failed, None), "path.failed"),
        (led(Outcome::Resolved, None), "facts.missing"),
        (led(Outcome::Missing, None), "facts.missing"),
    ] {
        assert_denied(&read("a", fact), rule);
    }
    // Another readable root is as good as the workspace.
    assert_eq!(
        read("a", led(Outcome::Resolved, Some("/lib/docs/a"))).word(),
        "allow"
    );
}

#[test]
fn without_the_right_facts_nothing_is_allowed() {
    assert_denied(&judged("read", json!({"path": "a"}), None), "facts.missing");
    assert_denied(&read("a", file("/w/b")), "facts.missing");
}

#[test]
fn something_missing_is_left_to_the_tool() {
    let missing = PathFact {
        outcome: Outcome::Missing,
        canonical: Some("/w".into()),
        kind: Kind::Missing,
        ..file("/w/no/such")
    };
    let Verdict::Allow(allowed) = read("no/such", missing) else {
        panic!("not allowed");
    };
    let Bound::Path(bound) = allowed.sealed.bound() else {
        panic!("not a path");
    };
    assert_eq!(bound.found, None);
}

#[test]
fn g4_only_files_are_read_and_only_folders_searched() {
    let kind = |kind| PathFact {
        kind,
        ..file("/w/a")
    };
    for special in [
        Kind::Folder,
        Kind::Fifo,
        Kind::Socket,
        Kind::Device,
        Kind::Other,
    ] {
        assert_denied(&read("a", kind(special)), "path.not_a_file");
    }
    let grep = |fact| judged("grep", json!({"pattern": "x", "path": "a"}), Some(fact));
    assert_eq!(grep(kind(Kind::File)).word(), "allow");
    assert_denied(&grep(kind(Kind::Fifo)), "path.not_a_file");
    let find = |fact| judged("find", json!({"pattern": "x", "path": "a"}), Some(fact));
    assert_denied(&find(kind(Kind::File)), "path.not_a_folder");
    assert_denied(&find(kind(Kind::Fifo)), "path.not_a_folder");
}

#[test]
fn g9_secrets_are_denied_by_name_and_by_where_a_link_leads() {
    for path in [".env", "app/.env.local", ".ssh/config", "deploy/key.p12"] {
        let verdict = judged("read", json!({ "path": path }), None);
        assert_denied(&verdict, "secret.denied");
    }
    for (tool, arguments) in [
        ("ls", json!({"path": ".ssh"})),
        ("find", json!({"pattern": "*", "path": ".ssh"})),
        ("grep", json!({"pattern": "BEGIN", "path": ".ssh/keys"})),
        ("grep", json!({"terms": ["key"], "path": ".aws"})),
    ] {
        assert_denied(&judged(tool, arguments, None), "secret.denied");
    }
    let behind_a_link = PathFact {
        canonical: Some("/w/.env".into()),
        ..file("/w/notes.txt")
    };
    assert_denied(&read("notes.txt", behind_a_link), "secret.denied");
    assert_eq!(
        read(".env.example", file("/w/.env.example")).word(),
        "allow"
    );
}

#[test]
fn g9_a_rule_allows_one_class() {
    let preset = Preset::ReadOnly;
    let layer = Bounds {
        secrets: Set::only(["env_file".to_owned()]),
        ..preset.bounds()
    };
    let grant = deputize_authority::Grant::of_principal(
        preset,
        grant(preset).workspace().clone(),
        Bounds {
            read: grant(preset).bounds().read.clone(),
            ..layer
        },
    );
    let context = context(&grant);
    let call = admit("read", &json!({"path": ".env"}), &context).unwrap();
    let verdict = decide(call, &[Fact::Path(file("/w/.env"))], &context);
    assert_eq!(verdict.word(), "allow");
    let call = admit("read", &json!({"path": ".ssh/id_rsa"}), &context).unwrap();
    assert_denied(&decide(call, &[], &context), "secret.denied");
}

#[test]
fn a_denial_says_what_to_do_instead_and_escapes_what_it_repeats() {
    let Verdict::Deny(denied) = judged("read", json!({"path": "../\u{1b}[2J\u{202e}x"}), None)
    else {
        panic!("not denied");
    };
    assert_eq!(
        denied.message,
        "Denied (path.outside): `/\\u{1b}[2J\\u{202e}x` lies outside what may be read. \
         Use a path inside /w, /lib/docs."
    );
    assert_eq!(denied.allowed_scope, ["/w", "/lib/docs"]);
    let Verdict::Deny(denied) = judged("write", json!({}), None) else {
        panic!("not denied");
    };
    assert_eq!(
        denied.message,
        "Denied (tool.not_granted): the tool `write` is not granted. \
         Use one of: read, ls, find, grep."
    );
}

#[test]
fn a_file_with_other_names_is_noted() {
    let linked = PathFact {
        links: 3,
        ..file("/w/a")
    };
    let Verdict::Allow(allowed) = read("a", linked) else {
        panic!("not allowed");
    };
    assert_eq!(
        allowed.notes,
        ["the file has 3 names, and others may lie outside the readable roots"]
    );
}
