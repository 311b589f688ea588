//! G4, S5: laws that hold for every call and every fact.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use deputize_authority::{
    Bounds, Channel, CommandRule, Consent, EnvName, Grant, Host, Layer, Level, Preset, Promise,
    Root, Scope, Set, Tool, Workspace, WorkspaceMode,
};
use deputize_gate::{
    Agreed, Call, Contained, Context, Fact, GitLook, Kind, Launch, Occurrences, Outcome, PathFact,
    ProgramFact, Replacement, Verdict, decide, queries, resolve,
};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

/// Few names, so that paths often coincide with roots, secrets and one another.
fn name() -> impl Strategy<Value = &'static str> {
    select(vec![
        "w", "a", "b", "lib", ".env", ".ssh", "etc", "deputize", ".git", "hooks",
    ])
}

fn absolute() -> impl Strategy<Value = PathBuf> {
    prop::collection::vec(name(), 0..4)
        .prop_map(|names| Path::new("/").join(names.into_iter().collect::<PathBuf>()))
}

fn written() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        6 => name().prop_map(str::to_owned),
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
        1 => written().prop_map(|path| Call::Read {
            path,
            offset: None,
            limit: None
        }),
        1 => prop::option::of(written()).prop_map(|path| Call::Ls { path }),
        1 => written().prop_map(|path| Call::Find {
            pattern: "*".into(),
            path: Some(path),
            limit: None
        }),
        1 => written().prop_map(|path| Call::Rank {
            terms: vec!["x".into()],
            path: Some(path),
            limit: None
        }),
        2 => start,
        2 => changing(),
        2 => running(),
    ]
}

fn changing() -> impl Strategy<Value = Call> {
    let edit = |path| Call::Edit {
        path,
        edits: vec![Replacement {
            old: "a".into(),
            new: "b".into(),
            occurrences: Occurrences::One,
        }],
    };
    prop_oneof![
        written().prop_map(|path| Call::Write {
            path,
            content: "x".into()
        }),
        written().prop_map(edit),
    ]
}

fn running() -> impl Strategy<Value = Call> {
    let command = select(vec![
        "make",
        "deputize approve 1",
        "ls; deputize x",
        "echo deputize",
        "rm -rf .",
        "cat ~/.ssh/id_rsa",
        "echo x > /a/b; echo y > .git/hooks/x",
    ]);
    prop_oneof![
        command.prop_map(|command| Call::Bash {
            command: command.into(),
            timeout_seconds: None
        }),
        prop::collection::vec(written(), 0..2)
            .prop_map(|paths| Call::Git(GitLook::Status { paths })),
    ]
}

fn roots() -> impl Strategy<Value = Set<Root>> {
    prop_oneof![
        1 => Just(Set::Any),
        1 => Just(Set::only(Root::new("/"))),
        3 => prop::collection::vec(absolute(), 0..3)
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
    let network = prop_oneof![
        3 => Just((Set::none(), Set::none())),
        1 => Just((Set::only([Host("example.org".into())]), Set::none())),
        1 => Just((Set::none(), Set::only([8080]))),
    ];
    (roots(), roots(), tools, commands, env, secrets, network).prop_map(
        |(read, write, tools, commands, env, secrets, (hosts, ports))| Bounds {
            read,
            write,
            tools,
            commands,
            hosts,
            ports,
            env,
            secrets,
            ..Bounds::ANY
        },
    )
}

fn grant() -> impl Strategy<Value = Grant> {
    let preset = select(vec![
        Preset::ReadOnly,
        Preset::ReadOnlyGit,
        Preset::General,
        Preset::General,
        Preset::General,
        Preset::Exec,
    ]);
    let mode = select(WorkspaceMode::ALL.to_vec());
    (preset, absolute(), mode, bounds()).prop_map(|(preset, workspace, mode, bounds)| {
        let workspace = Workspace {
            root: Root::new(workspace).unwrap(),
            device: 1,
            inode: 2,
            mode,
        };
        Grant::of_principal(preset, workspace, bounds)
    })
}

fn level() -> impl Strategy<Value = Level> {
    select(vec![Level::None, Level::LandlockSeccomp, Level::Full])
}

fn approvals() -> impl Strategy<Value = Vec<Consent>> {
    subsequence(vec![Consent::Write, Consent::Shell], 0..=2)
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
    links: u64,
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
        select(vec![1, 1, 1, 2]),
        prop::option::weighted(0.8, absolute()),
    )
        .prop_map(|(outcome, canonical, kind, inode, links, program)| World {
            outcome,
            canonical,
            kind,
            inode,
            links,
            program,
        })
}

impl World {
    /// Facts for a call; where the world names no canonical path, it is the one that is meant.
    fn facts(&self, call: &Call, context: &Context<'_>) -> Vec<Fact> {
        let workspace = context.grant.workspace().path();
        let meant = |written: &str| resolve(written, workspace, context.home).unwrap_or_default();
        match call {
            Call::Read { path, .. } | Call::Write { path, .. } | Call::Edit { path, .. } => {
                vec![self.path(meant(path))]
            }
            Call::Ls { path }
            | Call::Find { path, .. }
            | Call::Grep { path, .. }
            | Call::Rank { path, .. } => {
                vec![self.path(meant(path.as_deref().unwrap_or(".")))]
            }
            Call::Exec(launch) => vec![
                self.path(launch.cwd().to_owned()),
                self.program(launch.program()),
            ],
            Call::Bash { .. } => self.tool(workspace, ["bash", "sh"]),
            Call::Git(_) => self.tool(workspace, ["sh", "git"]),
        }
    }

    fn tool(&self, workspace: &Path, programs: [&str; 2]) -> Vec<Fact> {
        let [first, second] = programs.map(|name| self.program(name.as_ref()));
        vec![self.path(workspace.to_owned()), first, second]
    }

    fn path(&self, asked: PathBuf) -> Fact {
        let is_missing = self.outcome == Outcome::Missing;
        let place = self.canonical.clone().unwrap_or_else(|| asked.clone());
        let (canonical, rest) = match (is_missing, place.parent(), place.file_name()) {
            (true, Some(parent), Some(name)) => (parent.to_owned(), name.into()),
            _ => (place, PathBuf::new()),
        };
        Fact::Path(PathFact {
            asked,
            outcome: self.outcome,
            canonical: Some(canonical),
            rest,
            kind: self.kind,
            device: 1,
            inode: self.inode,
            links: self.links,
            size: 0,
        })
    }

    fn program(&self, asked: &std::ffi::OsStr) -> Fact {
        Fact::Program(ProgramFact {
            asked: asked.to_owned(),
            canonical: self.program.clone(),
            device: 1,
            inode: 9,
        })
    }
}

fn context<'a>(grant: &'a Grant, boundary: Level, held: &'a [Promise]) -> Context<'a> {
    Context {
        grant,
        mode: grant.mode(),
        home: Some(Path::new("/home/u")),
        boundary,
        held,
        approved: &[],
        agreed: &[],
        rules: &[],
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
        approved in approvals(),
        keep_approved in 0_usize..=2,
    ) {
        let narrow = wide.attenuate(Layer::Request, &layer);
        let fewer = &held[..keep.min(held.len())];
        let weaker = boundaries.0.min(boundaries.1);
        let took_network_away = wide.bounds().hosts != narrow.bounds().hosts
            || wide.bounds().ports != narrow.bounds().ports;
        let wide = Context {
            approved: &approved,
            agreed: &[],
            ..context(&wide, boundaries.0, &held)
        };
        let narrow = Context {
            approved: &approved[..keep_approved.min(approved.len())],
            agreed: &[],
            ..context(&narrow, weaker, fewer)
        };
        let facts = world.facts(&call, &wide);
        let before = decide(call.clone(), &facts, &wide);
        let after = decide(call.clone(), &facts, &narrow);
        // G11: a command without network is contained, so taking the network away is the one
        // narrowing that can end a question. It ends no denial.
        let is_contained_now = matches!(&after, Verdict::Allow(allowed)
            if allowed.contained == Contained::Yes && took_network_away && before.word() == "ask");
        prop_assert!(
            before.word() == "allow" || after.word() != "allow" || is_contained_now,
            "{call:?}: {before:?} became {after:?}"
        );
        prop_assert!(
            before.word() != "deny" || after.word() == "deny",
            "{call:?}: {before:?} became {after:?}"
        );
    }

    /// S5, S9, G8: a person's yes to a call answers what is asked about that very call; it lifts no
    /// denial, and says nothing about another call.
    #[test]
    fn s9_a_yes_to_a_call_answers_its_question_and_nothing_else(
        call in call(),
        other in call(),
        grant in grant(),
        world in world(),
        boundary in level(),
        held in promises(),
    ) {
        let alone = context(&grant, boundary, &held);
        let facts = world.facts(&call, &alone);
        let before = decide(call.clone(), &facts, &alone);
        let yes = |call: &Call| Agreed::new(call.clone(), Channel::Terminal, Scope::Once);
        let to_it = [yes(&call)];
        let context = Context { agreed: &to_it, ..alone };
        let after = decide(call.clone(), &facts, &context);
        match before.word() {
            "ask" => prop_assert_eq!(after.word(), "allow"),
            word => prop_assert_eq!(after.word(), word),
        }
        if other != call {
            let to_other = [yes(&other)];
            let context = Context { agreed: &to_other, ..alone };
            prop_assert_eq!(decide(call, &facts, &context).word(), before.word());
        }
    }

    /// Whatever the call, a write that isn't denied lies in a writable root by name and by where it
    /// leads, names no secret, and nothing in a `.git` that git obeys.
    #[test]
    fn g4_nothing_outside_the_writable_roots_is_written(
        call in changing(),
        grant in grant(),
        world in world(),
        boundary in level(),
        held in promises(),
        approved in approvals(),
    ) {
        let context = Context {
            approved: &approved,
            agreed: &[],
            ..context(&grant, boundary, &held)
        };
        let facts = world.facts(&call, &context);
        if decide(call, &facts, &context).word() == "deny" {
            return Ok(());
        }
        let Some(Fact::Path(fact)) = facts.first() else {
            return Err(TestCaseError::fail("no fact"));
        };
        let mut led_to = fact.canonical.clone().unwrap();
        led_to.extend(&fact.rest);
        for path in [&fact.asked, &led_to] {
            let root = Root::new(path).unwrap();
            prop_assert!(grant.bounds().write.permits(&root), "{}", path.display());
            prop_assert!(grant.bounds().read.permits(&root), "{}", path.display());
            let text = path.to_str().unwrap();
            prop_assert!(!text.contains("/.git/hooks") && !text.ends_with("/.git"), "{text}");
            let secrets = &grant.bounds().secrets;
            prop_assert!(!text.ends_with("/.env") || secrets.permits(&"env_file".to_owned()));
        }
        prop_assert!(fact.links == 1 || fact.outcome == Outcome::Missing);
        prop_assert!(fact.kind == Kind::File || fact.outcome == Outcome::Missing);
    }

    /// Without an approval nothing changes the folder itself, and only what is contained runs.
    #[test]
    fn g11_without_an_approval_only_what_is_contained_changes_or_runs(
        call in prop_oneof![changing(), running()],
        grant in grant(),
        world in world(),
        boundary in level(),
        held in promises(),
    ) {
        let context = context(&grant, boundary, &held);
        let facts = world.facts(&call, &context);
        let is_look = matches!(call, Call::Git(_));
        if let Verdict::Allow(allowed) = decide(call, &facts, &context) {
            prop_assert!(is_look || allowed.contained == Contained::Yes);
            let is_copy = grant.workspace().mode.is_copy();
            prop_assert!(is_copy || is_look && grant.preset() != Preset::General);
            prop_assert_ne!(boundary, Level::None);
        }
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
    let mut allowed = BTreeMap::new();
    for _ in 0..20_000 {
        let (call, grant, world) = strategy.new_tree(&mut runner).unwrap().current();
        let context = context(&grant, Level::Full, &Promise::ALL);
        let facts = world.facts(&call, &context);
        let tool = call.tool();
        if let Verdict::Allow(_) = decide(call, &facts, &context) {
            *allowed.entry(tool).or_insert(0) += 1;
        }
    }
    for tool in Tool::ALL {
        assert!(
            allowed.get(&tool).is_some_and(|count| *count > 5),
            "{tool}: {allowed:?}"
        );
    }
}
