//! G2: the chain behind a verdict, as text and as JSON.

use deputize_authority::{Preset, Tool, WorkspaceMode};
use deputize_gate::{Call, Fact, Launch, PathFact, admit, decide, explain};
use insta::assert_snapshot;
use serde_json::json;

use crate::world::{context, file, folder, grant, grant_with, program};

#[test]
fn an_allowed_read() {
    let grant = grant(Preset::ReadOnly);
    let context = context(&grant);
    let call = admit("read", &json!({"path": "@src/a.rs"}), &context);
    let fact = PathFact {
        links: 2,
        ..file("/w/src/a.rs")
    };
    let explanation = explain(call, &[Fact::Path(fact)], &context);
    assert_snapshot!(explanation.text(), @r#"
    allow by read.allowed (built-in)
      judged  mode explore, boundary namespaces+landlock+seccomp, workspace direct
      effect  reads /w/src/a.rs
      pass    tool.granted: the grant lists the tool `read`
      pass    path.inside: `/w/src/a.rs` is a file inside the readable roots
      pass    read.allowed: looking inside the readable roots needs no question
      note    the file has 2 names, and others may lie outside the readable roots
    "#);
    assert_snapshot!(serde_json::to_string_pretty(&explanation).unwrap(), @r#"
    {
      "verdict": "allow",
      "contained": "no",
      "rule": "read.allowed",
      "origin": "built-in",
      "judged": {
        "mode": "explore",
        "boundary": "namespaces+landlock+seccomp",
        "workspace": "direct"
      },
      "reasons": [
        "looking inside the readable roots needs no question",
        "the file has 2 names, and others may lie outside the readable roots"
      ],
      "effects": [
        {
          "effect": "read",
          "path": "/w/src/a.rs",
          "reach": "file"
        }
      ],
      "steps": [
        {
          "rule": {
            "id": "tool.granted",
            "origin": "built-in"
          },
          "outcome": "pass",
          "text": "the grant lists the tool `read`"
        },
        {
          "rule": {
            "id": "path.inside",
            "origin": "built-in"
          },
          "outcome": "pass",
          "text": "`/w/src/a.rs` is a file inside the readable roots"
        },
        {
          "rule": {
            "id": "read.allowed",
            "origin": "built-in"
          },
          "outcome": "pass",
          "text": "looking inside the readable roots needs no question"
        }
      ]
    }
    "#);
}

#[test]
fn a_denied_read() {
    let grant = grant(Preset::ReadOnly);
    let context = context(&grant);
    let call = admit("read", &json!({"path": "~/.ssh/id_rsa"}), &context);
    let explanation = explain(call, &[], &context);
    assert_snapshot!(explanation.text(), @r#"
    deny by path.outside (built-in)
      judged  mode explore, boundary namespaces+landlock+seccomp, workspace direct
      effect  reads /home/u/.ssh/id_rsa
      pass    tool.granted: the grant lists the tool `read`
      stop    path.outside: `/home/u/.ssh/id_rsa` lies outside what may be read
      told    Denied (path.outside): `/home/u/.ssh/id_rsa` lies outside what may be read. Use a path inside /w, /lib/docs.
    "#);
    assert_snapshot!(serde_json::to_string(&explanation).unwrap(), @r#"
    {"verdict":"deny","contained":"no","rule":"path.outside","origin":"built-in","judged":{"mode":"explore","boundary":"namespaces+landlock+seccomp","workspace":"direct"},"reasons":["`/home/u/.ssh/id_rsa` lies outside what may be read"],"effects":[{"effect":"read","path":"/home/u/.ssh/id_rsa","reach":"file"}],"steps":[{"rule":{"id":"tool.granted","origin":"built-in"},"outcome":"pass","text":"the grant lists the tool `read`"},{"rule":{"id":"path.outside","origin":"built-in"},"outcome":"stop","text":"`/home/u/.ssh/id_rsa` lies outside what may be read"}],"message":"Denied (path.outside): `/home/u/.ssh/id_rsa` lies outside what may be read. Use a path inside /w, /lib/docs.","allowed_scope":["/w","/lib/docs"]}
    "#);
}

#[test]
fn a_call_that_is_no_call() {
    let grant = grant(Preset::ReadOnly);
    let context = context(&grant);
    let call = admit("rm\u{1b}[2J", &json!({}), &context);
    assert_snapshot!(explain(call, &[], &context).text(), @r#"
    deny by tool.unknown (built-in)
      judged  mode explore, boundary namespaces+landlock+seccomp, workspace direct
      stop    tool.unknown: no tool is named `rm\u{1b}[2J`
      told    Denied (tool.unknown): no tool is named `rm\u{1b}[2J`. Use one of the tools that were offered.
    "#);
}

#[test]
fn a_contained_start() {
    let grant = grant(Preset::Exec);
    let context = context(&grant);
    let launch = Launch::new(vec!["make".into()], ".".into(), vec![], vec![]).unwrap();
    let facts = [Fact::Path(folder("/w")), program("make", "/usr/bin/make")];
    let explanation = explain(Ok(Call::Exec(launch)), &facts, &context);
    assert_snapshot!(explanation.text(), @r#"
    allow (contained) by exec.contained (built-in)
      judged  mode auto-edit, boundary namespaces+landlock+seccomp, workspace direct
      effect  runs /usr/bin/make
      pass    tool.granted: the grant lists the tool `exec`
      pass    path.inside: `/w` is a folder inside the readable roots
      pass    exec.contained: what the boundary contains needs no question
    "#);
}

#[test]
fn a_question_and_a_protected_path() {
    let grant = grant_with(Preset::General, WorkspaceMode::Direct, &[Tool::Write]);
    let context = context(&grant);
    let told = |path: &str| {
        let call = admit("write", &json!({"path": path, "content": ""}), &context);
        explain(call, &[Fact::Path(file("/w/a"))], &context).text()
    };
    assert_snapshot!(told("a"), @r"
    ask by write.ask (built-in)
      judged  mode auto-edit, boundary namespaces+landlock+seccomp, workspace direct
      effect  replaces /w/a
      pass    tool.granted: the grant lists the tool `write`
      pass    path.inside: `/w/a` is a file inside the readable roots
      ask     write.ask: it changes `/w/a` itself, not a copy
    ");
    assert_snapshot!(told("sub/.git/hooks/pre-commit"), @r"
    deny by write.protected_git (built-in)
      judged  mode auto-edit, boundary namespaces+landlock+seccomp, workspace direct
      effect  replaces /w/sub/.git/hooks/pre-commit
      pass    tool.granted: the grant lists the tool `write`
      stop    write.protected_git: `/w/sub/.git/hooks/pre-commit` is protected: git runs or obeys it, outside the boundary
      told    Denied (write.protected_git): `/w/sub/.git/hooks/pre-commit` is protected: git runs or obeys it, outside the boundary. Leave it as it is, and say in your answer what a person would have to change there.
    ");
}

#[test]
fn a_contained_command_and_a_look() {
    let grant = grant_with(
        Preset::General,
        WorkspaceMode::CopyOnWrite,
        &[Tool::Bash, Tool::Git],
    );
    let context = context(&grant);
    let folder = Fact::Path(folder("/w"));
    let call = admit("bash", &json!({"command": "make\ttest"}), &context);
    let facts = [
        folder.clone(),
        program("bash", "/usr/bin/bash"),
        program("sh", "/bin/dash"),
    ];
    assert_snapshot!(explain(call, &facts, &context).text(), @r"
    allow (contained) by bash.contained (built-in)
      judged  mode auto-edit, boundary namespaces+landlock+seccomp, workspace copy-on-write
      runs    make test
      effect  runs /usr/bin/bash
      effect  runs make
      effect  does what `package.hooks` is about, by make
      pass    tool.granted: the grant lists the tool `bash`
      pass    path.inside: `/w` is a folder inside the readable roots
      pass    bash.contained: what the boundary contains and a copy undoes needs no question
      rule    package.hooks: it runs programs that packages or the project bring along: `make`
    ");
    let call = admit("git", &json!({"op": "log"}), &context);
    let facts = [
        folder,
        program("sh", "/bin/dash"),
        program("git", "/usr/bin/git"),
    ];
    assert_snapshot!(explain(call, &facts, &context).text(), @r"
    allow by git.read (built-in)
      judged  mode auto-edit, boundary namespaces+landlock+seccomp, workspace copy-on-write
      effect  looks at the history with /usr/bin/git
      pass    tool.granted: the grant lists the tool `git`
      pass    path.inside: `/w` is a folder inside the readable roots
      pass    git.read: a look at the history, with git kept from running anything, needs no question
    ");
}

/// The explanation is the verdict: one judgement, told twice.
#[test]
fn explain_and_decide_agree() {
    let grant = grant(Preset::ReadOnly);
    let context = context(&grant);
    for path in ["a", ".env", "../a", "a\0"] {
        let call = Call::parse("read", &json!({ "path": path })).unwrap();
        let facts = [Fact::Path(file("/w/a"))];
        let verdict = decide(call.clone(), &facts, &context);
        let explanation = explain(Ok(call), &facts, &context);
        assert_eq!(explanation.verdict, verdict.word());
        assert_eq!(explanation.rule, verdict.rule().id);
        assert_eq!(explanation.effects, verdict.effects());
        assert_eq!(explanation.steps.last().unwrap().rule, *verdict.rule());
    }
}
