//! Where state lives, and whom it must belong to (A2).

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::path::Path;

use deputize_testkit::{OrdinaryUser, TestEnv, is_root};

use crate::scene::{parsed, project, refused_code, runs};

/// A2: without a home, nothing is kept where somebody else could have made the folder first; it is
/// refused, with the variable to set.
#[test]
fn without_a_home_there_is_no_state() {
    let program = env!("CARGO_BIN_EXE_deputize");
    let (env, user) = match OrdinaryUser::for_root() {
        Some(user) => (TestEnv::for_user(program, user), user.id()),
        None => (project(), rustix::process::geteuid().as_raw()),
    };
    if Path::new(&format!("/run/user/{user}")).exists() {
        println!("this user has a folder for the time of a session, which is used");
        return;
    }
    let scout = ["run", "--model", "scout", "--preset", "read-only", "Look."];
    for (arguments, code) in [
        (&["exec", "--", "true"][..], 126),
        (&["audit", "show"], 2),
        (&scout, 2),
    ] {
        let outcome = env
            .call(arguments)
            .without_env("HOME")
            .without_env("XDG_STATE_HOME")
            .run()
            .expect_code(code);
        assert_eq!(refused_code(&outcome), "state_unknown", "{outcome}");
        assert!(outcome.err().contains("set HOME or XDG_STATE_HOME"));
    }
    assert!(!Path::new(&format!("/var/tmp/deputize-{user}")).exists());
}

/// A2: as with `sudo` and a kept HOME: root puts nothing into the home of somebody else, and says
/// whose it is.
#[test]
fn root_keeps_no_state_in_the_home_of_somebody_else() {
    if !is_root() {
        println!("only root can use what belongs to somebody else");
        return;
    }
    let env = project();
    let owner = Some(61_999);
    let deputize = env.state().join("deputize");
    let refused = || {
        for arguments in [
            &["exec", "--", "true"][..],
            &["exec", "--write", ".", "--", "true"],
        ] {
            let outcome = env.call(arguments).run().expect_code(125);
            assert_eq!(refused_code(&outcome), "state_failed");
            assert!(
                outcome.err().contains("it belongs to user 61999"),
                "{outcome}"
            );
        }
    };
    chown(env.home(), owner, None).unwrap();
    refused();
    assert!(!env.state().exists());
    fs::create_dir_all(deputize.join("runs")).unwrap();
    chown(&deputize, owner, None).unwrap();
    refused();
    chown(&deputize, Some(0), None).unwrap();
    chown(deputize.join("runs"), owner, None).unwrap();
    refused();
    assert!(runs(&env).is_empty());
}

/// A2, B8: the records of what is put into a person's folder are trusted to clean up by, so nobody
/// else may have written them.
#[test]
fn records_that_others_could_have_written_are_not_trusted() {
    let env = project();
    let deputize = env.state().join("deputize");
    let records = deputize.join("placeholders");
    fs::create_dir_all(&records).unwrap();
    let set = |mode| fs::set_permissions(&records, fs::Permissions::from_mode(mode)).unwrap();
    set(0o777);
    env.give();
    let write = ["exec", "--write", ".", "--", "true"];
    let outcome = env.run(write).expect_code(125);
    assert!(
        outcome.err().contains("others can write to it"),
        "{outcome}"
    );
    set(0o755);
    let _ = env.run(write).expect_code(0);
    fs::rename(&records, deputize.join("elsewhere")).unwrap();
    symlink("elsewhere", &records).unwrap();
    let outcome = env.run(write).expect_code(125);
    assert!(outcome.err().contains("it is a link"), "{outcome}");
    // Each of them has an end in its ledger: no host was lost.
    let rows = parsed(&env.run(["audit", "show", "--json"]).expect_code(0));
    let rows = rows.as_array().unwrap();
    let states: Vec<&str> = rows
        .iter()
        .filter_map(|row| row["state"].as_str())
        .collect();
    assert_eq!(states, ["error", "ok", "error"]);
}
