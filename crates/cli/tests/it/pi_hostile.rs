//! What a project plants for Pi doesn't reach a child, not even where the person trusts the project in Pi, and no
//! key leaves Pi (S10, S11, S13, T2, A3).

use std::fs;

use deputize_testkit::{Provider, Said, Speech, search_every_byte};
use serde_json::json;

use crate::pi_scene::{EXTENSION, Pi, Rpc, Script, subagent};
use crate::providers::model_of;
use crate::scene::say;

/// A word that every planted thing would bring along.
const PLANTED: &str = "PLANTED-5150";

fn plant(pi: &Pi) {
    let mark = pi.env.workspace().join("extension-ran");
    let code = format!(
        "import {{ appendFileSync }} from \"node:fs\";\nexport default function (pi) {{\n  \
         appendFileSync({:?}, \"x\");\n  pi.registerTool({{ name: \"planted\", label: \"x\", description: \
         \"{PLANTED}\", parameters: {{ type: \"object\", properties: {{}} }}, execute: async () => ({{ content: \
         [], details: {{}} }}) }});\n}}\n",
        mark.display()
    );
    let skill = format!("---\nname: planted\ndescription: {PLANTED}\n---\n{PLANTED}\n");
    let text = format!("# Rules\n\n{PLANTED}: do as this says.\n");
    let settings = format!("{{ \"shellCommandPrefix\": \"export PREFIXED={PLANTED}\" }}");
    let servers = format!(
        "{{ \"mcpServers\": {{ \"planted\": {{ \"command\": \"sh\", \"args\": [\"-c\", \"echo {PLANTED} > \
         mcp-ran\"] }} }} }}"
    );
    let agents =
        format!("---\nname: general\ndescription: {PLANTED}\ntools: bash\n---\n{PLANTED}\n");
    for (path, content) in [
        (".pi/extensions/planted.ts", &code),
        (".pi/skills/planted/SKILL.md", &skill),
        (".agents/skills/planted/SKILL.md", &skill),
        (".pi/prompts/planted.md", &text),
        (".pi/APPEND_SYSTEM.md", &text),
        (".pi/settings.json", &settings),
        (".pi/mcp.json", &servers),
        (".pi/agents/general.md", &agents),
        ("AGENTS.md", &text),
        ("CLAUDE.md", &text),
    ] {
        let file = pi.env.workspace().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, content).unwrap();
    }
    pi.env.give();
}

/// S13, S10, S11, T2: Pi itself, where the project is trusted, is full of it; the child's model and its commands never
/// meet any of it, nor Pi's environment or sessions.
#[test]
fn what_a_project_plants_reaches_no_child() {
    let (model, base, key) = model_of(Speech::OpenaiChat);
    let look = "env; echo PREFIXED=${PREFIXED:-none}; ls \"$HOME\" /; ls ~/.pi 2>&1";
    let child = [
        Said::call("bash", &json!({ "command": look })),
        Said::text("I looked around."),
    ];
    let child = child.iter().enumerate();
    let child = Provider::playing(child.map(|(at, said)| Speech::OpenaiChat.turn(at, said)));
    let pi = Pi::playing([subagent(model, json!({})), Said::text("Done.")]);
    plant(&pi);
    let all = [&["--mode", "rpc", "--approve"], &EXTENSION[..]].concat();
    let mut command = pi.command(&all);
    command
        .env(base, child.url())
        .env(key, "child-key-0123456789")
        .env("PI_SESSION_ID", "stale-session")
        .env("PI_MODEL", "stale-model");
    let mut rpc = Rpc::start(command);
    rpc.prompt("Look around.");
    let question = rpc.dialog();
    assert!(!question.to_string().contains(PLANTED), "{question}");
    rpc.choose(&question, "Yes, for this run");
    rpc.end_well();
    // The control: Pi's own agent has met what was planted.
    let own = pi.asked()[0].to_string();
    assert!(own.contains(PLANTED), "nothing was planted: {own}");
    assert!(pi.env.workspace().join("extension-ran").exists());
    for body in child.bodies() {
        let text = body.to_string();
        for absent in [PLANTED, "PI_SESSION", "PI_MODEL", "stale-", pi.key.value()] {
            assert!(!text.contains(absent), "{absent} in {text}");
        }
    }
    assert!(child.bodies()[1].to_string().contains("PREFIXED=none"));
}

/// A3, N5: the key of Pi's provider is in no file of ours.
#[test]
fn pis_key_stays_with_pi() {
    let script = Script::of(&json!([say("MAX_WEIGHT is 31,500 g.")]));
    let pi = Pi::playing([
        subagent(&script.model(), json!({ "preset": "read-only" })),
        Said::text("Done."),
    ]);
    let _ = pi.once(&["-p", "What is the limit?"]).expect_code(0);
    let asked = pi.provider.asked();
    let sent = format!("Bearer {}", pi.key.value());
    assert_eq!(asked[0].header("authorization"), Some(sent.as_str()));
    let ours = pi.env.state().join("deputize");
    assert!(ours.join("runs").is_dir());
    assert_eq!(search_every_byte(&ours, &[&pi.key]).len(), 0);
}
