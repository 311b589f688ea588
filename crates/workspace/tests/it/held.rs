//! What is held back or refused (C2).

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;

use deputize_testkit::Tree;
use deputize_workspace::{Conflicts, CopyKind, Disposition};

use crate::scene::{KINDS, Scene};

fn why(scene: &Scene, path: &str) -> String {
    match scene.change(path).map(|change| change.disposition) {
        Some(Disposition::Hold(why)) => format!("hold: {why}"),
        Some(Disposition::Refuse(why)) => format!("refuse: {why}"),
        other => format!("{other:?}"),
    }
}

/// C2: repositories that a child planted are quarantined, as are hooks and agent configuration.
#[test]
fn planted_repositories_hooks_and_configuration_are_held() {
    for kind in KINDS {
        let scene = Scene::new(kind, |tree| {
            tree.file("src/main.rs", "fn main() {}\n")
                .file(".git/config", "[core]\n")
                .file(".git/HEAD", "ref: refs/heads/main\n");
        });
        scene.edit(
            "mkdir -p vendor/x/.git; echo ref: refs/heads/main > vendor/x/.git/HEAD; \
             echo 'gitdir: /elsewhere' > src/.git; \
             mkdir -p bare/objects bare/refs bare/hooks; echo ref: x > bare/HEAD; echo hook > bare/hooks/post; \
             echo readme > bare/README; \
             echo o > .git/ORIG_HEAD; mkdir .husky; echo evil > .husky/pre-commit; \
             echo obey > CLAUDE.md; mkdir -p deep/er/.claude; echo x > deep/er/.claude/settings.json; \
             echo x > deep/.CursorRules; echo fine > src/lib.rs",
        );
        for path in [
            "vendor/x/.git",
            "vendor/x/.git/HEAD",
            "src/.git",
            "bare/HEAD",
            "bare/objects",
            "bare/hooks/post",
            ".git/ORIG_HEAD",
            ".husky/pre-commit",
            "CLAUDE.md",
            "deep/er/.claude/settings.json",
            "deep/.CursorRules",
        ] {
            assert!(
                why(&scene, path).starts_with("hold: "),
                "{kind:?} {path}: {}",
                why(&scene, path)
            );
        }
        for path in ["src/lib.rs", "bare/README", "deep/er"] {
            assert_eq!(why(&scene, path), "Some(Apply)", "{kind:?} {path}");
        }
    }
}

/// C2: nested repositories and submodules that are the person's: work in them comes, their git stays.
#[test]
fn work_in_submodules_comes_and_their_git_stays() {
    for kind in KINDS {
        let scene = Scene::new(kind, |tree| {
            tree.file(".git/modules/sub/HEAD", "ref: refs/heads/main\n")
                .file("sub/.git", "gitdir: ../.git/modules/sub\n")
                .file("sub/src", "s")
                .file("nested/.git/HEAD", "ref: refs/heads/main\n")
                .file("nested/.gitignore", "out\n")
                .file("nested/src", "s");
        });
        scene.edit(
            "echo 2 > sub/src; echo 2 > nested/src; echo o > nested/out; echo o > sub/out; \
             echo gitdir: /elsewhere > sub/.git; echo 2 > .git/modules/sub/HEAD; echo 2 > nested/.git/index",
        );
        for path in ["sub/.git", ".git/modules/sub/HEAD", "nested/.git/index"] {
            assert!(why(&scene, path).starts_with("hold: "), "{kind:?} {path}");
        }
        for path in ["sub/src", "nested/src", "sub/out"] {
            assert_eq!(why(&scene, path), "Some(Apply)", "{kind:?} {path}");
        }
        assert_eq!(why(&scene, "nested/out"), "Some(Skip)");
        scene.apply();
        assert_eq!(scene.text("sub/.git"), "gitdir: ../.git/modules/sub\n");
    }
}

/// C2: a bare repository that is completed across the layers is one too, also at the top.
#[test]
fn a_repository_may_be_completed_across_the_layers() {
    for kind in KINDS {
        let scene = Scene::new(kind, |tree| {
            tree.file("HEAD", "ref: refs/heads/main\n")
                .folder("objects");
        });
        scene.edit("mkdir refs; echo '[core]' > config; echo plain > plain");
        assert!(why(&scene, "refs").starts_with("hold: "), "{kind:?}");
        assert!(why(&scene, "config").starts_with("hold: "), "{kind:?}");
        assert_eq!(why(&scene, "plain"), "Some(Apply)");
    }
}

/// C2: FIFOs, sockets, set-id files and links that lead out are refused, on any way that leads out.
#[test]
fn special_files_and_outward_links_are_refused() {
    for kind in KINDS {
        let scene = Scene::new(kind, |tree| {
            tree.file("a/b/file", "f")
                .link("persons-own", "/etc")
                .link("up", "a/b");
        });
        scene.edit(
            "mkfifo pipe; echo s > setuid; echo g > setgid; \
             ln -s /etc/passwd absolute; ln -s ../../etc/passwd relative; ln -s persons-own/passwd through; \
             ln -s up/../../.. around; ln -s around2 around2; \
             ln -s a/b/file fine; ln -s ../b/file a/b/also; ln -s nowhere dangling; ln -s up/.. up-up",
        );
        let top = scene.top();
        fs::set_permissions(top.join("setuid"), fs::Permissions::from_mode(0o4755)).unwrap();
        fs::set_permissions(top.join("setgid"), fs::Permissions::from_mode(0o2755)).unwrap();
        let _socket = UnixListener::bind(top.join("sock")).unwrap();
        for path in [
            "pipe", "setuid", "setgid", "sock", "absolute", "relative", "through", "around",
            "around2",
        ] {
            assert!(
                why(&scene, path).starts_with("refuse: "),
                "{kind:?} {path}: {}",
                why(&scene, path)
            );
        }
        for path in ["fine", "a/b/also", "dangling", "up-up"] {
            assert_eq!(why(&scene, path), "Some(Apply)", "{kind:?} {path}");
        }
    }
}

/// C2, C4: what couldn't be put back as it was isn't deleted or replaced either.
#[test]
fn special_files_of_the_persons_stay() {
    for kind in KINDS {
        let scene = Scene::at(kind, |root| {
            Tree::at(root).fifo("d/pipe").file("d/x", "x").fifo("other");
            fs::write(root.join("setuid"), "s").unwrap();
            fs::set_permissions(root.join("setuid"), fs::Permissions::from_mode(0o4755)).unwrap();
        });
        scene.edit("rm -rf d other; echo mine > other; rm setuid");
        let before = scene.snapshot();
        // A mirror doesn't have them, so there they are in the way.
        let (mut copy, plan) = scene.plan(&[]);
        copy.carry_out(&plan, Conflicts::LeaveOut).unwrap();
        drop(copy);
        let now = scene.snapshot();
        for path in ["d", "d/pipe", "other", "setuid"] {
            let path = std::path::Path::new(path);
            assert_eq!(now.get(path), before.get(path), "{kind:?} {path:?}");
        }
        assert!(!scene.base.join("d/x").exists());
        if kind == CopyKind::Overlay {
            assert_eq!(plan.conflicts, []);
            assert!(why(&scene, "d/pipe").starts_with("refuse: "));
        }
        scene.undo();
        assert_eq!(scene.snapshot(), before, "{kind:?}");
    }
}

/// C2: a folder keeps its group bit, and a new one takes it over, as the file system does it.
#[test]
fn the_group_bit_of_folders_stays() {
    use std::os::unix::fs::MetadataExt as _;
    for kind in KINDS {
        let scene = Scene::at(kind, |root| {
            Tree::at(root).file("shared/x", "x");
            let mode = fs::Permissions::from_mode(0o2755);
            fs::set_permissions(root.join("shared"), mode).unwrap();
        });
        scene.edit("mkdir shared/new; echo n > shared/new/n; chmod 750 shared");
        scene.apply();
        let mode = |path: &str| fs::metadata(scene.base.join(path)).unwrap().mode() & 0o7777;
        assert_eq!(
            (mode("shared"), mode("shared/new")),
            (0o2750, 0o2755),
            "{kind:?}"
        );
        scene.undo();
        assert_eq!(mode("shared"), 0o2755, "{kind:?}");
    }
}

/// C2: a further name of a file outside is refused; two names inside are two files.
#[test]
fn names_of_files_outside_are_refused() {
    for kind in KINDS {
        let scene = Scene::new(kind, |tree| {
            tree.file("a", "a");
        });
        scene.edit("echo two > one; ln one other");
        let outside = scene.run.join("outside");
        fs::write(&outside, "outside").unwrap();
        fs::hard_link(&outside, scene.top().join("linked")).unwrap();
        assert!(why(&scene, "linked").starts_with("refuse: "), "{kind:?}");
        assert_eq!(why(&scene, "one"), "Some(Apply)");
        assert_eq!(why(&scene, "other"), "Some(Apply)");
    }
}

/// C2: what the boundary puts there to keep a place free is no change; what a child puts there is.
#[test]
fn placeholders_are_no_change() {
    for kind in KINDS {
        let scene = Scene::new(kind, |tree| {
            tree.file("a", "a").folder(".git");
        });
        scene.edit("mkdir -p .git/hooks .claude sub/.git/info; : > AGENTS.md; printf '.\\n' > .git/commondir");
        assert_eq!(scene.told(), ["created sub apply"], "{kind:?}");
        scene.edit("echo x > .claude/x");
        assert_eq!(
            scene.told(),
            [
                "created .claude hold",
                "created .claude/x hold",
                "created sub apply"
            ],
            "{kind:?}"
        );
    }
}

/// C2: whatever the person's git configuration makes git run or read in the work tree is held, however
/// it is named there; the child's own configuration names nothing.
#[test]
fn what_the_persons_git_configuration_names_is_held() {
    for kind in KINDS {
        let scene = Scene::new(kind, |tree| {
            tree.file(
                ".git/config",
                "[core]\n\thooksPath = build/hooks\n\tfsmonitor = \"./tools/watch --fast\"\n\
                 [filter \"x\"]\n\tclean = sh tools/clean.sh %f\n[alias]\n\tup = !tools/up.sh\n\
                 [include]\n\tpath = ../shared.gitconfig\n[remote \"origin\"]\n\turl = main\n\
                 [branch \"main\"]\n\tremote = origin\n",
            )
            .file("shared.gitconfig", "[diff]\n\texternal = tools/diff\n")
            .file("sub/.git/config", "[core]\n\tsshCommand = ./ssh.sh\n")
            .file("tools/clean.sh", "cat\n");
        });
        scene.edit(
            "mkdir -p build/hooks; echo evil > build/hooks/pre-commit; echo evil > tools/watch; \
             echo evil >> tools/clean.sh; echo evil > tools/up.sh; echo evil > tools/diff; \
             echo evil >> shared.gitconfig; echo evil > sub/ssh.sh; echo fine > ssh.sh; \
             echo fine > tools/other; echo fine > origin; echo fine > main; echo fine > build/out",
        );
        for path in [
            "build/hooks/pre-commit",
            "tools/watch",
            "tools/clean.sh",
            "tools/up.sh",
            "tools/diff",
            "shared.gitconfig",
            "sub/ssh.sh",
        ] {
            let why = why(&scene, path);
            assert!(why.starts_with("hold: your git"), "{kind:?} {path}: {why}");
        }
        for path in ["ssh.sh", "tools/other", "origin", "main", "build/out"] {
            assert_eq!(why(&scene, path), "Some(Apply)", "{kind:?} {path}");
        }
    }
}

/// C2: git asks only whether it may enter what a repository is made of: links and files that can be
/// executed pass for folders.
#[test]
fn repositories_of_links_and_files_are_held_too() {
    for kind in KINDS {
        let scene = Scene::new(kind, |tree| {
            tree.file("src/main.rs", "fn main() {}\n");
        });
        scene.edit(
            "mkdir -p v/x o r v/y v/z; for d in x y z; do echo ref: refs/heads/m > v/$d/HEAD; \
             echo '[core]' > v/$d/config; done; ln -s ../../o v/x/objects; ln -s ../../r v/x/refs; \
             echo > v/y/objects; echo > v/y/refs; chmod 755 v/y/objects v/y/refs; \
             ln -s ../way v/z/commondir; echo ../c > v/way",
        );
        for path in [
            "v/x/HEAD",
            "v/x/config",
            "v/y/config",
            "v/y/refs",
            "v/z/config",
        ] {
            let why = why(&scene, path);
            assert!(why.starts_with("hold: "), "{kind:?} {path}: {why}");
        }
    }
}

/// C2: a link is judged by the tree that an apply would leave: one that leads through something that
/// isn't applied is held.
#[test]
fn links_through_what_is_not_applied_are_held() {
    for kind in KINDS {
        let scene = Scene::new(kind, |tree| {
            tree.file(".gitignore", "build\n").file("kept/x", "x\n");
        });
        scene.edit(
            "mkdir -p build .husky; echo s > build/s; echo s > .husky/s; ln -s build/s data; \
             ln -s .husky/s hook; ln -s kept/x fine",
        );
        for path in ["data", "hook"] {
            let why = why(&scene, path);
            assert!(
                why.starts_with("hold: it leads through"),
                "{kind:?} {path}: {why}"
            );
        }
        assert_eq!(why(&scene, "fine"), "Some(Apply)", "{kind:?}");
    }
}

/// C2, D4: files with holes cost what they take, and terabytes of nothing are neither read nor applied.
#[test]
fn holes_are_not_read() {
    for kind in KINDS {
        let scene = Scene::new(kind, |tree| {
            tree.file("a", "a\n");
        });
        scene.edit("for n in $(seq 300); do truncate -s 5G hole$n; done; echo b > a");
        let begun = std::time::Instant::now();
        let observed = scene.copy().observe().unwrap();
        assert!(observed.bytes < 1 << 20, "{kind:?}: {observed:?}");
        let changes = scene.manifest().changes;
        let refused = changes.iter().filter(|change| {
            matches!(&change.disposition, Disposition::Refuse(why) if why.contains("too much content"))
        });
        assert_eq!(refused.count(), 300, "{kind:?}");
        assert_eq!(why(&scene, "a"), "Some(Apply)", "{kind:?}");
        // A terabyte and a half would take an hour.
        assert!(begun.elapsed().as_secs() < 60, "{kind:?}");
    }
}
