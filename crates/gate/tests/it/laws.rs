//! G4, S5: laws that hold for every call and every fact.

use std::path::{Path, PathBuf};

use deputize_authority::{
    Bounds, CommandRule, EnvName, Grant, Layer, Level, Preset, Promise, Root, Set, Tool, Workspace,
    WorkspaceMode,
};
use deputize_gate::{
    Call, Context, Fact, Kind, Launch, Outcome, PathFact, ProgramFact, Verdict, decide, queries,
    resolve,
};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

/// Few names, so that paths often coincide with roots, secrets and one another.
fn name() -> impl Strategy<Value = &'static str> {
    select(vec![
        "w", "a", "b", "lib", ".env", ".ssh", "etc", "deputize",
    ])
}

fn absolute() -> impl Strategy<Value = PathBuf> {
    prop::collection::vec(name(), 0..4)
        .prop_map(|names| Path::new("/").join(names.into_iter().collect::<PathBuf>()))
}

fn written() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        4 => name().prop_map(str::to_owned),
        2 => Just("..".to_owned()),
        1 => select(vec!["", ".", "~", "@", "/", "\0", "\u{a0}"]).prop_map(str::to_owned),
    ];
    (
        select(vec!["", "/", "@", "~/", "./"]),
        prop::collection::vec(part, 0..5),
    )
        .prop_map(|(start, parts)| format!("{start}{}", parts.join("/")))
}

fn call() -> impl Strategy<Value = Call> {
    let start = (
        prop::collection::vec(name(), 1..3),
        absolute(),
        prop::collection::vec(select(vec!["PATH", "HOME"]), 0..2),
    )
        .prop_map(|(argv, cwd, env)| {
            let argv = argv.into_iter().map(Into::into).collect();
            let env = env
                .into_iter()
                .map(|name| EnvName(name.to_owned()))
                .collect();
            Call::Exec(Launch::new(argv, cwd, env, vec![]).unwrap())
        });
    prop_oneof![
        written().prop_map(|path| Call::Read {
            path,
            offset: None,
            limit: None
        }),
        prop::option::of(written()).prop_map(|path| Call::Ls { path }),
        written().prop_map(|path| Call::Find {
            pattern: "*".into(),
            path: Some(path),
            limit: None
        }),
        written().prop_map(|path| Call::Rank {
            terms: vec!["x".into()],
            path: Some(path),
            limit: None
        }),
        start,
    ]
}

fn roots() -> impl Strategy<Value = Set<Root>> {
    prop_oneof![
        1 => Just(Set::Any),
        6 => prop::collection::vec(absolute(), 0..3)
            .prop_map(|paths| Set::only(paths.into_iter().filter_map(Root::new))),
    ]
}

fn bounds() -> impl Strategy<Value = Bounds> {
    let commands = prop_oneof![
        3 => Just(Set::Any),
        1 => name().prop_map(|name| Set::only([CommandRule(vec![name.to_owned()])])),
    ];
    let env = prop_oneof![
        3 => Just(Set::Any),
        1 => Just(Set::only([EnvName("PATH".into())])),
    ];
    let secrets = prop_oneof![
        1 => Just(Set::Any),
        2 => Just(Set::none()),
        1 => Just(Set::only(["ssh".to_owned()])),
    ];
    let tools = subsequence(Tool::ALL.to_vec(), 4..=Tool::ALL.len()).prop_map(Set::only);
    (roots(), tools, commands, env, secrets).prop_map(|(read, tools, commands, env, secrets)| {
        Bounds {
            read,
            tools,
            commands,
            env,
            secrets,
            ..Bounds::ANY
        }
    })
}

fn grant() -> impl Strategy<Value = Grant> {
    let preset = select(vec![Preset::ReadOnly, Preset::General, Preset::Exec]);
    (preset, absolute(), bounds()).prop_map(|(preset, workspace, bounds)| {
        let workspace = Workspace {
            root: Root::new(workspace).unwrap(),
            device: 1,
            inode: 2,
            mode: WorkspaceMode::Direct,
        };
        Grant::of_principal(preset, workspace, bounds)
    })
}

fn level() -> impl Strategy<Value = Level> {
    select(vec![Level::None, Level::LandlockSeccomp, Level::Full])
}

fn promises() -> impl Strategy<Value = Vec<Promise>> {
    prop_oneof![
        Just(Promise::ALL.to_vec()),
        subsequence(Promise::ALL.to_vec(), 0..=Promise::ALL.len()),
    ]
}

/// The world's answer to one question, mostly a plausible one.
#[derive(Debug, Clone)]
struct World {
    outcome: Outcome,
    canonical: Option<PathBuf>,
    kind: Kind,
    inode: u64,
    program: Option<PathBuf>,
}

fn world() -> impl Strategy<Value = World> {
    let outcome = prop_oneof![
        6 => Just(Outcome::Resolved),
        2 => Just(Outcome::Missing),
        1 => select(vec![Outcome::Escapes, Outcome::Loop, Outcome::Denied, Outcome::Failed]),
    ];
    let kind = select(vec![
        Kind::File,
        Kind::Folder,
        Kind::Folder,
        Kind::Fifo,
        Kind::Device,
    ]);
    (
        outcome,
        prop::option::weighted(0.6, absolute()),
        kind,
        2_u64..4,
        prop::option::of(absolute()),
    )
        .prop_map(|(outcome, canonical, kind, inode, program)| World {
            outcome,
            canonical,
            kind,
            inode,
            program,
        })
}

impl World {
    /// Facts for a call; where the world names no canonical path, it is the one that is meant.
    fn facts(&self, call: &Call, context: &Context<'_>) -> Vec<Fact> {
        let path = |asked: PathBuf| {
            Fact::Path(PathFact {
                canonical: Some(self.canonical.clone().unwrap_or_else(|| asked.clone())),
                asked,
                outcome: self.outcome,
                kind: self.kind,
                device: 1,
                inode: self.inode,
                links: 1,
                size: 0,
            })
        };
        let meant = |written: &str| {
            resolve(written, context.grant.workspace().path(), context.home).unwrap_or_default()
        };
        match call {
            Call::Read { path: written, .. } => vec![path(meant(written))],
            Call::Ls { path: written }
            | Call::Find { path: written, .. }
            | Call::Grep { path: written, .. }
            | Call::Rank { path: written, .. } => {
                vec![path(meant(written.as_deref().unwrap_or(".")))]
            }
            Call::Exec(launch) => vec![
                path(launch.cwd().to_owned()),
                Fact::Program(ProgramFact {
                    asked: launch.program().to_owned(),
                    canonical: self.program.clone(),
                    device: 1,
                    inode: 9,
                }),
            ],
        }
    }
}

fn context<'a>(grant: &'a Grant, boundary: Level, held: &'a [Promise]) -> Context<'a> {
    Context {
        grant,
        home: Some(Path::new("/home/u")),
        boundary,
        held,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    /// Whatever the call, an allowance means that the place that was found lies in a readable root
    /// and that nothing escaped, looped or failed.
    #[test]
    fn g4_nothing_outside_the_roots_is_allowed(
        call in call(),
        grant in grant(),
        world in world(),
        boundary in level(),
        held in promises(),
    ) {
        let context = context(&grant, boundary, &held);
        let facts = world.facts(&call, &context);
        if let Verdict::Allow(_) = decide(call, &facts, &context) {
            let Some(Fact::Path(fact)) = facts.first() else {
                return Err(TestCaseError::fail("allowed without a fact"));
            };
            for path in [&fact.asked, fact.canonical.as_ref().unwrap()] {
                let root = Root::new(path).unwrap();
                prop_assert!(grant.bounds().read.permits(&root), "{}", path.display());
            }
            prop_assert!(matches!(fact.outcome, Outcome::Resolved | Outcome::Missing));
        }
    }

    /// S5: with the same facts, less authority never allows more.
    #[test]
    fn s5_narrowing_never_turns_a_denial_into_an_allowance(
        call in call(),
        wide in grant(),
        layer in bounds(),
        world in world(),
        boundaries in (level(), level()),
        held in promises(),
        keep in 0_usize..=9,
    ) {
        let narrow = wide.attenuate(Layer::Request, &layer);
        let fewer = &held[..keep.min(held.len())];
        let weaker = boundaries.0.min(boundaries.1);
        let wide = context(&wide, boundaries.0, &held);
        let narrow = context(&narrow, weaker, fewer);
        let facts = world.facts(&call, &wide);
        let before = decide(call.clone(), &facts, &wide);
        let after = decide(call.clone(), &facts, &narrow);
        prop_assert!(
            before.word() == "allow" || after.word() != "allow",
            "{call:?}: {before:?} became {after:?}"
        );
    }

    /// Answers that belong to no question never help.
    #[test]
    fn foreign_facts_allow_nothing(
        call in call(),
        grant in grant(),
        world in world(),
        asked in absolute(),
    ) {
        let context = context(&grant, Level::Full, &Promise::ALL);
        let mut facts = world.facts(&call, &context);
        let Some(Fact::Path(fact)) = facts.first_mut() else {
            return Err(TestCaseError::fail("no fact"));
        };
        prop_assume!(fact.asked != asked);
        fact.asked = asked;
        prop_assert_ne!(decide(call.clone(), &facts, &context).word(), "allow");
        prop_assert_ne!(decide(call, &[], &context).word(), "allow");
    }

    /// What is asked is what the verdict needs: with an answer per question, facts never lack.
    #[test]
    fn every_question_that_matters_is_asked(call in call(), grant in grant(), world in world()) {
        let context = context(&grant, Level::Full, &Promise::ALL);
        let asked = queries(&call, &context).len();
        let facts = world.facts(&call, &context);
        let verdict = decide(call, &facts, &context);
        prop_assert!(verdict.word() != "allow" || asked == facts.len());
    }
}

/// The laws above would hold for a gate that allows nothing.
#[test]
fn the_generators_reach_allowances() {
    use proptest::strategy::ValueTree as _;
    use proptest::test_runner::TestRunner;

    let mut runner = TestRunner::deterministic();
    let strategy = (call(), grant(), world());
    let (mut reads, mut starts) = (0, 0);
    for _ in 0..8_000 {
        let (call, grant, world) = strategy.new_tree(&mut runner).unwrap().current();
        let context = context(&grant, Level::Full, &Promise::ALL);
        let facts = world.facts(&call, &context);
        let is_start = matches!(call, Call::Exec(_));
        if let Verdict::Allow(_) = decide(call, &facts, &context) {
            if is_start { starts += 1 } else { reads += 1 }
        }
    }
    assert!(reads > 100 && starts > 20, "{reads} reads, {starts} starts");
}
