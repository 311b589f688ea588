use std::path::Path;

use super::*;
use crate::{Budget, Consent, Dimension, PROTECTED, ProtectedKind, Shape, Tool};

fn folder(path: &str) -> FolderFact {
    FolderFact {
        asked: path.into(),
        found: Found::Folder {
            canonical: path.into(),
            device: 1,
            inode: 2,
        },
    }
}

fn around(path: &str) -> Surroundings {
    Surroundings {
        caller: "/home/u/project".into(),
        workdir: folder(path),
        home: Some("/home/u".into()),
        reserved: vec![
            Reserved {
                path: "/home/u/.config".into(),
                what: "the configuration folder",
            },
            Reserved {
                path: "/srv/state".into(),
                what: "the state folder",
            },
        ],
        global: Bounds::ANY,
        parent: None,
    }
}

fn ask() -> RunRequest {
    RunRequest {
        prompt: b"look".to_vec(),
        preset: "read-only".to_owned(),
        ..RunRequest::default()
    }
}

fn of(preset: &str) -> RunRequest {
    RunRequest {
        preset: preset.to_owned(),
        ..ask()
    }
}

fn effects(granted: &Granted) -> Vec<Consent> {
    granted.asks.iter().map(|ask| ask.effect).collect()
}

fn refused(request: &RunRequest, around: &Surroundings) -> (String, String) {
    let refusal = child(request, around).expect_err("must be refused");
    (refusal.code, refusal.field)
}

/// S2, D3: the grant is the preset's, in the folder that was named.
#[test]
fn a_plain_request_is_granted_what_the_preset_says() {
    let granted = child(&ask(), &around("/home/u/project")).unwrap();
    let bounds = granted.grant.bounds();
    assert_eq!(granted.grant.preset(), Preset::ReadOnly);
    assert!(bounds.write.is_none() && bounds.hosts.is_none() && bounds.commands.is_none());
    assert!(bounds.tools.permits(&Tool::Grep) && !bounds.tools.permits(&Tool::Bash));
    assert_eq!(bounds.budget.turns, Some(30));
    let outside = Root::new("/home/u").unwrap();
    assert!(!bounds.read.permits(&outside));
}

/// D3: `_` and `-` are equal; `workspace-write` is `general`; what never was is unknown.
#[test]
fn preset_names() {
    let here = around("/home/u/project");
    for (name, preset) in [
        ("read_only", Preset::ReadOnly),
        ("read-only-git", Preset::ReadOnlyGit),
        ("general", Preset::General),
        ("workspace_write", Preset::General),
    ] {
        assert_eq!(child(&of(name), &here).unwrap().grant.preset(), preset);
    }
    assert_eq!(refused(&of("root"), &here).0, "unknown_preset");
    assert_eq!(refused(&of("exec"), &here).0, "unknown_preset");
}

/// D3, S8: the parent's tools are within the parent's grant; a person is no parent.
#[test]
fn full_parent_tools_needs_a_parent() {
    let mut here = around("/home/u/project");
    let full = of("full_parent_tools");
    assert_eq!(
        refused(&full, &here),
        ("parent_missing".to_owned(), "preset".to_owned())
    );
    let looks = child(&ask(), &here).unwrap().grant;
    let deep = Bounds {
        depth: 1,
        ..looks.bounds().clone()
    };
    let parent = Grant::of_principal(Preset::ReadOnly, looks.workspace().clone(), Bounds::ANY)
        .attenuate(Layer::Preset, &deep);
    here.parent = Some(parent);
    let granted = child(&full, &here).unwrap();
    assert!(granted.grant.bounds().is_within(&deep));
    assert!(!granted.grant.bounds().tools.permits(&Tool::Bash));
    assert_eq!(
        effects(&granted),
        [],
        "what isn't granted isn't asked about"
    );
}

/// D3, S5: `general` writes to the workspace and nowhere else, and `read-only-git` looks.
#[test]
fn what_the_presets_hold() {
    let here = around("/home/u/project");
    let general = child(&of("general"), &here).unwrap().grant;
    let bounds = general.bounds();
    let root = |path: &str| Root::new(path).unwrap();
    assert!(bounds.write.permits(&root("/home/u/project/src")));
    assert!(!bounds.write.permits(&root("/home/u/other")));
    assert!(bounds.hosts.is_none() && bounds.ports.is_none() && bounds.depth == 0);
    let git = child(&of("read-only-git"), &here).unwrap().grant;
    assert!(git.bounds().tools.permits(&Tool::Git) && git.bounds().write.is_none());
    assert!(!git.bounds().tools.permits(&Tool::Bash));
}

/// C2: a copy unless the folder itself is asked for; what isn't there or isn't known is refused.
#[test]
fn workspace_modes() {
    let here = around("/home/u/project");
    let with = |preset: &str, mode: &str| RunRequest {
        workspace: Some(mode.to_owned()),
        ..of(preset)
    };
    let mode = |request: &RunRequest| child(request, &here).unwrap().grant.workspace().mode;
    assert_eq!(mode(&of("general")), WorkspaceMode::CopyOnWrite);
    for (name, found) in [
        ("copy_on_write", WorkspaceMode::CopyOnWrite),
        ("worktree", WorkspaceMode::Worktree),
        ("direct", WorkspaceMode::Direct),
    ] {
        assert_eq!(mode(&with("general", name)), found);
    }
    let found = refused(&with("general", "overlay"), &here);
    let code = "unknown_workspace_mode".to_owned();
    assert_eq!(found, (code, "workspace".to_owned()));
    assert_eq!(
        refused(&with("read-only", "overlay"), &here).0,
        "unknown_workspace_mode"
    );
    // Whoever writes nothing has no use for a mode, and is told so.
    let granted = child(&with("read-only", "worktree"), &here).unwrap();
    assert!(granted.grant.bounds().write.is_none());
    assert!(
        granted.notes[0].contains("changes nothing"),
        "{:?}",
        granted.notes
    );
}

/// S3: each effect is asked about when the grant holds it, with the facts, and not otherwise.
#[test]
fn questions_follow_from_the_grant() {
    let here = around("/home/u/project");
    let everything = RunRequest {
        workspace: Some("direct".to_owned()),
        read: vec![folder("/data/o\u{1b}ther"), folder("/home/u/project/src")],
        ports: vec![3000],
        ..of("general")
    };
    let granted = child(&everything, &here).unwrap();
    let asked: Vec<String> = granted
        .asks
        .iter()
        .map(|ask| format!("{}: {}", ask.effect, ask.why))
        .collect();
    assert_eq!(
        asked,
        [
            "write: writes to `/home/u/project` itself, at once, not to a copy",
            "shell: runs shell commands of its own choice, inside its boundary",
            "outside: reaches paths outside the workspace: `/data/o\\u{1b}ther`",
            "network: reaches, or can be reached through, the network: port 3000",
        ]
    );
    assert!(granted.grant.bounds().ports.permits(&3000));
    assert!(!granted.grant.bounds().ports.permits(&3001));
    assert_eq!(
        effects(&child(&of("general"), &here).unwrap()),
        [Consent::Shell]
    );
    for quiet in ["read-only", "read-only-git"] {
        assert_eq!(effects(&child(&of(quiet), &here).unwrap()), [], "{quiet}");
    }
    // A root around the workspace reaches outside it too.
    let around_it = RunRequest {
        read: vec![folder("/data")],
        ..ask()
    };
    let asked = effects(&child(&around_it, &around("/data/x")).unwrap());
    assert_eq!(asked, [Consent::Outside]);
}

/// S5: what the global ceiling takes away is neither granted nor asked about.
#[test]
fn the_global_ceiling_holds_for_what_was_typed() {
    let mut here = around("/home/u/project");
    here.global.ports = Set::none();
    here.global.tools = Set::only([Tool::Read, Tool::Write]);
    let request = RunRequest {
        ports: vec![3000],
        workspace: Some("direct".to_owned()),
        ..of("general")
    };
    assert_eq!(refused(&request, &here).0, "commands_not_granted");
    here.global.tools = Set::Any;
    let granted = child(&request, &here).unwrap();
    assert!(granted.grant.bounds().ports.is_none());
    assert_eq!(effects(&granted), [Consent::Write, Consent::Shell]);
}

/// S2: further roots, ports and checks that no child gets.
#[test]
fn additions_that_are_refused() {
    let here = around("/home/u/project");
    let general = || of("general");
    let reads = |path: &str| RunRequest {
        read: vec![folder(path)],
        ..general()
    };
    let checked = |preset: &str, command: &str| RunRequest {
        check: Some(command.to_owned()),
        ..of(preset)
    };
    let ports = |preset: &str, ports: Vec<u16>| RunRequest {
        ports,
        ..of(preset)
    };
    let many = RunRequest {
        read: (0..=ROOTS)
            .map(|at| folder(&format!("/data/{at}")))
            .collect(),
        ..general()
    };
    for (request, code, field) in [
        (reads("/home/u"), "root_is_home", "read"),
        (reads("/home/u/.config/x"), "root_is_reserved", "read"),
        (reads("/proc"), "root_is_kernel", "read"),
        (many, "too_many", "read"),
        (ports("general", vec![0]), "port_invalid", "port"),
        (ports("general", vec![1; PORTS + 1]), "too_many", "port"),
        (
            ports("read-only", vec![3000]),
            "commands_not_granted",
            "port",
        ),
        (checked("general", " \n"), "check_invalid", "check"),
        (checked("general", "a\0b"), "check_invalid", "check"),
        (
            checked("general", &"x".repeat(CHECK_BYTES + 1)),
            "check_invalid",
            "check",
        ),
        (
            checked("read-only", "true"),
            "commands_not_granted",
            "check",
        ),
        (
            checked("read-only-git", "true"),
            "commands_not_granted",
            "check",
        ),
    ] {
        assert_eq!(
            refused(&request, &here),
            (code.to_owned(), field.to_owned())
        );
    }
    let granted = child(&checked("general", "cargo test"), &here).unwrap();
    assert_eq!(granted.check.as_deref(), Some("cargo test"));
}

/// S2: roots that are refused, each with its code.
#[test]
fn roots_that_no_child_gets() {
    for (path, code) in [
        ("/", "root_is_everything"),
        ("/home", "root_is_home"),
        ("/home/u", "root_is_home"),
        ("/home/u/.config/tool", "root_is_reserved"),
        ("/home/u/project/.claude/agents", "root_is_reserved"),
        ("/srv/state", "root_is_reserved"),
        ("/srv", "root_is_reserved"),
        ("/proc", "root_is_kernel"),
        ("/sys/fs", "root_is_kernel"),
        ("/dev", "root_is_kernel"),
    ] {
        assert_eq!(
            refused(&ask(), &around(path)),
            (code.to_owned(), "workdir".to_owned()),
            "{path}"
        );
    }
}

/// S2, B8: every folder that the boundary protects because it configures agents is refused as a
/// root too, wherever it lies and in whatever case its name is written.
#[test]
fn every_folder_of_agents_is_refused() {
    let rows = PROTECTED
        .iter()
        .filter(|row| row.kind == ProtectedKind::Agent && row.shape == Shape::Folder);
    let names: Vec<&str> = rows.map(|row| row.path).collect();
    assert!(names.contains(&".cursor") && names.contains(&".claude"));
    for name in names {
        for path in [
            format!("/home/u/project/{name}"),
            format!("/data/{}/deep", name.to_uppercase()),
        ] {
            assert_eq!(refused(&ask(), &around(&path)).0, "root_is_reserved");
        }
    }
}

/// S2: a folder that isn't there, is no folder, or is a link out.
#[test]
fn folders_that_are_not_what_they_seem() {
    let mut here = around("/home/u/project");
    for (found, code) in [
        (Found::Missing, "folder_missing"),
        (
            Found::Other {
                canonical: "/home/u/project/x".into(),
                device: 1,
                inode: 3,
            },
            "workdir_not_folder",
        ),
        (
            Found::Unreadable("permission denied".to_owned()),
            "workdir_unreadable",
        ),
        (
            Found::Folder {
                canonical: "/data/other".into(),
                device: 1,
                inode: 2,
            },
            "workdir_link_out",
        ),
    ] {
        here.workdir = FolderFact {
            asked: "/home/u/project/x".into(),
            found,
        };
        assert_eq!(refused(&ask(), &here).0, code);
    }
    // Named from outside, a link is the person's own choice; it is noted.
    here.workdir.asked = "/home/u/link".into();
    let granted = child(&ask(), &here).unwrap();
    assert_eq!(granted.grant.workspace().path(), Path::new("/data/other"));
    assert_eq!(granted.notes.len(), 1);
}

#[test]
fn prompts_that_are_refused() {
    let with = |prompt: Vec<u8>| RunRequest { prompt, ..ask() };
    let here = around("/home/u/project");
    assert_eq!(refused(&with(b" \n\t".to_vec()), &here).0, "prompt_empty");
    assert_eq!(
        refused(&with(vec![b'a'; 1 << 20]), &here).0,
        "prompt_too_large"
    );
    assert_eq!(refused(&with(vec![b'a', 0xff]), &here).0, "prompt_not_utf8");
    assert!(child(&with(b"a\x1b[31m\x00".to_vec()), &here).is_ok());
}

/// D4: a person's `--budget` replaces the preset's limit; the global layer still holds.
#[test]
fn a_person_can_raise_a_budget_up_to_the_global_ceiling() {
    let request = RunRequest {
        budget: vec![(Dimension::Turns, 500)],
        ..ask()
    };
    let mut here = around("/home/u/project");
    assert_eq!(
        child(&request, &here).unwrap().grant.bounds().budget.turns,
        Some(500)
    );
    here.global.budget = Budget {
        turns: Some(40),
        ..Budget::UNLIMITED
    };
    assert_eq!(
        child(&request, &here).unwrap().grant.bounds().budget.turns,
        Some(40)
    );
}

/// S5, S6: a child of a child gets no more than its parent has, and only as deep as granted.
#[test]
fn nesting_shrinks_and_ends() {
    let mut here = around("/home/u/project");
    let parent = child(&ask(), &here).unwrap().grant;
    here.parent = Some(parent.clone());
    assert_eq!(refused(&ask(), &here).0, "nesting_not_granted");

    let deep = Grant::of_principal(Preset::ReadOnly, parent.workspace().clone(), Bounds::ANY)
        .attenuate(
            Layer::Preset,
            &Bounds {
                depth: 1,
                ..parent.bounds().clone()
            },
        );
    here.parent = Some(deep.clone());
    let granted = child(&ask(), &here).unwrap().grant;
    assert!(granted.bounds().is_within(deep.bounds()));
    assert_eq!(granted.bounds().depth, 0);
    here.workdir = folder("/data/other");
    assert_eq!(refused(&ask(), &here).0, "workdir_outside_parent");
}

#[test]
fn exec_reads_the_folder_and_writes_nothing_unless_asked() {
    let mut request = ExecRequest {
        argv: vec!["ls".into()],
        ..ExecRequest::default()
    };
    let here = around("/home/u/project");
    let grant = exec(&request, &here).unwrap();
    assert!(grant.bounds().write.is_none());
    request.write.push(folder("/home/u/project"));
    assert!(
        exec(&request, &here)
            .unwrap()
            .bounds()
            .write
            .permits(&grant.workspace().root)
    );
    request.read.push(folder("/home/u"));
    assert_eq!(exec(&request, &here).unwrap_err().code, "root_is_home");
    request.argv.clear();
    assert_eq!(exec(&request, &here).unwrap_err().code, "command_missing");
}

/// S2: a further root that is a link out of the caller's folder, or of the workspace, is refused
/// under the name of the option; one that stays inside, or is named from outside, is not.
#[test]
fn roots_behind_links_out_are_refused() {
    let linked = |asked: &str, canonical: &str| FolderFact {
        asked: asked.into(),
        ..folder(canonical)
    };
    let mut here = around("/data/real");
    here.workdir.asked = "/data/named".into();
    for (asked, canonical, code) in [
        ("/home/u/project/out", "/data/other", Some("root_link_out")),
        (
            "/home/u/project/out/deep",
            "/data/other/deep",
            Some("root_link_out"),
        ),
        ("/data/real/out", "/data/other", Some("root_link_out")),
        ("/data/named/out", "/data/other", Some("root_link_out")),
        ("/data/named/in", "/data/real/src", None),
        ("/home/u/project/in", "/home/u/project/src", None),
        ("/srv/link", "/data/other", None),
        ("/data/other", "/data/other", None),
    ] {
        let fact = linked(asked, canonical);
        let named = |read: &[FolderFact], write: &[FolderFact]| ExecRequest {
            argv: vec!["ls".into()],
            read: read.to_vec(),
            write: write.to_vec(),
            ..ExecRequest::default()
        };
        let list = [fact];
        for (request, field) in [
            (named(&list, &[]), "--read"),
            (named(&[], &list), "--write"),
        ] {
            let refused = exec(&request, &here).err();
            let found = refused.as_ref().map(|it| (&*it.code, &*it.field));
            assert_eq!(found, code.map(|code| (code, field)), "{asked}");
        }
    }
}

proptest::proptest! {
    /// S5: whatever is asked for, a child gets no more than its parent and the global ceiling permit,
    /// on every axis; and what it gets beyond a copy of the workspace is asked about.
    #[test]
    fn no_request_widens_what_the_layers_permit(
        preset in proptest::sample::select(&Preset::FOR_CHILDREN[..]),
        direct in proptest::bool::ANY,
        ports in proptest::collection::vec(1_u16..5, 0..3),
        read in proptest::sample::subsequence(vec!["/data/a", "/data/b", "/home/u/project/src"], 0..=3),
        turns in proptest::option::of(1_u64..2000),
        global_ports in proptest::option::of(proptest::collection::vec(1_u16..5, 0..3)),
        global_tools in proptest::option::of(proptest::sample::subsequence(Tool::ALL.to_vec(), 0..=9)),
        global_read in proptest::option::of(proptest::sample::subsequence(vec!["/data", "/data/a", "/home/u/project"], 0..=3)),
        nested in proptest::bool::ANY,
    ) {
        let mut here = around("/home/u/project");
        here.global = Bounds {
            ports: global_ports.map_or(Set::Any, Set::only),
            tools: global_tools.map_or(Set::Any, Set::only),
            read: global_read.map_or(Set::Any, |roots| {
                Set::only(roots.into_iter().filter_map(Root::new))
            }),
            budget: Budget { turns: Some(1000), ..Budget::UNLIMITED },
            ..Bounds::ANY
        };
        if nested {
            let workspace = child(&ask(), &around("/home/u/project")).unwrap().grant;
            let held = Bounds {
                tools: Set::only([Tool::Read, Tool::Write, Tool::Bash]),
                ports: Set::only([2]),
                depth: 1,
                ..Bounds::ANY
            };
            here.parent = Some(
                Grant::of_principal(Preset::General, workspace.workspace().clone(), Bounds::ANY)
                    .attenuate(Layer::Preset, &held),
            );
        }
        let request = RunRequest {
            workspace: direct.then(|| "direct".to_owned()),
            ports,
            read: read.into_iter().map(folder).collect(),
            budget: turns.map(|turns| (Dimension::Turns, turns)).into_iter().collect(),
            ..of(preset.name())
        };
        if let Ok(granted) = child(&request, &here) {
            let bounds = granted.grant.bounds();
            proptest::prop_assert!(bounds.is_within(&here.global));
            if let Some(parent) = &here.parent {
                proptest::prop_assert!(bounds.is_within(parent.bounds()));
            }
            let asked = effects(&granted);
            let is_asked = |effect| asked.contains(&effect);
            let in_place = granted.grant.workspace().mode == WorkspaceMode::Direct;
            proptest::prop_assert_eq!(is_asked(Consent::Shell), bounds.tools.permits(&Tool::Bash));
            proptest::prop_assert_eq!(is_asked(Consent::Network), !bounds.ports.is_none());
            proptest::prop_assert_eq!(is_asked(Consent::Write), in_place && !bounds.write.is_none());
            let leaves = bounds.read.items().any(|root| !root.path().starts_with("/home/u/project"));
            proptest::prop_assert_eq!(is_asked(Consent::Outside), leaves);
        }
    }
}
