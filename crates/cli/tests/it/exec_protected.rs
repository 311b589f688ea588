//! The table of protected places as the boundary reads it. `gate::protected` holds the gate against the
//! same rows.

use std::collections::BTreeSet;
use std::fs;

use deputize_authority::{PROTECTED, Shape};
use deputize_testkit::TestEnv;

use crate::scene::{scene, shell};

/// A repository by hand, without any row of the table but those that make it one.
fn repository(env: &TestEnv) {
    env.lay(|tree| {
        tree.file(".git/HEAD", "ref: refs/heads/main\n")
            .file(".git/config", "[core]\n\trepositoryformatversion = 0\n")
            .folder(".git/objects")
            .folder(".git/refs/heads");
    });
}

/// The words that a command printed.
fn words(text: &str) -> BTreeSet<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// B2: a command can write no row of the table, whether it exists yet or not, and every other name.
#[test]
fn no_row_of_the_table_can_be_written() {
    let env = scene();
    repository(&env);
    let rows: Vec<&str> = PROTECTED.iter().map(|row| row.path).collect();
    let script = format!(
        "for row in {}; do \
           {{ mkdir -p \"$row\" && echo x > \"$row/x\" || echo x > \"$row\" || rm -rf \"$row\" || mv \"$row\" moved; }} 2> /dev/null \
           && echo \"$row\"; \
         done; echo tried; for name in notes .npmrc AGENTS.txt .gitignore .clauderc; do echo x > $name && echo $name; done",
        rows.join(" ")
    );
    let outcome = shell(&env, &["--write", "."], &script);
    assert_eq!(
        words(outcome.out()),
        words("tried notes .npmrc AGENTS.txt .gitignore .clauderc"),
        "{outcome}"
    );
}

/// B2: what is mounted in a writable folder is the table and nothing else.
#[test]
fn what_is_kept_is_the_table_and_nothing_else() {
    let env = scene();
    repository(&env);
    let root = env.workspace().canonicalize().unwrap();
    let outcome = shell(
        &env,
        &["--write", "."],
        "while read -r _ _ _ _ at _; do echo \"$at\"; done < /proc/self/mountinfo",
    )
    .expect_code(0);
    let inside = format!("{}/", root.display());
    let kept: BTreeSet<String> = words(outcome.out())
        .iter()
        .filter_map(|at| at.strip_prefix(&inside).map(str::to_owned))
        .collect();
    let mut rows: BTreeSet<String> = PROTECTED.iter().map(|row| row.path.to_owned()).collect();
    // The repository itself: so that it can't be moved away.
    rows.insert(".git".to_owned());
    assert_eq!(kept, rows);
}

/// B2: a row that exists deeper down stays as it is, too; what was fetched is anybody's to replace.
#[test]
fn rows_that_exist_deeper_down_are_kept() {
    let env = scene();
    let nested: Vec<_> = PROTECTED
        .iter()
        .filter(|row| !row.path.contains('/'))
        .collect();
    env.lay(|tree| {
        tree.file("node_modules/a/CLAUDE.md", "theirs\n");
        for row in &nested {
            let path = format!("pkg/one/{}", row.path);
            match row.shape {
                Shape::Folder => tree.file(format!("{path}/x"), "kept\n"),
                Shape::File => tree.file(path, "kept\n"),
            };
        }
    });
    let rows: Vec<&str> = nested.iter().map(|row| row.path).collect();
    let script = format!(
        "cd pkg/one; for row in {}; do \
           {{ echo x > \"$row/x\" || echo x > \"$row\" || rm -rf \"$row\" || mv \"$row\" moved; }} 2> /dev/null \
           && echo \"$row\"; \
         done; cd ../..; rm -r node_modules && echo replaced",
        rows.join(" ")
    );
    let outcome = shell(&env, &["--write", "."], &script);
    assert_eq!(words(outcome.out()), words("replaced"), "{outcome}");
    for row in nested {
        let path = env.workspace().join("pkg/one").join(row.path);
        let path = match row.shape {
            Shape::Folder => path.join("x"),
            Shape::File => path,
        };
        assert_eq!(fs::read_to_string(&path).unwrap(), "kept\n", "{}", row.path);
    }
}

/// B2: in a root that was granted around them, what a login runs is kept, and what lies beside it isn't.
#[test]
fn what_a_login_runs_is_kept_in_a_root_around_it() {
    let env = scene();
    let cargo = env.home().join(".cargo");
    fs::create_dir_all(&cargo).unwrap();
    fs::write(cargo.join("config.toml"), "[net]\n").unwrap();
    env.give();
    let path = cargo.to_string_lossy().into_owned();
    let script =
        format!("echo x > {path}/config.toml || echo kept; echo x > {path}/other && echo free");
    let outcome = shell(&env, &["--write", &path], &script);
    assert_eq!(words(outcome.out()), words("kept free"), "{outcome}");
    assert_eq!(
        fs::read_to_string(cargo.join("config.toml")).unwrap(),
        "[net]\n"
    );
}
