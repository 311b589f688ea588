use std::path::Path;

use deputize_authority::{
    Bounds, Grant, Layer, Level, Preset, Promise, Root, Set, Workspace, WorkspaceMode,
};

use super::*;
use crate::host::{HostFacts, NamespaceRefusal, SystemPath};
use crate::toolchain::Toolchain;

fn host() -> HostFacts {
    HostFacts {
        uid: 1000,
        gid: 1000,
        kernel_root: false,
        spare_id: 2_000_000_077,
        landlock_abi: 7,
        seccomp: true,
        namespaces_refused: None,
        home: Some("/home/u".into()),
        system: vec![
            SystemPath::Folder("/usr".into()),
            SystemPath::Link("/bin".into(), "usr/bin".into()),
            SystemPath::Folder("/etc".into()),
        ],
        toolchains: vec![Toolchain {
            name: "cargo".to_owned(),
            roots: vec!["/home/u/.cargo/bin".into()],
            caches: vec!["/home/u/.cargo/registry".into()],
            moved_to: None,
            environment: Vec::new(),
        }],
        path: vec![
            "/home/u/.cargo/bin".into(),
            "/home/u/private".into(),
            "/usr/bin".into(),
        ],
        environment: vec![
            ("LANG".to_owned(), "C.UTF-8".to_owned()),
            ("TZ".to_owned(), "UTC".to_owned()),
        ],
        git_names: Vec::new(),
        memory: 4 << 30,
        cgroup_delegated: false,
    }
}

fn root(path: &str) -> Root {
    Root::new(path).unwrap()
}

fn grant(preset: Preset, write: &[&str]) -> Grant {
    let workspace = Workspace {
        root: root("/home/u/w"),
        device: 1,
        inode: 2,
        mode: WorkspaceMode::Direct,
    };
    let own = Bounds {
        read: Set::only([root("/home/u/w"), root("/data")]),
        write: Set::only(write.iter().map(|path| root(path))),
        secrets: Set::none(),
        ..Bounds::ANY
    };
    Grant::of_principal(preset, workspace, Bounds::ANY)
        .attenuate(Layer::Preset, &preset.bounds())
        .attenuate(Layer::Request, &own)
}

/// A plan as text: what appears where, who may write, and what is promised.
fn shown(plan: &BoundaryPlan) -> String {
    let mut out = format!("{} as {:?}\n", plan.level, plan.identity);
    for mount in &plan.view {
        out.push_str(&format!("  {} {:?}\n", mount.at.display(), mount.what));
    }
    out.push_str(&format!(
        "read {:?}\nwrite {:?}\n",
        plan.access.read, plan.access.write
    ));
    for (name, value) in &plan.environment {
        out.push_str(&format!("env {name}={value}\n"));
    }
    for state in &plan.promises {
        let mark = if state.mechanism.is_some() {
            "held"
        } else {
            "NOT "
        };
        out.push_str(&format!("{mark} {}\n", state.promise));
    }
    out
}

/// B1, B3: a read-only grant, in full. Every line of the view is there on purpose.
#[test]
fn plan_of_a_read_only_child() {
    let plan = compile(
        &grant(Preset::ReadOnly, &[]),
        &host(),
        Level::Full,
        &CopyPlace::Planned,
    )
    .unwrap();
    insta::assert_snapshot!(shown(&plan), @r#"
    namespaces+landlock+seccomp as Own { uid: 1000, gid: 1000 }
      /data Host { access: ReadOnly, owner: Kept }
      /home/u/w Host { access: ReadOnly, owner: Kept }
    read ["/data", "/home/u/w"]
    write []
    held write
    held read
    held protected_paths
    held network
    held process_kill
    held secrets
    NOT  memory
    held pids
    held devices
    "#);
}

/// B1, B2: a command that may write the workspace.
#[test]
fn plan_of_a_writing_command() {
    let plan = compile(
        &grant(Preset::Exec, &["/home/u/w"]),
        &host(),
        Level::Full,
        &CopyPlace::Planned,
    )
    .unwrap();
    insta::assert_snapshot!(shown(&plan), @r#"
    namespaces+landlock+seccomp as Own { uid: 1000, gid: 1000 }
      /usr Host { access: ReadOnly, owner: Kept }
      /bin Link("usr/bin")
      /etc Host { access: ReadOnly, owner: Kept }
      /tmp Memory { bytes: 1073741824 }
      /data Host { access: ReadOnly, owner: Kept }
      /var/tmp Memory { bytes: 1073741824 }
      /home/u Memory { bytes: 536870912 }
      /home/u/w Host { access: ReadWrite, owner: Kept }
      /home/u/.cargo/bin Host { access: ReadOnly, owner: Kept }
      /home/u/.cargo/registry Overlay
      /proc Proc
      /dev Dev
    read ["/usr", "/etc", "/data", "/home/u/.cargo/bin"]
    write ["/tmp", "/var/tmp", "/home/u", "/home/u/w", "/home/u/.cargo/registry", "/proc", "/dev"]
    env HOME=/home/u
    env PATH=/home/u/.cargo/bin:/usr/bin:/usr/local/bin:/bin
    env TMPDIR=/tmp
    env LANG=C.UTF-8
    env TZ=UTC
    held write
    held read
    held protected_paths
    held network
    held process_kill
    held secrets
    NOT  memory
    held pids
    held devices
    "#);
    let kept: Vec<_> = plan
        .cover
        .roots
        .iter()
        .map(|root| (root.path.to_str().unwrap(), root.protect))
        .collect();
    assert_eq!(
        kept,
        [("/data", Protect::NotNeeded), ("/home/u/w", Protect::Pin)]
    );
    assert_eq!(plan.cover.scan, Scan::Whole);
}

/// B3: without namespaces there is no view, and less is promised.
#[test]
fn plan_of_a_read_only_child_without_namespaces() {
    let plan = compile(
        &grant(Preset::ReadOnly, &[]),
        &host(),
        Level::LandlockSeccomp,
        &CopyPlace::Planned,
    )
    .unwrap();
    insta::assert_snapshot!(shown(&plan), @r#"
    landlock+seccomp as Own { uid: 1000, gid: 1000 }
    read ["/usr", "/etc", "/home/u/.cargo/bin", "/home/u/.cargo/registry", "/data", "/home/u/w"]
    write ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"]
    held write
    held read
    held protected_paths
    held network
    held process_kill
    held secrets
    NOT  memory
    held pids
    held devices
    "#);
}

/// B2: as the kernel's root the identity inside is a spare one, and owners are mapped to it.
#[test]
fn plan_as_root() {
    let host = HostFacts {
        uid: 0,
        gid: 0,
        kernel_root: true,
        ..host()
    };
    let plan = compile(
        &grant(Preset::Exec, &[]),
        &host,
        Level::Full,
        &CopyPlace::Planned,
    )
    .unwrap();
    assert_eq!(
        plan.identity,
        Identity::Spare {
            kernel: 2_000_000_077,
            inside: 1000
        }
    );
    let workspace = plan
        .view
        .iter()
        .find(|mount| mount.at == Path::new("/home/u/w"));
    assert_eq!(
        workspace.map(|mount| &mount.what),
        Some(&Source::Host {
            access: AccessMode::ReadOnly,
            owner: Owner::Mapped
        })
    );
}

/// B3: what a level doesn't hold is refused with the fix for this machine; nothing is weakened.
#[test]
fn a_missing_promise_is_a_refusal_with_the_fix() {
    let mut host = host();
    host.namespaces_refused = Some(NamespaceRefusal::AppArmor);
    let writing = grant(Preset::Exec, &["/home/u/w"]);
    let refusal =
        compile(&writing, &host, Level::LandlockSeccomp, &CopyPlace::Planned).unwrap_err();
    assert_eq!(
        (refusal.code.as_str(), refusal.field.as_str()),
        ("boundary_too_weak", "write")
    );
    assert!(refusal.fix.contains("AppArmor"));
    host.landlock_abi = 0;
    for level in [Level::Full, Level::LandlockSeccomp] {
        let refusal = compile(&writing, &host, level, &CopyPlace::Planned).unwrap_err();
        assert_eq!(refusal.code, "boundary_unavailable");
    }
    host.landlock_abi = 1;
    // Truncation isn't governed before ABI 3, signals aren't scoped before ABI 6.
    let looking = grant(Preset::ReadOnly, &[]);
    assert_eq!(
        compile(&looking, &host, Level::LandlockSeccomp, &CopyPlace::Planned)
            .unwrap_err()
            .field,
        "write"
    );
    host.landlock_abi = 4;
    assert_eq!(
        compile(&looking, &host, Level::LandlockSeccomp, &CopyPlace::Planned)
            .unwrap_err()
            .field,
        "process_kill"
    );
}

/// S10: nothing is inherited: only the listed names, and PATH only with what can be seen inside.
#[test]
fn the_environment_is_built_not_inherited() {
    let plan = compile(
        &grant(Preset::Exec, &[]),
        &host(),
        Level::Full,
        &CopyPlace::Planned,
    )
    .unwrap();
    let names: Vec<&str> = plan
        .environment
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(names, ["HOME", "PATH", "TMPDIR", "LANG", "TZ"]);
    let path = &plan.environment[1].1;
    assert_eq!(path, "/home/u/.cargo/bin:/usr/bin:/usr/local/bin:/bin");
}

/// B1: whatever the grant, nothing is writable that it doesn't grant, and every promise is stated.
#[test]
fn no_plan_writes_what_the_grant_does_not() {
    for preset in [Preset::ReadOnly, Preset::Exec] {
        for write in [&[][..], &["/home/u/w"], &["/home/u/w/sub"], &["/elsewhere"]] {
            let grant = grant(preset, write);
            let Ok(plan) = compile(&grant, &host(), Level::Full, &CopyPlace::Planned) else {
                continue;
            };
            for mount in &plan.view {
                if let Source::Host {
                    access: AccessMode::ReadWrite,
                    ..
                } = mount.what
                {
                    assert!(grant.bounds().write.permits(&Root::new(&mount.at).unwrap()));
                }
            }
            assert_eq!(plan.promises.len(), Promise::ALL.len());
            assert_eq!(plan.grant, grant.digest());
        }
    }
}

/// A grant whose writes go to a private clone, or, for git, to the empty folder that becomes one.
fn in_clone(write: &str) -> Grant {
    let of = grant(Preset::Exec, &[write]);
    let workspace = Workspace {
        mode: WorkspaceMode::Worktree,
        ..of.workspace().clone()
    };
    Grant::of_principal(Preset::Exec, workspace, Bounds::ANY).attenuate(Layer::Request, of.bounds())
}

/// The mounts that have to do with the workspace and its clone.
fn clone_mounts(plan: &BoundaryPlan) -> Vec<String> {
    let mounts = plan.view.iter();
    let ours =
        mounts.filter(|mount| mount.at.starts_with("/home/u/w") || mount.at.starts_with("/s"));
    ours.map(|mount| format!("{} {:?}", mount.at.display(), mount.what))
        .collect()
}

/// C2: where git makes a clone, the folder is read-only and only the empty tree is writable; the
/// child sees the clone in the folder's place, with the person's objects.
#[test]
fn a_clone_is_made_beside_the_folder_and_stands_in_its_place() {
    let tree = || PathBuf::from("/s/tree");
    let unfilled = CopyPlace::Unfilled { tree: tree() };
    let plan = compile(&in_clone("/s/tree"), &host(), Level::Full, &unfilled).unwrap();
    insta::assert_snapshot!(clone_mounts(&plan).join("\n"), @r#"
    /s/tree Copy(Unfilled { tree: "/s/tree" })
    /home/u/w Host { access: ReadOnly, owner: Kept }
    "#);
    assert!(plan.has_its_copy());
    let kept = plan.cover.roots.iter().find(|root| root.path == tree());
    assert_eq!(kept.map(|root| root.protect), Some(Protect::PinInCopy));
    let clone = CopyPlace::Clone {
        tree: tree(),
        objects: Sealed {
            path: "/home/u/w/.git/objects".into(),
            device: 1,
            inode: 3,
        },
    };
    let plan = compile(&in_clone("/home/u/w"), &host(), Level::Full, &clone).unwrap();
    insta::assert_snapshot!(clone_mounts(&plan).join("\n"), @r#"/home/u/w Copy(Clone { tree: "/s/tree", objects: Sealed { path: "/home/u/w/.git/objects", device: 1, inode: 3 } })"#);
    // An empty folder is never shown to a child as its workspace.
    let plan = compile(&in_clone("/home/u/w"), &host(), Level::Full, &unfilled).unwrap();
    assert!(!plan.has_its_copy());
}
