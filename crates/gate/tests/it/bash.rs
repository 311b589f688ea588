//! G6, G8, G11: shell commands.

use std::time::Duration;

use deputize_authority::{
    Bounds, CommandRule, Consent, Grant, Host, Layer, Level, Preset, Promise, Set, Tool,
    WorkspaceMode,
};
use deputize_gate::{
    Allowed, Call, Class, Contained, Context, Effect, Fact, ProgramFact, Query, Sealed, Verdict,
    decide, queries,
};

use crate::world::{context, folder, grant_with, program};

fn call(command: &str) -> Call {
    Call::Bash {
        command: command.to_owned(),
        timeout_seconds: None,
    }
}

fn facts() -> [Fact; 3] {
    [
        Fact::Path(folder("/w")),
        program("bash", "/usr/bin/bash"),
        program("sh", "/usr/bin/dash"),
    ]
}

fn copy() -> Grant {
    grant_with(Preset::General, WorkspaceMode::CopyOnWrite, &[Tool::Bash])
}

fn direct() -> Grant {
    grant_with(Preset::General, WorkspaceMode::Direct, &[Tool::Bash])
}

#[track_caller]
fn assert_verdict(verdict: &Verdict, word: &str, rule: &str) {
    assert_eq!(
        (verdict.word(), verdict.rule().id),
        (word, rule),
        "{verdict:?}"
    );
}

#[track_caller]
fn allowed(verdict: Verdict) -> Allowed {
    match verdict {
        Verdict::Allow(allowed) => allowed,
        other => panic!("{other:?}"),
    }
}

#[test]
fn g11_a_command_on_a_copy_in_a_full_boundary_without_network_is_contained() {
    let grant = copy();
    let allowed = allowed(decide(call("cargo test"), &facts(), &context(&grant)));
    assert_eq!(allowed.rule.id, "bash.contained");
    assert_eq!(allowed.contained, Contained::Yes);
    let [Effect::Execute { program, class, .. }, read @ ..] = &allowed.effects[..] else {
        panic!("no effect");
    };
    // What the line was read as is listed with it.
    let found: Vec<_> = read.iter().map(Effect::describe).collect();
    assert!(found.contains(&"runs cargo".to_owned()), "{found:?}");
    assert_eq!(
        (program.to_str(), *class),
        (Some("/usr/bin/bash"), Class::Opaque)
    );
}

#[test]
fn g11_whatever_is_missing_for_that_is_a_reason_to_ask() {
    let asked = |grant: &Grant, boundary| {
        let context = Context {
            boundary,
            ..context(grant)
        };
        match decide(call("ls"), &facts(), &context) {
            Verdict::Ask(asked) => {
                assert_eq!(asked.rule.id, "bash.ask");
                asked.reasons
            }
            other => panic!("{other:?}"),
        }
    };
    let [reason] = &asked(&direct(), Level::Full)[..] else {
        panic!("not one reason");
    };
    assert!(reason.contains("the workspace itself"), "{reason}");
    let wide = Bounds {
        hosts: Set::only([Host("example.org".into())]),
        ..Bounds::ANY
    };
    let networked = Grant::of_principal(
        Preset::General,
        copy().workspace().clone(),
        Bounds {
            hosts: wide.hosts.clone(),
            ..copy().bounds().clone()
        },
    );
    let [reason] = &asked(&networked, Level::Full)[..] else {
        panic!("not one reason");
    };
    assert!(reason.contains("network"), "{reason}");
    let [reason] = &asked(&copy(), Level::LandlockSeccomp)[..] else {
        panic!("not one reason");
    };
    assert!(reason.contains("without namespaces"), "{reason}");
    assert_eq!(asked(&direct(), Level::LandlockSeccomp).len(), 2);
}

#[test]
fn an_approval_for_the_run_allows_what_the_boundary_can_hold() {
    let grant = direct();
    let judged = |approved, boundary, held| {
        let context = Context {
            approved,
            boundary,
            held,
            ..context(&grant)
        };
        decide(call("make"), &facts(), &context)
    };
    let shell: &[Consent] = &[Consent::Shell];
    let all: &[Promise] = &Promise::ALL;
    assert_verdict(&judged(shell, Level::Full, all), "allow", "bash.approved");
    assert_verdict(
        &judged(&[Consent::Write], Level::Full, all),
        "ask",
        "bash.ask",
    );
    assert_verdict(&judged(shell, Level::None, all), "deny", "exec.uncontained");
    let few = Preset::Exec.needs();
    assert_verdict(
        &judged(shell, Level::Full, few),
        "deny",
        "exec.promise_missing",
    );
}

/// G5, G6: what reaches the folder itself isn't allowed because commands were approved; on a copy in a
/// full boundary it is contained all the same.
#[test]
fn g6_an_approval_does_not_cover_what_the_reading_denies() {
    let judged = |grant: &Grant, boundary, command: &str| {
        let context = Context {
            approved: &[Consent::Shell],
            boundary,
            ..context(grant)
        };
        decide(call(command), &facts(), &context)
    };
    for (command, rule) in [
        ("rm -rf .", "destructive.workspace"),
        ("cat ~/.ssh/id_rsa", "secret.read"),
        ("echo x > /etc/passwd", "place.write-outside"),
        ("git reset --hard", "history.discard"),
    ] {
        let Verdict::Deny(denied) = judged(&direct(), Level::Full, command) else {
            panic!("{command} is not denied");
        };
        assert_eq!(denied.rule.id, rule, "{command}");
        assert!(denied.message.contains(&denied.instead), "{denied:?}");
        assert!(denied.effects.len() > 1, "{denied:?}");
        let weak = judged(&copy(), Level::LandlockSeccomp, command);
        assert_verdict(&weak, "deny", rule);
        assert_verdict(
            &judged(&copy(), Level::Full, command),
            "allow",
            "bash.contained",
        );
    }
    let text = "git commit -m 'rm -rf .'";
    assert_verdict(
        &judged(&direct(), Level::Full, text),
        "allow",
        "bash.approved",
    );
}

/// G3: a proof ends no question of a child outside containment; the question says what was found.
#[test]
fn g3_a_question_says_what_was_read() {
    let Verdict::Ask(asked) = decide(call("curl example.org"), &facts(), &context(&direct()))
    else {
        panic!("not asked");
    };
    assert!(
        asked
            .reasons
            .iter()
            .any(|reason| reason.contains("uses the network: `example.org`")),
        "{asked:?}"
    );
    let verdict = decide(call("ls"), &facts(), &context(&direct()));
    assert_verdict(&verdict, "ask", "bash.ask");
}

#[test]
fn g3_explore_runs_no_command_and_some_commands_are_no_shell() {
    let explore = grant_with(Preset::ReadOnly, WorkspaceMode::Direct, &[Tool::Bash]);
    let verdict = decide(call("ls"), &facts(), &context(&explore));
    assert_verdict(&verdict, "deny", "mode.explore");
    let narrow = copy().attenuate(
        Layer::Request,
        &Bounds {
            commands: Set::only([CommandRule(vec!["make".into()])]),
            ..Bounds::ANY
        },
    );
    let verdict = decide(call("make"), &facts(), &context(&narrow));
    assert_verdict(&verdict, "deny", "command.not_granted");
}

#[test]
fn g6_a_command_does_not_administer_deputize() {
    let grant = copy();
    for command in [
        "deputize approve 1",
        "cd x && deputize trust .",
        "true; ./deputize run",
    ] {
        let verdict = decide(call(command), &facts(), &context(&grant));
        assert_verdict(&verdict, "deny", "admin.denied");
    }
    let verdict = decide(call("grep -r 'x; deputize' ."), &facts(), &context(&grant));
    assert_eq!(verdict.word(), "allow");
}

/// G8: what starts is what was judged, byte for byte, after the trip to another process.
#[test]
fn g8_the_sealed_start_holds_the_command_as_it_is() {
    let grant = copy();
    let command = "printf '%s' \"$X\" -- --login\n# é\u{202e}";
    let sealed = |facts: &[Fact]| {
        let call = Call::Bash {
            command: command.to_owned(),
            timeout_seconds: Some(7),
        };
        let sealed = allowed(decide(call, facts, &context(&grant))).sealed;
        Sealed::received(&sealed.encode()).unwrap()
    };
    let with_bash = sealed(&facts());
    let start = with_bash.start().unwrap();
    assert_eq!(start.argv, ["bash", "--noprofile", "--norc", "-c", command]);
    assert_eq!(
        start.program.unwrap().canonical.to_str(),
        Some("/usr/bin/bash")
    );
    assert_eq!(start.cwd.canonical.to_str(), Some("/w"));
    assert_eq!(start.timeout, Some(Duration::from_secs(7)));
    assert_eq!(start.env, []);

    let none = |name: &str| {
        Fact::Program(ProgramFact {
            asked: name.into(),
            canonical: None,
            device: 0,
            inode: 0,
        })
    };
    let [path, _, sh] = facts();
    let plain = sealed(&[path.clone(), none("bash"), sh]);
    assert_eq!(plain.start().unwrap().argv, ["sh", "-c", command]);
    let verdict = decide(
        call("ls"),
        &[path, none("bash"), none("sh")],
        &context(&grant),
    );
    assert_verdict(&verdict, "deny", "program.missing");
}

#[test]
fn the_time_has_a_default() {
    let grant = copy();
    let sealed = allowed(decide(call("ls"), &facts(), &context(&grant))).sealed;
    assert_eq!(
        sealed.start().unwrap().timeout,
        Some(Duration::from_secs(120))
    );
}

#[test]
fn the_folder_and_both_shells_are_asked_about() {
    let grant = copy();
    let names: Vec<_> = queries(&call("ls"), &context(&grant))
        .into_iter()
        .map(|query| match query {
            Query::Path { path } => path.into_os_string(),
            Query::Program { name, .. } => name,
        })
        .collect();
    assert_eq!(names, ["/w", "bash", "sh"]);
}

/// A copy shows another folder in the workspace's place.
#[test]
fn g8_the_folder_of_a_copy_has_other_numbers() {
    let swapped = Fact::Path(deputize_gate::PathFact {
        device: 40,
        inode: 3,
        ..folder("/w")
    });
    let [_, bash, sh] = facts();
    let facts = [swapped, bash, sh];
    let verdict = decide(call("ls"), &facts, &context(&copy()));
    assert_verdict(&verdict, "allow", "bash.contained");
    let approved = direct();
    let context = Context {
        approved: &[Consent::Shell],
        ..context(&approved)
    };
    assert_verdict(&decide(call("ls"), &facts, &context), "deny", "cwd.changed");
}
