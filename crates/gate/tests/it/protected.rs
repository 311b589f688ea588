//! The table of protected places as the gate reads it: for its write tools and for command lines.
//! `cli::exec_protected` holds the boundary against the same rows.

use deputize_authority::{
    HOME_STARTUP, MACHINE_STARTUP, PROTECTED, Preset, ProtectedKind, Tool, WorkspaceMode,
};
use deputize_gate::{Call, Change, Verdict, decide};
use deputize_shell::{Answer, World, analyse, judge};

use crate::world::{context, file, grant_with, root};

const MODE: WorkspaceMode = WorkspaceMode::CopyOnWrite;

fn rule_of(kind: ProtectedKind) -> &'static str {
    match kind {
        ProtectedKind::Git => "write.protected_git",
        ProtectedKind::Agent => "write.protected_agent",
        ProtectedKind::Instructions => "write.protected_instructions",
        ProtectedKind::Editor => "write.protected_editor",
        ProtectedKind::Startup => "write.protected_startup",
    }
}

/// What the gate says about a write to a path, on a copy.
fn written(path: &str) -> Verdict {
    let grant = grant_with(Preset::General, MODE, &[Tool::Write]);
    let call = Call::Write {
        path: path.to_owned(),
        content: "x".to_owned(),
    };
    let facts = [deputize_gate::Fact::Path(file(&format!("/w/{path}")))];
    decide(call, &facts, &context(&grant))
}

fn line(line: &str) -> Answer {
    judge(&analyse(line, &World::workspace("/w", "/home/u"))).answer
}

/// B2, G6: both ways to change a file treat every row, at the root, deeper down, and below it.
#[test]
fn g6_tools_and_command_lines_know_every_row() {
    let mut missed = Vec::new();
    for row in PROTECTED {
        for path in [
            row.path.to_owned(),
            format!("{}/below", row.path),
            format!("sub/folder/{}", row.path),
            row.path.to_uppercase(),
        ] {
            if !matches!(written(&path), Verdict::Deny(denied) if denied.rule.id == rule_of(row.kind))
            {
                missed.push(format!("write {path}"));
            }
            for command in [
                format!("echo x > {path}"),
                format!("echo x | tee -a {path}"),
                format!("cp x {path}"),
                format!("mv {path} y"),
                format!("rm -rf {path}"),
                format!("ln -sf x {path}"),
                format!("chmod +x {path}"),
                format!("sed -i s/a/b/ {path}"),
                format!("touch {path}"),
                format!("python3 -c 'open(\"{path}\", \"w\").write(\"x\")'"),
            ] {
                if line(&command) == Answer::Allow {
                    missed.push(command);
                }
            }
        }
    }
    assert_eq!(missed, [""; 0]);
}

/// B2, G6: what a login or a service runs is denied to a line, and to a tool in a root around it.
#[test]
fn g6_what_starts_outside_a_workspace_is_known_to_both() {
    let mut missed = Vec::new();
    let home = HOME_STARTUP
        .iter()
        .map(|row| format!("/home/u/{}", row.path));
    let machine = MACHINE_STARTUP.iter().map(|row| format!("/{}", row.path));
    for path in home.chain(machine) {
        for command in [format!("echo x > {path}"), format!("cp x {path}/below")] {
            if line(&command) != Answer::Deny {
                missed.push(command);
            }
        }
        let parent = path.rsplit_once('/').unwrap().0;
        let mut grant = grant_with(Preset::General, MODE, &[Tool::Write]);
        let bounds = deputize_authority::Bounds {
            read: deputize_authority::Set::only([root("/w"), root(parent)]),
            write: deputize_authority::Set::only([root("/w"), root(parent)]),
            ..grant.bounds().clone()
        };
        grant = deputize_authority::Grant::of_principal(
            Preset::General,
            grant.workspace().clone(),
            bounds,
        );
        let call = Call::Write {
            path: path.clone(),
            content: "x".to_owned(),
        };
        let verdict = decide(
            call,
            &[deputize_gate::Fact::Path(file(&path))],
            &context(&grant),
        );
        if verdict.word() != "deny" {
            missed.push(format!("write {path}"));
        }
    }
    assert_eq!(missed, [""; 0]);
}

/// B2, G6: neither way knows a place that isn't in the table: a name that is nearly a row's is free.
#[test]
fn g6_no_place_beyond_the_table_is_protected() {
    let mut stopped = Vec::new();
    for row in PROTECTED.iter().filter(|row| !row.path.contains('/')) {
        for path in [
            format!("{}x", row.path),
            format!("x{}", row.path),
            format!("sub/{}-notes/a", row.path),
        ] {
            let verdict = written(&path);
            if !matches!(&verdict, Verdict::Allow(allowed) if allowed.effects == [deputize_gate::Effect::Write { path: format!("/w/{path}").into(), change: Change::Replace }])
            {
                stopped.push(format!("write {path}: {verdict:?}"));
            }
            let command = format!("echo x > {path}");
            if line(&command) != Answer::Allow {
                stopped.push(command);
            }
        }
    }
    assert_eq!(stopped, [""; 0]);
}
