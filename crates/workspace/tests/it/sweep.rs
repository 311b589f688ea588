//! Throwing copies away (C2).

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

use deputize_workspace::{CopyKind, Holds, WorkingCopy, clear_leftovers};
use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};

use crate::scene::{KINDS, Scene};

/// C2: a copy goes whole, however deep it is and whatever its folders' modes are.
#[test]
fn a_copy_goes_whatever_it_holds() {
    for kind in KINDS {
        let scene = Scene::new(kind, |tree| {
            tree.file("a", "a");
        });
        dig(&scene.top(), 1_500);
        scene.edit("mkdir shut; echo i > shut/i; mkdir shut/in; chmod 000 shut/in; chmod 000 shut");
        fs::set_permissions(scene.top(), fs::Permissions::from_mode(0o500)).unwrap();
        let before = scene.snapshot();
        scene.copy().discard().unwrap();
        assert_eq!(fs::read_dir(&scene.run).unwrap().count(), 0, "{kind:?}");
        assert!(!WorkingCopy::exists(&scene.run));
        assert_eq!(scene.snapshot(), before);
        let refusal = WorkingCopy::open(&scene.run).unwrap_err().refusal();
        assert_eq!(refusal.code, "no_copy");
    }
}

/// Folders in folders, deeper than a path can name and than descriptors are had.
fn dig(top: &Path, depth: usize) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    let mut here = openat(CWD, top, flags, Mode::empty()).unwrap();
    for _ in 0..depth {
        mkdirat(&here, "ffff", Mode::RWXU).unwrap();
        here = openat(&here, "ffff", flags, Mode::empty()).unwrap();
    }
}

/// C2: a copy that is open elsewhere isn't thrown away.
#[test]
fn a_copy_in_use_stays() {
    let scene = Scene::new(CopyKind::Mirror, |tree| {
        tree.file("a", "a");
    });
    let supervisor = scene.copy();
    let refusal = scene.copy().discard().unwrap_err().refusal();
    assert_eq!(refusal.code, "copy_in_use");
    drop(supervisor);
    assert!(WorkingCopy::exists(&scene.run));
}

/// C2: what a copy holds decides whether it may go unasked.
#[test]
fn a_survey_tells_what_a_copy_holds() {
    for kind in KINDS {
        let scene = Scene::new(kind, |tree| {
            tree.file("a", "a");
        });
        let later = SystemTime::now() + Duration::from_secs(3 * 24 * 60 * 60 + 60);
        let holds = || WorkingCopy::survey(&scene.run, later).unwrap();
        assert_eq!(
            (holds().holds, holds().days),
            (Holds::Nothing, 3),
            "{kind:?}"
        );
        scene.edit("head -c 100000 /dev/urandom > a");
        assert_eq!(holds().holds, Holds::Unapplied);
        assert!(holds().bytes >= 100_000);
        scene.apply();
        assert_eq!(holds().holds, Holds::Applied);
        scene.undo();
        assert_eq!(holds().holds, Holds::Unapplied);
        fs::write(scene.copy().folder().join("copy.json"), "{}").unwrap();
        assert_eq!(holds().holds, Holds::Unknown);
    }
}

/// C2: what a kill left of a discarded copy goes with the next sweep.
#[test]
fn leftovers_go() {
    let scene = Scene::new(CopyKind::Mirror, |tree| {
        tree.file("a", "a");
    });
    fs::rename(scene.run.join("copy"), scene.run.join("copy.discarded")).unwrap();
    assert!(!WorkingCopy::exists(&scene.run));
    clear_leftovers(&scene.run).unwrap();
    assert_eq!(fs::read_dir(&scene.run).unwrap().count(), 0);
}
