//! What the person's git configuration names in the work tree, and isn't there yet (B2, C2).

use std::fs;

use deputize_testkit::TestEnv;
use serde_json::json;

use crate::scene::{call, parsed, say, scene, script, shell};

const CONFIG: &str =
    "[core]\n\tbare = false\n\thooksPath = tools/hooks\n[include]\n\tpath = ../cfg/inc\n";

/// A repository that names places, or leaves that to the person's configuration for all of them.
fn repository() -> TestEnv {
    of(CONFIG)
}

fn of(config: &str) -> TestEnv {
    let env = scene();
    env.lay(|tree| {
        tree.file(".git/config", config)
            .file(".git/HEAD", "ref: refs/heads/main\n")
            .folder(".git/objects")
            .folder(".git/refs")
            .file("f", "f\n");
    });
    env
}

const PLANT: &str = "mkdir -p tools/hooks cfg; echo evil > tools/hooks/pre-commit; \
                     echo evil > cfg/inc; echo g >> f; true";

/// B2: where a command may write to the folder itself, hooks and configuration that are named stay
/// unmade, with the folders on their way; nothing of the boundary's own is left.
#[test]
fn what_is_named_and_not_there_can_not_be_made() {
    let env = repository();
    let outcome = shell(&env, &["--write", "."], PLANT).expect_code(0);
    assert!(outcome.err().contains("Read-only file system"), "{outcome}");
    assert!(!env.workspace().join("tools").exists());
    assert!(!env.workspace().join("cfg").exists());
    assert_eq!(
        fs::read_to_string(env.workspace().join("f")).unwrap(),
        "f\ng\n"
    );
}

/// C2: in a copy they can be made, and are held back when it is applied; the boundary's own mount
/// points are nobody's change.
#[test]
fn what_is_named_is_held_back_from_a_copy() {
    let env = repository();
    let model = script(
        &env,
        &json!({ "turns": [call("bash", json!({ "command": PLANT })), say("Done.")] }),
    );
    let outcome = env.run([
        "run", "--json", "--allow", "shell", "--model", &model, "Go.",
    ]);
    let result = parsed(&outcome);
    let changes: Vec<(String, bool)> = result["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|change| {
            let path = change["path"].as_str().unwrap().to_owned();
            (path, change["kept_back"].is_string())
        })
        .collect();
    let listed = |path: &str, held: bool| (path.to_owned(), held);
    let expected = [
        listed("cfg", false),
        listed("cfg/inc", true),
        listed("f", false),
        listed("tools", false),
        listed("tools/hooks", true),
        listed("tools/hooks/pre-commit", true),
    ];
    for one in &changes {
        assert!(expected.contains(one), "{one:?} in {outcome}");
    }
    assert!(
        changes.contains(&listed("tools/hooks/pre-commit", true)),
        "{outcome}"
    );
    assert!(changes.contains(&listed("cfg/inc", true)), "{outcome}");
}

/// B2, C2: so is what the person's configuration names for every repository, by whatever way git would
/// come to it.
#[test]
fn what_is_named_for_every_repository_is_kept_too() {
    let plain = "[core]\n\tbare = false\n";
    for file in [".gitconfig", ".config/git/config"] {
        let env = of(plain);
        let place = env.home().join(file);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(place, "[core] hooksPath = tools/hooks\n").unwrap();
        env.give();
        let outcome = shell(&env, &["--write", "."], PLANT).expect_code(0);
        assert!(outcome.err().contains("Read-only file system"), "{outcome}");
        assert!(!env.workspace().join("tools").exists(), "{file}");
        let turns = json!([call("bash", json!({ "command": PLANT })), say("Done.")]);
        let model = script(&env, &json!({ "turns": turns }));
        let outcome = env.run([
            "run", "--json", "--allow", "shell", "--model", &model, "Go.",
        ]);
        let result = parsed(&outcome);
        let changes = result["changes"].as_array().unwrap();
        let hook = changes
            .iter()
            .find(|change| change["path"] == "tools/hooks/pre-commit");
        assert!(hook.unwrap()["kept_back"].is_string(), "{outcome}");
        let other = changes.iter().find(|change| change["path"] == "f");
        assert!(other.unwrap()["kept_back"].is_null(), "{outcome}");
    }
}
