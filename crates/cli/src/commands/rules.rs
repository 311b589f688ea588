//! `deputize rules`: the rules about calls, the person's own and the built-in ones, and whether their
//! examples hold.

use std::path::Path;
use std::process::ExitCode;

use deputize_authority::{CallRule, Refusal, Rule as SpawnRule, RuleKind, Rules as Own, escape};
use deputize_gate::{Expected, Oddity, examples, failing, oddities, person_examples};
use deputize_runs::RunError;
use deputize_shell::{Answer, Rule, rules};
use serde_json::{Value, json};

use crate::args::{Rules, RulesCommand};
use crate::failure::{self, FAILED, Voice};
use crate::output::{print, print_json};
use crate::request::look_around;

pub(crate) fn main(args: &Rules) -> ExitCode {
    let (outcome, json) = match &args.command {
        RulesCommand::List { json } => (list(*json), *json),
        RulesCommand::Test { json } => (test(*json), *json),
        RulesCommand::Lint { file, json } => (lint(file.as_deref(), *json), *json),
    };
    outcome.unwrap_or_else(|error| failure::tell(&error, Voice::of(json)))
}

fn list(json: bool) -> Result<ExitCode, RunError> {
    let own = look_around()?.rules(None)?;
    if json {
        let rules: Vec<Value> = rules::all().map(object).collect();
        let calls = own.calls().iter().map(of_call);
        let spawn = own.spawn().iter().map(of_spawn);
        let own: Vec<Value> = spawn.chain(calls).collect();
        print_json(&json!({ "own": own, "rules": rules }));
        return Ok(ExitCode::SUCCESS);
    }
    let mut out = String::new();
    for rule in own.spawn() {
        let effects: Vec<&str> = rule.consents.iter().map(|it| it.name()).collect();
        let effects = format!("effects {}", effects.join(", "));
        out.push_str(&line(
            rule.kind,
            &effects,
            rule.reason.as_deref(),
            &rule.place.to_string(),
        ));
    }
    for rule in own.calls() {
        let subject = escape(&rule.subject.to_string());
        out.push_str(&line(
            rule.kind,
            &subject,
            rule.reason.as_deref(),
            &rule.place.to_string(),
        ));
    }
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
    Ok(ExitCode::SUCCESS)
}

fn line(kind: RuleKind, subject: &str, reason: Option<&str>, place: &str) -> String {
    let reason = reason.map(|reason| format!(": {}", escape(reason)));
    format!(
        "{:<26} {:<5} {subject}{}\n{:33}{place}\n",
        "yours",
        kind_word(kind),
        reason.unwrap_or_default(),
        ""
    )
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

fn of_call(rule: &CallRule) -> Value {
    json!({
        "answer": kind_word(rule.kind),
        "about": rule.subject.to_string(),
        "preset": rule.preset.map(|preset| preset.name()),
        "workdir": rule.workdir.as_ref().map(|root| root.path().to_string_lossy()),
        "reason": rule.reason,
        "matches": rule.matches,
        "spares": rule.spares,
        "file": rule.place.file,
        "line": rule.place.line,
    })
}

fn of_spawn(rule: &SpawnRule) -> Value {
    let effects: Vec<&str> = rule.consents.iter().map(|it| it.name()).collect();
    json!({
        "answer": kind_word(rule.kind),
        "effects": effects,
        "preset": rule.preset.map(|preset| preset.name()),
        "workdir": rule.workdir.as_ref().map(|root| root.path().to_string_lossy()),
        "reason": rule.reason,
        "file": rule.place.file,
        "line": rule.place.line,
    })
}

fn kind_word(kind: RuleKind) -> &'static str {
    match kind {
        RuleKind::Allow => "allow",
        RuleKind::Ask => "ask",
        RuleKind::Deny => "deny",
    }
}

fn word(answer: Answer) -> &'static str {
    match answer {
        Answer::Allow => "allow",
        Answer::Ask => "ask",
        Answer::Deny => "deny",
    }
}

fn test(json: bool) -> Result<ExitCode, RunError> {
    let own = look_around()?.rules(None)?;
    let own_examples = person_examples(&own);
    let own_failed: Vec<_> = own_examples.iter().filter(|it| !it.holds).collect();
    let failures = failing();
    let rules = rules::all().count() + own.calls().len();
    let examples = examples().count() + own_examples.len();
    if json {
        print_json(&json!({
            "rules": rules, "examples": examples, "failures": failures, "own_failures": own_failed,
        }));
    } else {
        let told = |name: &str, expected: Expected, example: &str| {
            let what = match expected {
                Expected::Match => "doesn't speak about",
                Expected::Spare => "speaks about",
            };
            print(&format!("{name} {what}: {}\n", example.escape_debug()));
        };
        for failed in &own_failed {
            told(&failed.place.to_string(), failed.expected, &failed.example);
        }
        for failed in &failures {
            told(failed.rule, failed.expected, failed.example);
        }
        let failed = failures.len() + own_failed.len();
        print(&format!(
            "{rules} rules, {examples} examples, {failed} failed\n"
        ));
    }
    Ok(code(failures.is_empty() && own_failed.is_empty()))
}

fn code(is_well: bool) -> ExitCode {
    match is_well {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(FAILED),
    }
}

/// Says everything that is wrong or odd about a file of rules.
fn lint(file: Option<&Path>, json: bool) -> Result<ExitCode, RunError> {
    let Some(read) = look_around()?.rules_text(file)? else {
        match json {
            true => print_json(&json!({ "file": null, "rules": 0, "faults": [], "oddities": [] })),
            false => print("there is no rules.toml of yours\n"),
        }
        return Ok(ExitCode::SUCCESS);
    };
    let checked = Own::check(&read.shown, &read.text);
    let (count, faults, odd): (usize, Vec<Refusal>, Vec<Oddity>) = match &checked {
        Ok(rules) => {
            let count = rules.spawn().len() + rules.calls().len();
            (count, Vec::new(), oddities(rules))
        }
        Err(faults) => (0, faults.clone(), Vec::new()),
    };
    if json {
        print_json(&json!({
            "file": read.shown, "rules": count, "faults": faults, "oddities": odd,
        }));
        return Ok(code(faults.is_empty() && odd.is_empty()));
    }
    for fault in &faults {
        print(&format!(
            "{}: {}\n  {}\n",
            fault.code, fault.reason, fault.fix
        ));
    }
    for odd in &odd {
        print(&format!("{}: {}: {}\n", odd.kind, odd.place, odd.text));
    }
    print(&format!(
        "{count} rules, {} faults, {} that are odd\n",
        faults.len(),
        odd.len()
    ));
    Ok(code(faults.is_empty() && odd.is_empty()))
}
