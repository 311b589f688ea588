//! `deputize rules`: the rules about command lines, and whether their examples hold.

use std::process::ExitCode;

use deputize_gate::{Expected, examples, failing};
use deputize_shell::{Answer, Rule, rules};
use serde_json::{Value, json};

use crate::args::{Rules, RulesCommand};
use crate::failure::FAILED;
use crate::output::{print, print_json};

pub(crate) fn main(args: &Rules) -> ExitCode {
    match args.command {
        RulesCommand::List { json } => list(json),
        RulesCommand::Test { json } => return test(json),
    }
    ExitCode::SUCCESS
}

fn list(json: bool) {
    if json {
        let rules: Vec<Value> = rules::all().map(object).collect();
        return print_json(&json!({ "rules": rules }));
    }
    let mut out = String::new();
    for rule in rules::all() {
        out.push_str(&format!(
            "{:<26} {:<5} {}\n{:33}{}\n",
            rule.id,
            word(rule.answer),
            rule.reason,
            "",
            rule.safer
        ));
    }
    print(&out);
}

fn object(rule: &'static Rule) -> Value {
    json!({
        "id": rule.id,
        "class": rule.id.split('.').next().unwrap_or_default(),
        "answer": word(rule.answer),
        "reason": rule.reason,
        "safer": rule.safer,
        "matches": rule.matches,
        "spares": rule.spares,
    })
}

fn word(answer: Answer) -> &'static str {
    match answer {
        Answer::Allow => "allow",
        Answer::Ask => "ask",
        Answer::Deny => "deny",
    }
}

fn test(json: bool) -> ExitCode {
    let failures = failing();
    let (rules, examples) = (rules::all().count(), examples().count());
    if json {
        print_json(&json!({ "rules": rules, "examples": examples, "failures": failures }));
    } else {
        for failed in &failures {
            let what = match failed.expected {
                Expected::Match => "doesn't speak about",
                Expected::Spare => "speaks about",
            };
            print(&format!(
                "{} {what}: {}\n",
                failed.rule,
                failed.example.escape_debug()
            ));
        }
        let failed = failures.len();
        print(&format!(
            "{rules} rules, {examples} examples, {failed} failed\n"
        ));
    }
    if failures.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(FAILED)
    }
}
