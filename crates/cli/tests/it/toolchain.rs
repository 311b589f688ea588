//! Toolchains in a home folder (B9).

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::scene::{project, scene};

/// B9: a folder in PATH below home is seen read-only and its programs run; its neighbours aren't seen.
#[test]
fn a_toolchain_in_path_below_home_runs_and_is_read_only() {
    let env = project();
    let tools = env.home().join("tools/bin");
    fs::create_dir_all(&tools).unwrap();
    fs::write(tools.join("greet"), "#!/bin/sh\necho \"hello from $0\"\n").unwrap();
    fs::set_permissions(tools.join("greet"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(env.home().join("tools/secret"), "hidden").unwrap();
    env.give();
    let path = format!("{}:/usr/bin:/bin", tools.display());
    let run = |script: &str| {
        env.call(["exec", "--", "sh", "-c", script])
            .env("PATH", path.clone())
            .run()
    };
    let outcome = run("greet; ls ~/tools; ls -A ~").expect_code(0);
    let expected = format!("hello from {}/greet\nbin\ntools\n", tools.display());
    assert_eq!(outcome.out(), expected, "{outcome}");
    let outcome = run("echo x > ~/tools/bin/greet || echo x > ~/tools/bin/new");
    assert_ne!(outcome.code(), Some(0), "{outcome}");
    assert!(!tools.join("new").exists());
    let direct = env
        .call(["exec", "--", "greet"])
        .env("PATH", path.clone())
        .run()
        .expect_code(0);
    assert!(direct.out().starts_with("hello"), "{direct}");
}

/// B9: cargo's cache is overlaid: a build writes to it without touching the person's.
#[test]
fn caches_are_overlaid() {
    let env = project();
    let registry = env.home().join(".cargo/registry");
    fs::create_dir_all(&registry).unwrap();
    fs::write(registry.join("index"), "theirs\n").unwrap();
    fs::write(env.home().join(".cargo/credentials.toml"), "token").unwrap();
    env.give();
    let script = "cat ~/.cargo/registry/index; echo mine > ~/.cargo/registry/index && echo new > ~/.cargo/registry/new && \
                  cat ~/.cargo/registry/index; cat ~/.cargo/credentials.toml";
    let outcome = env.run(["exec", "--", "sh", "-c", script]);
    assert_eq!(outcome.out(), "theirs\nmine\n", "{outcome}");
    assert_eq!(
        fs::read_to_string(registry.join("index")).unwrap(),
        "theirs\n"
    );
    assert!(!registry.join("new").exists());
}

/// B9, S10: a variable that moves a toolchain is passed in with it, and is no reason to refuse a
/// command that a person typed.
#[test]
fn a_variable_that_moves_a_toolchain_is_passed_in() {
    let env = project();
    let elsewhere = env.root().join("elsewhere");
    for folder in ["go/bin", "rustup/toolchains/x", "cargo/bin"] {
        fs::create_dir_all(elsewhere.join(folder)).unwrap();
    }
    env.give();
    for (name, folder) in [
        ("GOPATH", "go"),
        ("RUSTUP_HOME", "rustup"),
        ("CARGO_HOME", "cargo"),
    ] {
        let place = elsewhere.join(folder);
        let script = format!("printf '%s ' ${name}; ls ${name}");
        let outcome = env
            .call(["exec", "--", "sh", "-c", &script])
            .env(name, &place)
            .run()
            .expect_code(0);
        let expected = format!("{} ", place.display());
        assert!(outcome.out().starts_with(&expected), "{outcome}");
    }
}

/// B9: the Rust toolchain of the person who runs the tests works inside, wherever rustup keeps it.
#[test]
fn cargo_from_a_home_folder_runs_inside() {
    let Some(home) = std::env::var_os("HOME").map(PathBuf::from) else {
        println!("there is no home, so no toolchain in one");
        return;
    };
    let place = |variable: &str, below: &str| {
        std::env::var_os(variable).map_or_else(|| home.join(below), PathBuf::from)
    };
    let (cargo, rustup) = (
        place("CARGO_HOME", ".cargo"),
        place("RUSTUP_HOME", ".rustup"),
    );
    let there = |path: &Path| fs::read_dir(path).is_ok();
    if !cargo.join("bin/cargo").exists() || !there(&rustup.join("toolchains")) {
        println!("there is no rustup in {}", home.display());
        return;
    }
    let env = scene();
    let path = format!("{}:/usr/bin:/bin", cargo.join("bin").display());
    let outcome = env
        .call(["exec", "--", "cargo", "--version"])
        .env("HOME", &home)
        .env("PATH", path)
        .env("CARGO_HOME", &cargo)
        .env("RUSTUP_HOME", &rustup)
        .run()
        .expect_code(0);
    assert!(outcome.out().starts_with("cargo "), "{outcome}");
}
