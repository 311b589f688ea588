//! G8, G11: program starts.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;

use deputize_authority::{
    Bounds, CommandRule, EnvName, Grant, Layer, Level, Preset, Promise, Set, Tool,
};
use deputize_gate::{
    Bound, Call, Class, Contained, Context, Effect, Fact, Kind, Launch, Outcome, PathFact,
    ProgramFact, Query, Verdict, decide, queries,
};

use crate::world::{context, file, folder, grant, program};

fn call(argv: &[&str], cwd: &str) -> Call {
    let argv = argv.iter().map(Into::into).collect();
    let env = vec![EnvName("PATH".into())];
    Call::Exec(Launch::new(argv, cwd.into(), env, vec!["/usr/bin".into()]).unwrap())
}

fn facts(name: &str, canonical: &str) -> [Fact; 2] {
    [Fact::Path(folder("/w")), program(name, canonical)]
}

#[track_caller]
fn assert_denied(verdict: &Verdict, rule: &str) {
    assert_eq!(
        (verdict.word(), verdict.rule().id),
        ("deny", rule),
        "{verdict:?}"
    );
}

fn run(argv: &[&str], facts: &[Fact]) -> Verdict {
    let grant = grant(Preset::Exec);
    decide(call(argv, "."), facts, &context(&grant))
}

#[test]
fn g11_what_the_boundary_contains_is_allowed() {
    let Verdict::Allow(allowed) = run(&["make", "-j2"], &facts("make", "/usr/bin/gmake")) else {
        panic!("not allowed");
    };
    assert_eq!(allowed.rule.id, "exec.contained");
    assert_eq!(allowed.contained, Contained::Yes);
    assert_eq!(
        allowed.effects,
        [Effect::Execute {
            program: "/usr/bin/gmake".into(),
            argv: vec!["make".into(), "-j2".into()],
            class: Class::Opaque,
        }]
    );
    let Bound::Launch(bound) = allowed.sealed.bound() else {
        panic!("not a launch");
    };
    assert_eq!((bound.cwd.device, bound.cwd.inode), (1, 2));
    assert_eq!(bound.program.as_ref().unwrap().inode, 99);
}

#[test]
fn without_a_boundary_or_with_too_few_promises_nothing_runs() {
    let grant = grant(Preset::Exec);
    let facts = facts("make", "/usr/bin/make");
    let judged = |boundary, held: &[Promise]| {
        let context = Context {
            boundary,
            held,
            ..context(&grant)
        };
        decide(call(&["make"], "."), &facts, &context)
    };
    assert_denied(&judged(Level::None, &Promise::ALL), "exec.uncontained");
    assert_denied(&judged(Level::Full, &[]), "exec.promise_missing");
    assert_denied(
        &judged(Level::Full, &[Promise::Write, Promise::Read]),
        "exec.promise_missing",
    );
    assert_eq!(
        judged(Level::LandlockSeccomp, Preset::Exec.needs()).word(),
        "allow"
    );
}

#[test]
fn explore_runs_nothing() {
    let preset = Preset::ReadOnly;
    let wide = Bounds {
        tools: Set::only([Tool::Exec]),
        ..Bounds::ANY
    };
    let grant = Grant::of_principal(preset, grant(preset).workspace().clone(), wide);
    let verdict = decide(
        call(&["make"], "."),
        &facts("make", "/usr/bin/make"),
        &context(&grant),
    );
    assert_denied(&verdict, "mode.explore");
}

#[test]
fn g6_deputize_is_not_administered_from_inside() {
    for (name, canonical) in [
        ("deputize", "/usr/bin/deputize"),
        ("/opt/x/Deputize", "/opt/x/Deputize"),
        ("./tool", "/opt/bin/deputize"),
    ] {
        let verdict = run(&[name, "approve", "1"], &facts(name, canonical));
        assert_denied(&verdict, "admin.denied");
        let [Effect::Execute { class, .. }] = verdict.effects() else {
            panic!("no effect");
        };
        assert_eq!(*class, Class::Admin);
    }
    let verdict = run(&["ls", "deputize"], &facts("ls", "/usr/bin/ls"));
    assert_eq!(verdict.word(), "allow");
}

#[test]
fn g8_the_working_folder_is_the_one_that_was_granted() {
    let grant = grant(Preset::Exec);
    let context = context(&grant);
    let start = |cwd: &str, fact: PathFact| {
        let facts = [Fact::Path(fact), program("make", "/usr/bin/make")];
        decide(call(&["make"], cwd), &facts, &context)
    };
    let swapped = PathFact {
        inode: 3,
        ..folder("/w")
    };
    assert_denied(&start(".", swapped), "cwd.changed");
    assert_denied(&start("/tmp", folder("/tmp")), "path.outside");
    assert_denied(&start("a", file("/w/a")), "cwd.not_a_folder");
    let missing = PathFact {
        outcome: Outcome::Missing,
        kind: Kind::Missing,
        canonical: Some("/w".into()),
        ..folder("/w/a")
    };
    assert_denied(&start("a", missing), "cwd.not_a_folder");
    let led_out = PathFact {
        canonical: Some("/tmp".into()),
        ..folder("/w/a")
    };
    assert_denied(&start("a", led_out), "path.escapes");
    assert_eq!(start("a", folder("/w/a")).word(), "allow");
    assert_eq!(start("/lib/docs", folder("/lib/docs")).word(), "allow");
}

#[test]
fn facts_about_another_program_are_no_facts() {
    assert_denied(
        &run(&["make"], &facts("ls", "/usr/bin/ls")),
        "facts.missing",
    );
    assert_denied(&run(&["make"], &facts("make", "/x")[..1]), "facts.missing");
    assert_denied(&run(&["make"], &[]), "facts.missing");
}

#[test]
fn a_program_that_is_not_there_is_left_to_the_start() {
    let facts = [
        Fact::Path(folder("/w")),
        Fact::Program(ProgramFact {
            asked: "nope".into(),
            canonical: None,
            device: 0,
            inode: 0,
        }),
    ];
    let Verdict::Allow(allowed) = run(&["nope"], &facts) else {
        panic!("not allowed");
    };
    let Bound::Launch(bound) = allowed.sealed.bound() else {
        panic!("not a launch");
    };
    assert_eq!(bound.program, None);
}

#[test]
fn commands_and_environment_names_must_be_granted() {
    let narrow = grant(Preset::Exec).attenuate(
        Layer::Request,
        &Bounds {
            commands: Set::only([CommandRule(vec!["git".into(), "diff".into()])]),
            env: Set::only([EnvName("PATH".into())]),
            ..Bounds::ANY
        },
    );
    let context = context(&narrow);
    let start = |argv: Vec<OsString>, env: &str| {
        let env = vec![EnvName(env.into())];
        let launch = Launch::new(argv, ".".into(), env, vec![]).unwrap();
        decide(Call::Exec(launch), &facts("git", "/usr/bin/git"), &context)
    };
    let words = |words: &[&str]| words.iter().map(Into::into).collect::<Vec<OsString>>();
    let odd = OsString::from_vec(vec![0xff]);
    assert_eq!(
        start(words(&["git", "diff", "--stat"]), "PATH").word(),
        "allow"
    );
    assert_denied(
        &start(words(&["git", "push"]), "PATH"),
        "command.not_granted",
    );
    assert_denied(&start(words(&["git", "diff"]), "HOME"), "env.not_granted");
    let mut argv = words(&["git", "diff"]);
    argv.push(odd.clone());
    assert_eq!(start(argv, "PATH").word(), "allow");
    assert_denied(
        &start(vec!["git".into(), odd], "PATH"),
        "command.not_granted",
    );
}

#[test]
fn the_folder_and_the_program_are_asked_about() {
    let grant = grant(Preset::Exec);
    assert_eq!(
        queries(&call(&["make"], "a/.."), &context(&grant)),
        [
            Query::Path { path: "/w".into() },
            Query::Program {
                name: "make".into(),
                cwd: "/w".into(),
                search: vec!["/usr/bin".into()],
            }
        ]
    );
}
