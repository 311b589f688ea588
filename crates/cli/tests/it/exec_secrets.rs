//! Secrets in what a command may read: covered, unless a person opened their class (B2, G9).

use std::fs;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};

use crate::scene::{beside, project, scene, shell};

/// B8: secrets of the workspace are covered for commands, and one class can be opened.
#[test]
fn secrets_are_covered_unless_their_class_is_opened() {
    let env = project();
    env.lay(|tree| {
        tree.file("deploy/.env.production", "PARCEL_TOKEN=none\n")
            .file(".ssh/id_rsa", "PARCEL_TOKEN=none\n");
    });
    let read = "cat .env deploy/.env.production .ssh/id_rsa; cat .env.example";
    let outcome = shell(&env, &[], read);
    assert_eq!(outcome.out(), "PARCEL_TOKEN=\n", "{outcome}");
    let outcome = shell(&env, &["--secret", "env_file"], read);
    assert_eq!(
        outcome.out(),
        "PARCEL_TOKEN=none\nPARCEL_TOKEN=none\nPARCEL_TOKEN=\n",
        "{outcome}"
    );
    // Neither a rename nor another name gets round the cover.
    let around = "mv .env e; ln .env e2; cp .env e3; cat e e2 e3; tar cf - . | grep -a TOKEN=none";
    let outcome = shell(&env, &["--write", "."], around);
    assert_eq!(outcome.out(), "", "{outcome}");
    assert_eq!(
        fs::read_to_string(env.workspace().join(".env")).unwrap(),
        "PARCEL_TOKEN=none\n"
    );
}

/// B8, G9: secrets in a further folder that may be read are covered as those of the workspace are.
#[test]
fn secrets_in_a_further_folder_are_covered_too() {
    let env = project();
    let other = beside(&env, "other");
    fs::write(other.join("seen.txt"), "seen\n").unwrap();
    fs::write(other.join(".env"), "TOKEN=none\n").unwrap();
    env.give();
    let outcome = shell(
        &env,
        &["--read", "../other"],
        "cat ../other/seen.txt ../other/.env",
    );
    assert_eq!(outcome.out(), "seen\n", "{outcome}");
}

/// Lays folders in each other, deeper than any path that the kernel takes, and a file in the last.
fn lay_deep(top: &Path, folders: usize, name: &str, text: &[u8]) {
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut folder = openat(CWD, top, flags, Mode::empty()).unwrap();
    let each = "d".repeat(200);
    for _ in 0..folders {
        mkdirat(&folder, &each, Mode::from(0o755)).unwrap();
        folder = openat(&folder, &each, flags, Mode::empty()).unwrap();
    }
    let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC;
    let file = openat(&folder, name, flags, Mode::from(0o644)).unwrap();
    rustix::io::write(&file, text).unwrap();
}

/// B2: a secret so deep that no single path reaches it is covered, or the command doesn't start: one
/// that walks down folder by folder would reach it.
#[test]
fn a_secret_deeper_than_any_path_is_covered_too() {
    let env = scene();
    lay_deep(&env.workspace(), 30, ".env", b"TOKEN=none\n");
    let down = "i=0; while [ $i -lt 30 ]; do cd -P d* || exit 9; i=$((i+1)); done; cat .env";
    let outcome = shell(&env, &[], down);
    assert_eq!(outcome.out(), "", "{outcome}");
    // The way down is open: it isn't the shell that fails.
    let opened = shell(&env, &["--secret", "env_file"], down);
    assert!(
        opened.out() == "TOKEN=none\n" || opened.code() == Some(125),
        "{opened}"
    );
}

/// B2: a folder that can't be entered at the start can't be opened by its owner in the boundary.
#[test]
fn a_secret_in_a_locked_folder_stays_covered_when_it_is_unlocked() {
    use std::os::unix::fs::PermissionsExt as _;
    let env = scene();
    env.lay(|tree| {
        tree.file("locked/.env", "TOKEN=none\n");
    });
    let locked = env.workspace().join("locked");
    let set = |mode| fs::set_permissions(&locked, fs::Permissions::from_mode(mode)).unwrap();
    set(0o000);
    let outcome = shell(
        &env,
        &["--write", "."],
        "chmod 755 locked && cat locked/.env",
    );
    set(0o755);
    assert_eq!(outcome.out(), "", "{outcome}");
}
