//! What a person may agree to beforehand, and what comes of it without a terminal (S4).

use std::fs;

use deputize_testkit::{Outcome, TestEnv};
use serde_json::{Value, json};

use crate::scene::{parsed, project, refused_code, runs, say, script};

const ALLOW: &str = "[[allow]]\neffects = [\"shell\"]\n";
const DENY: &str = "# mine\n[[deny]]\neffects = [\"shell\"]\nreason = \"not on this machine\"\n";

/// Writes the person's own rules.
pub(crate) fn own_rules(env: &TestEnv, text: &str) {
    let folder = env.configuration().join("deputize");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("rules.toml"), text).unwrap();
    env.give();
}

/// A run of `general` without a terminal.
fn run(env: &TestEnv, options: &[&str]) -> Outcome {
    let model = script(env, &json!({ "turns": [say("Done.")] }));
    let mut arguments = vec!["run", "--model", &model];
    arguments.extend(options);
    arguments.push("Add a limit.");
    env.run(arguments)
}

/// The first effect of a dry run, as scripts see it.
fn planned(env: &TestEnv, options: &[&str]) -> (Value, Value) {
    let mut all = vec!["--dry-run", "--json"];
    all.extend(options);
    let plan = parsed(&run(env, &all).expect_code(0));
    assert_eq!(plan["effects"][0]["effect"], "shell", "{plan}");
    (plan["effects"][0].clone(), plan)
}

#[track_caller]
fn refused(env: &TestEnv, options: &[&str]) -> Outcome {
    let outcome = run(env, options).expect_code(2);
    assert!(runs(env).is_empty(), "something was started: {outcome}");
    outcome
}

/// S4: without a terminal an open effect is the refusal, with exactly what would allow it.
#[test]
fn without_a_terminal_the_refusal_says_what_to_type() {
    let env = project();
    let outcome = refused(&env, &["--workspace", "direct"]);
    assert_eq!(refused_code(&outcome), "confirmation_needed");
    let told = env.redact(outcome.err());
    for part in [
        "[confirmation_needed, write]",
        "writes to `[WORKSPACE]` itself, at once, not to a copy (`write`)",
        "runs shell commands of its own choice, inside its boundary (`shell`)",
        "type `--allow write,shell`, or write a rule into `[HOME]/.config/deputize/rules.toml`",
    ] {
        assert!(told.contains(part), "no {part:?} in\n{told}");
    }
    let json = parsed(&refused(&env, &["--json"]));
    assert_eq!(json["status"], "refused");
    assert_eq!(json["error"]["code"], "confirmation_needed");
    assert_eq!(json["error"]["field"], "shell");
}

/// S4: half of what is needed isn't enough, and what isn't asked about allows nothing more.
#[test]
fn an_allowance_covers_what_it_names() {
    let env = project();
    let outcome = refused(&env, &["--workspace", "direct", "--allow", "shell,network"]);
    let told = outcome.err();
    assert!(told.contains("[confirmation_needed, write]"), "{told}");
    assert!(
        told.contains("`--allow write,shell`"),
        "the whole list\n{told}"
    );
    let outcome = refused(&env, &["--allow", "shel"]);
    assert_eq!(refused_code(&outcome), "usage");
    assert!(outcome.err().contains("dearer-model"), "{outcome}");
    let (effect, plan) = planned(
        &env,
        &["--allow", "SHELL"].map(|it| if it == "SHELL" { "shell" } else { it }),
    );
    assert_eq!(effect["answer"], "covered");
    assert_eq!(effect["by"]["channel"], "command_line");
    assert_eq!(
        (&plan["question"], &plan["without_asking"]),
        (&Value::Null, &Value::Null)
    );
}

/// S4: the person's rules allow and deny, and a denial stands beside whatever was typed.
#[test]
fn rules_allow_and_the_most_restrictive_wins() {
    let env = project();
    let (effect, plan) = planned(&env, &[]);
    assert_eq!(effect["answer"], "open");
    assert_eq!(plan["question"], json!(["shell"]));
    assert_eq!(plan["without_asking"]["code"], "confirmation_needed");

    own_rules(&env, ALLOW);
    let (effect, _) = planned(&env, &[]);
    assert_eq!(
        (&effect["answer"], &effect["by"]["line"]),
        (&json!("covered"), &json!(1))
    );

    let typed = env.root().join("typed.toml");
    fs::write(&typed, DENY).unwrap();
    env.give();
    let typed = typed.to_str().unwrap();
    let both = ["--rules", typed, "--allow", "shell"];
    let outcome = refused(&env, &both);
    assert_eq!(refused_code(&outcome), "denied_by_rule");
    let told = env.redact(outcome.err());
    assert!(
        told.contains("[ROOT]/typed.toml:2 denies `shell` (not on this machine)"),
        "{told}"
    );
    let (effect, plan) = planned(&env, &both);
    assert_eq!(effect["answer"], "denied");
    assert_eq!(plan["without_asking"]["code"], "denied_by_rule");

    own_rules(&env, DENY);
    fs::write(env.root().join("typed.toml"), ALLOW).unwrap();
    assert_eq!(
        refused_code(&refused(&env, &["--rules", typed])),
        "denied_by_rule"
    );
}

/// S4: a rule holds for its preset and below its folder only.
#[test]
fn a_rule_holds_where_it_says() {
    let env = project();
    let workspace = env.workspace();
    let elsewhere = env.root().join("elsewhere");
    for (folder, answer) in [(&workspace, "covered"), (&elsewhere, "open")] {
        own_rules(
            &env,
            &format!("{ALLOW}workdir = {folder:?}\npreset = \"general\"\n"),
        );
        assert_eq!(planned(&env, &[]).0["answer"], answer);
    }
    own_rules(&env, &format!("{ALLOW}preset = \"read-only\"\n"));
    assert_eq!(planned(&env, &[]).0["answer"], "open");
}

/// S4: project configuration can never grant itself anything.
#[test]
fn a_projects_rules_are_never_read() {
    let env = project();
    env.lay(|tree| {
        for name in [
            "rules.toml",
            ".deputize/rules.toml",
            "deputize/rules.toml",
            ".config/deputize/rules.toml",
        ] {
            tree.file(name, ALLOW);
        }
    });
    assert_eq!(planned(&env, &[]).0["answer"], "open");
}

/// S4: a fault in the rules is told with its place, and nothing starts by the rest of them; not even
/// what no rule is about.
#[test]
fn faulty_rules_start_nothing() {
    let env = project();
    own_rules(&env, &format!("{ALLOW}\n[[deny]]\neffects = [\"wriet\"]\n"));
    for preset in ["general", "read-only"] {
        let outcome = refused(&env, &["--preset", preset]);
        assert_eq!(refused_code(&outcome), "rules_invalid");
        let told = env.redact(outcome.err());
        assert!(
            told.contains("[HOME]/.config/deputize/rules.toml:5:12: "),
            "{told}"
        );
    }
    let outcome = refused(&env, &["--rules", "nowhere.toml"]);
    assert_eq!(
        refused_code(&outcome),
        "rules_invalid",
        "its own come first"
    );
    own_rules(&env, "");
    let outcome = refused(&env, &["--rules", "nowhere.toml"]);
    assert_eq!(refused_code(&outcome), "rules_unreadable");
}

/// S4: a dry run says which rule would allow it, what would be asked, and what to type elsewhere.
#[test]
fn a_dry_run_shows_what_covers_what() {
    let env = project();
    own_rules(&env, ALLOW);
    let shown = |options: &[&str]| {
        let outcome = run(&env, options).expect_code(0);
        assert!(runs(&env).is_empty());
        env.redact(outcome.out())
    };
    let text = shown(&["--dry-run", "--workspace", "direct"]);
    for row in [
        "  effect    write: it writes to `[WORKSPACE]` itself, at once, not to a copy: would be asked\n",
        "  effect    shell: it runs shell commands of its own choice, inside its boundary: covered by \
         the rule [HOME]/.config/deputize/rules.toml:1\n",
        "  question  one, on a terminal; elsewhere refused [confirmation_needed]\n",
        "`--allow write`",
        "  at most   2000000 tokens, cost unknown, 1800 seconds\n",
        "  price     unknown; no parent to compare with\n",
        "  writes    [WORKSPACE] (the folder itself, at once)\n",
    ] {
        assert!(text.contains(row), "no {row:?} in\n{text}");
    }
    let text = shown(&["--dry-run"]);
    assert!(
        text.contains("  question  none: you agreed to all of it\n"),
        "{text}"
    );
    own_rules(&env, DENY);
    let text = shown(&["--dry-run"]);
    assert!(
        text.contains("DENIED by the rule [HOME]/.config/deputize/rules.toml:2\n"),
        "{text}"
    );
    assert!(text.contains("[denied_by_rule]\n"), "{text}");
}

/// D1: schema and check are judged before anything starts.
#[test]
fn checks_and_schemas_are_judged_before_the_start() {
    let env = project();
    env.lay(|tree| {
        tree.file("good.json", "{\"type\": \"object\"}");
    });
    for (options, code) in [
        (
            &["--schema", "{\"type\": \"nonsense\"}"][..],
            "schema_invalid",
        ),
        (
            &["--schema", "{\"$ref\": \"file:///etc/passwd\"}"],
            "schema_invalid",
        ),
        (&["--schema", "{"], "usage"),
        (&["--schema", "nowhere.json"], "usage"),
        (&["--check", " "], "check_invalid"),
        (
            &["--preset", "read-only", "--check", "true"],
            "commands_not_granted",
        ),
        (
            &["--preset", "read-only", "--port", "80"],
            "commands_not_granted",
        ),
        (&["--port", "0"], "port_invalid"),
        (&["--workspace", "worktree"], "worktree_needs_repository"),
        (&["--workspace", "mirror"], "unknown_workspace_mode"),
        (&["--read", "/proc"], "root_is_kernel"),
        (&["--read", "nowhere"], "folder_missing"),
        (&["--preset", "full-parent-tools"], "parent_missing"),
    ] {
        assert_eq!(refused_code(&refused(&env, options)), code, "{options:?}");
    }
    let (_, plan) = planned(&env, &["--schema", "good.json", "--check", "cargo test"]);
    assert_eq!(plan["card"]["schema"], json!({ "type": "object" }));
    assert_eq!(plan["card"]["check"], "cargo test");
    assert_eq!(plan["card"]["workspace_mode"], "copy-on-write");
}

/// D1, D2: the answer of a run by a schema is a validated value, and one that isn't valid is no ok.
#[test]
fn an_answer_by_a_schema_is_a_value() {
    let env = project();
    let schema = "{\"type\": \"object\", \"required\": [\"limit\"]}";
    let good = say("```json\n{\"limit\": 30}\n```");
    let played = crate::scene::play(&env, json!([say("30"), good]), &["--schema", schema]);
    played.ended("ok", 0);
    assert_eq!(played.result["answer"], json!({ "limit": 30 }));
    let bad = json!([say("30"), say("thirty"), say("[30]")]);
    let played = crate::scene::play(&env, bad, &["--schema", schema]);
    played.ended("error", 1);
    assert_eq!(played.result.get("answer"), None);
    assert!(
        played.warnings().contains("answer_invalid"),
        "{}",
        played.outcome
    );
}
