//! `deputize auth`: keys at rest (N6).

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::PathBuf;

use deputize_testkit::{
    Canary, Provider, Said, Size, Speech, Terminal, TestEnv, search_every_byte,
};
use serde_json::Value;

use crate::providers::{model_of, reads};
use crate::scene::{parsed, project, refused_code};

fn file(env: &TestEnv) -> PathBuf {
    env.configuration().join("deputize/auth.json")
}

/// A program that does what `secret-tool` does, with a folder for a keyring. It notes how it was
/// called.
fn keyring(env: &TestEnv) -> PathBuf {
    let folder = env.root().join("keyring");
    fs::create_dir(&folder).unwrap();
    let tool = folder.join("secret-tool");
    let script = format!(
        "#!/bin/sh\nring={}\necho \"$@\" >>$ring/calls\nverb=$1\nfor last; do :; done\n\
         case $verb in store) cat >$ring/key-$last;; lookup) cat $ring/key-$last 2>/dev/null;;\n\
         clear) rm $ring/key-$last;; esac\n",
        folder.display()
    );
    fs::write(&tool, script).unwrap();
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
    env.give();
    folder
}

fn with_keyring(folder: &std::path::Path) -> String {
    format!("{}:/usr/local/bin:/usr/bin:/bin", folder.display())
}

/// A run that needs the key, and the key that the provider saw.
#[track_caller]
fn key_seen(env: &TestEnv, path: Option<&str>) -> Option<String> {
    let turns = [
        Speech::Anthropic.turn(0, &reads()),
        Speech::Anthropic.turn(1, &Said::text("Done.")),
    ];
    let provider = Provider::playing(turns);
    let (model, base, _) = model_of(Speech::Anthropic);
    let mut call = env
        .call(["run", "--preset", "read-only", "--model", model, "Look."])
        .env(base, provider.url());
    if let Some(path) = path {
        call = call.env("PATH", path);
    }
    let _ = call.run().expect_code(0);
    let asked = provider.asked();
    asked.first()?.header("x-api-key").map(str::to_owned)
}

/// N6: without a keyring a key lies in a file that only its owner can read, and that is said; it is
/// told by no command, and a run uses it.
#[test]
fn a_key_is_stored_listed_used_and_removed() {
    let env = project();
    let key = Canary::new("stored");
    let set = env
        .call(["auth", "set", "anthropic"])
        .stdin(format!("{}\n", key.value()))
        .run()
        .expect_code(0);
    assert!(
        set.out().contains("auth.json") && set.err().contains("No keyring"),
        "{set}"
    );
    let meta = fs::metadata(file(&env)).unwrap();
    let folder = fs::metadata(file(&env).parent().unwrap()).unwrap();
    assert_eq!((meta.mode() & 0o777, folder.mode() & 0o777), (0o600, 0o700));
    let list = env.run(["auth", "list", "--json"]).expect_code(0);
    let keys = parsed(&list);
    assert_eq!(keys["keys"][0]["provider"], "anthropic");
    assert_eq!(keys["keys"][0]["place"], "file");
    assert_eq!(keys["keys"][1]["place"], Value::Null);
    for outcome in [&set, &list] {
        assert!(!format!("{outcome}").contains(key.value()), "{outcome}");
    }
    assert_eq!(key_seen(&env, None).as_deref(), Some(key.value()));
    assert_eq!(search_every_byte(&env.state(), &[&key]), []);
    let removed = env
        .run(["auth", "remove", "anthropic", "--json"])
        .expect_code(0);
    assert_eq!(parsed(&removed)["removed"], "file");
    assert!(
        !fs::read_to_string(file(&env))
            .unwrap()
            .contains(key.value())
    );
    let again = env.run(["auth", "remove", "anthropic"]).expect_code(0);
    assert!(again.out().contains("No key"), "{again}");
    let refused = env
        .run([
            "run",
            "--preset",
            "read-only",
            "--model",
            "anthropic:claude",
            "Look.",
        ])
        .expect_code(2);
    assert_eq!(refused_code(&refused), "key_missing");
    assert!(
        refused.err().contains("deputize auth set anthropic"),
        "{refused}"
    );
}

/// N6: where there is a keyring the key lies there, and not in the file; it travels through pipes and
/// is no argument.
#[test]
fn a_keyring_is_used_where_there_is_one() {
    let env = project();
    let ring = keyring(&env);
    let path = with_keyring(&ring);
    let key = Canary::new("in the keyring");
    let set = env
        .call(["auth", "set", "anthropic", "--json"])
        .env("PATH", &path)
        .stdin(key.value())
        .run()
        .expect_code(0);
    assert_eq!(parsed(&set)["place"], "keyring");
    assert_eq!(
        fs::read_to_string(ring.join("key-anthropic")).unwrap(),
        key.value()
    );
    assert!(
        !fs::read_to_string(file(&env))
            .unwrap()
            .contains(key.value())
    );
    let list = env
        .call(["auth", "list"])
        .env("PATH", &path)
        .run()
        .expect_code(0);
    assert!(list.out().contains("keyring"), "{list}");
    assert_eq!(key_seen(&env, Some(&path)).as_deref(), Some(key.value()));
    // Listing asks the keyring for nothing; a relay asks for its own key alone.
    let calls = fs::read_to_string(ring.join("calls")).unwrap();
    assert!(!calls.contains(key.value()), "{calls}");
    assert_eq!(
        calls
            .lines()
            .filter(|line| line.starts_with("lookup"))
            .count(),
        1,
        "{calls}"
    );
    let removed = env
        .call(["auth", "remove", "anthropic"])
        .env("PATH", &path)
        .run()
        .expect_code(0);
    assert!(
        removed.out().contains("keyring") && !ring.join("key-anthropic").exists(),
        "{removed}"
    );
    // In the file on demand, even so.
    let set = env
        .call(["auth", "set", "anthropic", "--file"])
        .env("PATH", &path)
        .stdin(key.value())
        .run()
        .expect_code(0);
    assert!(
        set.out().contains("auth.json") && !set.err().contains("keyring"),
        "{set}"
    );
}

/// N6: a keyring that no longer gives the key is said with the fix.
#[test]
fn a_keyring_that_lost_the_key_is_a_refusal() {
    let env = project();
    let ring = keyring(&env);
    let path = with_keyring(&ring);
    let _ = env
        .call(["auth", "set", "anthropic"])
        .env("PATH", &path)
        .stdin("k-1")
        .run()
        .expect_code(0);
    let run = |path: &str| {
        env.call([
            "run",
            "--preset",
            "read-only",
            "--model",
            "anthropic:claude",
            "Look.",
        ])
        .env("PATH", path.to_owned())
        .run()
        .expect_code(2)
    };
    assert_eq!(refused_code(&run("/usr/bin:/bin")), "key_store");
    fs::remove_file(ring.join("key-anthropic")).unwrap();
    assert_eq!(refused_code(&run(&path)), "key_missing");
}

/// N6: a file that others can read is refused, by every command and by a run, and isn't changed.
#[test]
fn a_file_that_others_can_read_is_refused() {
    let env = project();
    let _ = env
        .call(["auth", "set", "anthropic"])
        .stdin("k-1")
        .run()
        .expect_code(0);
    let before = fs::read(file(&env)).unwrap();
    fs::set_permissions(file(&env), fs::Permissions::from_mode(0o644)).unwrap();
    let run = [
        "run",
        "--preset",
        "read-only",
        "--model",
        "anthropic:claude",
        "Look.",
    ];
    for arguments in [
        &["auth", "list"][..],
        &["auth", "remove", "anthropic"],
        &run,
    ] {
        let refused = env.run(arguments).expect_code(2);
        assert_eq!(refused_code(&refused), "key_store", "{arguments:?}");
    }
    let set = env
        .call(["auth", "set", "openai"])
        .stdin("k-2")
        .run()
        .expect_code(2);
    assert_eq!(refused_code(&set), "key_store");
    assert_eq!(fs::read(file(&env)).unwrap(), before);
}

/// N6: the shell's own variable comes first and is named, and its value is not.
#[test]
fn a_variable_comes_before_what_is_stored() {
    let env = project();
    let shell = Canary::new("of the shell");
    let _ = env
        .call(["auth", "set", "gemini"])
        .stdin("stored")
        .run()
        .expect_code(0);
    let list = env
        .call(["auth", "list", "--json"])
        .env("GOOGLE_API_KEY", shell.value())
        .run()
        .expect_code(0);
    let keys = parsed(&list);
    let gemini = keys["keys"]
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["provider"] == "gemini")
        .unwrap();
    assert_eq!(gemini["place"]["environment"], "GOOGLE_API_KEY");
    assert!(!list.out().contains(shell.value()));
}

/// Bad input: what is no key and no provider is refused without repeating it, and stores nothing.
#[test]
fn what_is_no_key_is_refused_without_telling_it() {
    let env = project();
    let canary = Canary::new("mistyped");
    for (provider, key, code) in [
        ("anthropic", String::new(), "key_invalid"),
        (
            "anthropic",
            format!("two words {}", canary.value()),
            "key_invalid",
        ),
        ("anthropic", canary.value().repeat(1_000), "key_invalid"),
        ("nobody", canary.value().to_owned(), "provider_unknown"),
        ("scout", canary.value().to_owned(), "provider_unknown"),
    ] {
        let refused = env
            .call(["auth", "set", provider])
            .stdin(key)
            .run()
            .expect_code(2);
        assert_eq!(refused_code(&refused), code);
        assert!(!format!("{refused}").contains(canary.value()), "{refused}");
    }
    assert!(!file(&env).exists());
}

/// N6: a key that is typed isn't shown.
#[test]
fn a_typed_key_is_not_shown() {
    let env = project();
    let command = env.call(["auth", "set", "openai"]).into_command();
    let size = Size {
        columns: 100,
        rows: 20,
    };
    let mut terminal = Terminal::start(command, size);
    terminal.until_shown("isn't shown");
    terminal.press(b"typed-key-123\r");
    terminal.until_shown("only you can read");
    assert!(terminal.wait().success());
    let raw = String::from_utf8_lossy(terminal.raw()).into_owned();
    assert!(!raw.contains("typed-key"), "{raw}");
    assert!(
        fs::read_to_string(file(&env))
            .unwrap()
            .contains("typed-key-123")
    );
}
