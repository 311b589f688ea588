//! Ranked search on trees that the tests write themselves.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, symlink};

use deputize_authority::{Bounds, Grant, Preset, Root, SecretRules, Set, Workspace, WorkspaceMode};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::Value;

use super::rank;
use crate::beneath::Roots;
use crate::output::{ToolFailure, ToolOutput};

/// A tree of the test's own, with what makes places hard to find: tests, prose, copies, bundles
/// and other meanings of the same words.
struct Tree {
    folder: tempfile::TempDir,
    root: std::path::PathBuf,
}

impl Tree {
    fn of(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let tree = Self { folder, root };
        for (path, text) in files {
            tree.write(path, text.as_bytes());
        }
        tree
    }

    fn write(&self, path: &str, bytes: &[u8]) {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    fn rank_in(&self, place: &str, terms: &[&str]) -> Result<ToolOutput, ToolFailure> {
        let facts = fs::metadata(&self.root).unwrap();
        let root = Root::new(&self.root).unwrap();
        let workspace = Workspace {
            root: root.clone(),
            device: facts.dev(),
            inode: facts.ino(),
            mode: WorkspaceMode::Direct,
        };
        let bounds = Bounds {
            read: Set::only([root]),
            ..Bounds::ANY
        };
        let grant = Grant::of_principal(Preset::ReadOnly, workspace, bounds);
        let roots = Roots::of(&grant).unwrap();
        let place = roots.find(&self.root.join(place)).unwrap();
        let terms: Vec<String> = terms.iter().map(|term| (*term).to_owned()).collect();
        let secrets = SecretRules::allowing(Set::none());
        rank(&place, &self.root, &terms, None, &secrets)
    }

    fn places(&self, terms: &[&str]) -> Vec<Value> {
        places(&self.rank_in("", terms).unwrap())
    }

    /// The files of the first few places.
    fn top(&self, terms: &[&str], count: usize) -> Vec<String> {
        let places = self.places(terms);
        let paths = places.iter().map(|place| place["path"].as_str().unwrap());
        paths.take(count).map(str::to_owned).collect()
    }
}

fn places(output: &ToolOutput) -> Vec<Value> {
    output
        .text
        .raw()
        .lines()
        .skip(1)
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn summary(output: &ToolOutput) -> Value {
    serde_json::from_str(output.text.raw().lines().next().unwrap()).unwrap()
}

const LIMITS_QUESTION: [&str; 5] = [
    "budget",
    "limits|cap|max|quota|threshold",
    "enforced|check|exceed|reject^0.7",
    "budget limits^0.4",
    "limits enforced^0.4",
];

fn project() -> Tree {
    let rest: Vec<(String, String)> = (0..60)
        .map(|n| {
            let text = format!(
                "//! Part {n}.\n\n/// Checks input {n}.\npub fn check_{n}(max: u8) -> u8 {{\n    max\n}}\n"
            );
            (format!("src/part{n}.rs"), text)
        })
        .collect();
    let tree = Tree::of(&[
        (
            "src/budget.rs",
            "//! How much a run may use.\n\n/// Limits per dimension.\npub struct Budget {\n    \
             pub turns: Option<u64>,\n}\n\nimpl Budget {\n    /// The limit of turns.\n    \
             pub fn limit(&self) -> Option<u64> {\n        self.turns\n    }\n}\n",
        ),
        (
            "src/meter.rs",
            "use crate::budget::Budget;\n\npub struct Meter { budget: Budget, used: u64 }\n\n\
             impl Meter {\n    /// Enforces the budget: refuses what exceeds its limit.\n    \
             pub fn reserve(&mut self) -> Result<(), Exhausted> {\n        \
             if self.budget.limit().is_some_and(|limit| self.used >= limit) {\n            \
             return Err(Exhausted);\n        }\n        self.used += 1;\n        Ok(())\n    }\n}\n",
        ),
        (
            "src/secrets.rs",
            "//! Which files hold secrets.\n\npub struct SecretRules;\n\nimpl SecretRules {\n    \
             /// Whether a path matches a secret's name.\n    \
             pub fn denied(&self, path: &str) -> bool {\n        path == \"key\"\n    }\n}\n",
        ),
        (
            "tests/budget.rs",
            "#[test]\nfn budget_limits_are_enforced() {\n    // budget limits enforced\n}\n",
        ),
        (
            "README.md",
            "# Tool\n\nAsk it: Where are budget limits enforced? Where are secrets matched?\n",
        ),
        (
            "vendor/dep/budget.rs",
            "/// Limits of a budget, enforced.\npub struct Budget;\npub fn enforce_budget_limits() {}\n",
        ),
        (
            "web/app.min.js",
            "function budget(){limits();enforced()}function limits(){budget()}",
        ),
        (
            "src/rate.rs",
            "/// The rate limit of a client.\npub struct RateLimit;\n",
        ),
    ]);
    for (path, text) in rest {
        tree.write(&path, text.as_bytes());
    }
    tree
}

/// N4: the question of the first run leads to the code, not to prose, tests or copies of it.
#[test]
fn a_question_about_limits_finds_the_budget() {
    let top = project().top(&LIMITS_QUESTION, 3);
    assert!(top.contains(&"src/budget.rs".to_owned()), "{top:?}");
    assert!(top.contains(&"src/meter.rs".to_owned()), "{top:?}");
}

/// N4: what compares and refuses answers such a question better than what has its words.
#[test]
fn a_question_about_enforcing_finds_what_decides() {
    let tree = Tree::of(&[
        (
            "src/show.rs",
            "/// The budget's limits, for people.\npub fn show_budget_limits(budget: &Budget) -> String {\n    \
             budget.text()\n}\n",
        ),
        (
            "src/budget.rs",
            "impl Budget {\n    /// Whether the budget has room.\n    \
             pub fn fits(&self, used: u64) -> Result<(), Full> {\n        \
             let limit = self.limit;\n        if used > limit {\n            \
             return Err(Full);\n        }\n        Ok(())\n    }\n}\n",
        ),
    ]);
    assert_eq!(tree.top(&["budget", "limits"], 1), ["src/show.rs"]);
    let places = tree.places(&["budget", "limits", "enforced^0.7"]);
    assert_eq!(places[0]["path"], "src/budget.rs", "{places:?}");
    // The word itself isn't there, and isn't said to be.
    assert_eq!(
        places[0]["matched"],
        serde_json::json!(["budget", "limits"])
    );
}

#[test]
fn a_file_is_about_what_its_comment_says() {
    let body = "pub fn take(&mut self, amount: u64) {\n    self.left -= amount;\n}\n";
    let about = |what: &str| format!("//! Counts {what}.\n\nimpl Pool {{\n{body}}}\n");
    let tree = Tree::of(&[
        ("src/a.rs", &about("bytes")),
        ("src/b.rs", &about("the budget")),
        ("src/c.rs", &about("lines")),
    ]);
    assert_eq!(tree.top(&["budget", "take"], 1), ["src/b.rs"]);
    let places = tree.places(&["budget", "take"]);
    assert_eq!(places[0]["name"], "Pool::take", "{places:?}");
}

#[test]
fn test_functions_and_texts_step_back() {
    let tree = Tree::of(&[
        ("src/a.rs", "#[test]\nfn zebra_runs() {}\n"),
        ("src/b.rs", "fn zebra_runs_far() {}\n"),
    ]);
    assert_eq!(tree.top(&["zebra", "runs"], 1), ["src/b.rs"]);
    let tree = Tree::of(&[
        ("a.txt.in", "say(\"zebra\")\n"),
        ("b.txt.in", "say(zebra)\n"),
    ]);
    assert_eq!(tree.top(&["zebra"], 1), ["b.txt.in"]);
}

#[test]
fn a_question_about_secrets_finds_their_rules() {
    let tree = project();
    let places = tree.places(&["secrets|credential|password", "matched^0.7"]);
    assert_eq!(places[0]["path"], "src/secrets.rs", "{places:?}");
    assert!(places[0]["line"].as_u64().is_some_and(|line| line > 1));
}

#[test]
fn a_place_is_named_after_its_definition() {
    let tree = project();
    let places = tree.places(&["SecretRules::denied^1.5", "denied^0.3"]);
    assert_eq!(places[0]["name"], "SecretRules::denied", "{places:?}");
    assert_eq!(places[0]["kind"], "fn");
    assert_eq!(places[0]["line"], 7);
    assert_eq!(
        places[0]["text"],
        "pub fn denied(&self, path: &str) -> bool {"
    );
}

#[test]
fn the_same_tree_gives_the_same_answer() {
    let tree = project();
    let text = |tree: &Tree| tree.rank_in("", &LIMITS_QUESTION).unwrap().text;
    let first = text(&tree);
    for _ in 0..5 {
        assert_eq!(text(&tree), first);
    }
}

/// G9: what a search may not show it doesn't count either.
#[test]
fn secrets_ignored_files_and_repositories_are_left_out() {
    let tree = Tree::of(&[
        (".gitignore", "build/\n"),
        (".env", "zebra=1"),
        ("build/out.rs", "fn zebra() {}"),
        (".git/config", "zebra"),
        (".github/ci.yml", "run: zebra"),
    ]);
    let output = tree.rank_in("", &["zebra"]).unwrap();
    let paths: Vec<Value> = places(&output)
        .into_iter()
        .map(|p| p["path"].clone())
        .collect();
    assert_eq!(paths, [".github/ci.yml"]);
    assert_eq!(summary(&output)["terms"]["zebra"], 1);
}

/// G4: nothing is read through a link, and nothing waits on what is no file.
#[test]
fn links_pipes_and_odd_files_are_survived() {
    let tree = Tree::of(&[("a.rs", "fn zebra() {}"), ("outside/x", "")]);
    let elsewhere = Tree::of(&[("zebra.rs", "fn zebra() {}")]);
    symlink(elsewhere.root.join("zebra.rs"), tree.root.join("link.rs")).unwrap();
    symlink(&elsewhere.root, tree.root.join("folder")).unwrap();
    symlink("loop", tree.root.join("loop")).unwrap();
    for name in ["pipe.rs", ".gitignore"] {
        let path = tree.root.join(name);
        mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    }
    tree.write("zebra.bin", b"zebra\0zebra");
    tree.write("large.rs", "zebra ".repeat(300_000).as_bytes());
    let odd = std::ffi::OsStr::from_bytes(b"\xff.rs");
    fs::write(tree.root.join(odd), "fn zebra() {}").unwrap();
    let output = tree.rank_in("", &["zebra"]).unwrap();
    let paths: Vec<Value> = places(&output)
        .into_iter()
        .map(|p| p["path"].clone())
        .collect();
    assert_eq!(paths, ["a.rs"]);
    let summary = summary(&output);
    assert_eq!(summary["skipped_binary"], 1);
    assert_eq!(summary["skipped_large"], 1);
    assert_eq!(summary["skipped_unreadable"], 1);
}

#[test]
fn names_and_lines_of_any_kind_come_back_whole() {
    let path = "a: b\n\u{1b}[31m\u{202e}\"c\".rs";
    let tree = Tree::of(&[(path, "\tlet zebra = \"\u{202e}\"; \u{1b}[0m\n")]);
    let output = tree.rank_in("", &["zebra"]).unwrap();
    // Shown as a person or a model sees it, and read back from there.
    let shown = output.text.shown();
    let place: Value = serde_json::from_str(shown.lines().nth(1).unwrap()).unwrap();
    assert_eq!(place["path"], path);
    assert_eq!(place["text"], "let zebra = \"\u{202e}\"; \u{1b}[0m");
}

#[test]
fn a_file_or_folder_can_be_named() {
    let tree = project();
    for (place, expected) in [
        ("src/budget.rs", "src/budget.rs"),
        ("vendor", "vendor/dep/budget.rs"),
    ] {
        let places = places(&tree.rank_in(place, &["budget"]).unwrap());
        assert!(!places.is_empty());
        assert!(
            places.iter().all(|place| place["path"] == expected),
            "{places:?}"
        );
    }
}

#[test]
fn nothing_found_is_said_with_what_was_looked_for() {
    let tree = project();
    let output = tree.rank_in("", &["frobnicate"]).unwrap();
    assert!(places(&output).is_empty());
    assert_eq!(summary(&output)["files_searched"], 68);
    assert_eq!(summary(&output)["terms"]["frobnicate"], 0);
    assert_eq!(tree.rank_in("", &["?!"]).unwrap_err().code, "no_terms");
}
