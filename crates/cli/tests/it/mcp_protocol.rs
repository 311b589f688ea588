//! `deputize mcp` as a protocol: revisions, tools, bad input, what stands on standard output (H2).

use serde_json::{Value, json};

use crate::mcp_client::{Client, REVISION, asking};
use crate::scene::{project, runs};

const TOOLS: [&str; 8] = [
    "subagent",
    "subagent_status",
    "subagent_steer",
    "subagent_stop",
    "subagent_extend",
    "subagent_diff",
    "subagent_apply",
    "subagent_discard",
];

/// H2: every revision with requests from server to client is spoken; whoever asks for another is
/// offered the newest of them.
#[test]
fn mcp_revisions_of_old_and_new_clients_are_spoken() {
    let env = project();
    for (asked, spoken) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        (REVISION, REVISION),
        ("2031-01-01", REVISION),
    ] {
        let mut client = Client::start(&env, &[]);
        let hello = client.hello(asked, &json!({}));
        assert_eq!(hello["protocolVersion"], spoken, "{asked}");
        assert_eq!(hello["serverInfo"]["name"], "deputize");
        assert!(hello["instructions"].as_str().unwrap().contains("data"));
        let id = client.ask("tools/list", json!({}));
        let tools = client.result(id)["tools"].clone();
        assert_eq!(tools.as_array().unwrap().len(), TOOLS.len());
        let (status, errors) = client.end();
        assert_eq!((status.code(), errors.as_str()), (Some(0), ""), "{asked}");
    }
}

/// H2, S4: every tool has a schema that refuses what it doesn't name, and none has a parameter that
/// allows anything.
#[test]
fn mcp_tools_have_closed_schemas_that_allow_nothing() {
    let env = project();
    let mut client = Client::begin(&env, &[], &json!({}));
    let id = client.ask("tools/list", json!({}));
    let tools = client.result(id)["tools"].clone();
    let names: Vec<&str> = tools
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, TOOLS);
    for tool in tools.as_array().unwrap() {
        let schema = &tool["inputSchema"];
        assert_eq!(schema["type"], "object", "{tool:#}");
        assert_eq!(schema["additionalProperties"], false, "{tool:#}");
        assert!(!tool["description"].as_str().unwrap().is_empty());
        for name in schema["properties"].as_object().unwrap().keys() {
            let allows = ["allow", "rules", "budget", "trust", "yes", "env", "host"];
            assert!(!allows.contains(&name.as_str()), "{name}");
        }
    }
    assert_eq!(tools[1]["annotations"]["readOnlyHint"], true);
    assert_eq!(tools[6]["annotations"]["destructiveHint"], true);
}

/// H2, S4: a call that the schema doesn't know is a refusal with its parts, and begins nothing: what a
/// person allows stands in no argument.
#[test]
fn mcp_bad_arguments_are_refused_and_begin_nothing() {
    let env = project();
    let mut client = Client::begin(&env, &[], &asking());
    let task = |name: &str, value: Value| {
        let mut task = json!({ "prompt": "Go.", "preset": "read-only", "model": "scout" });
        task[name] = value;
        task
    };
    for (tool, arguments) in [
        ("subagent", json!({})),
        ("subagent", task("allow", json!(["write", "shell"]))),
        ("subagent", task("rules", json!("/tmp/rules.toml"))),
        ("subagent", task("budget", json!({ "turns": 1_000 }))),
        ("subagent", task("fallback", json!(["scout"]))),
        ("subagent", task("prompt", json!(7))),
        ("subagent", task("ports", json!(["http"]))),
        ("subagent", task("ports", json!([70_000]))),
        ("subagent", task("tasks", json!([{ "prompt": "x" }]))),
        (
            "subagent",
            json!({ "tasks": [{ "prompt": "x", "allow": ["shell"] }] }),
        ),
        (
            "subagent",
            json!({ "tasks": vec![json!({ "prompt": "x" }); 17] }),
        ),
        ("subagent", json!({ "chain": [{ "workdir": "/" }] })),
        ("subagent_status", json!({ "run": 7 })),
        ("subagent_status", json!({ "wait": -1 })),
        ("subagent_steer", json!({ "run": "x" })),
        ("subagent_extend", json!({ "run": "x", "turns": "many" })),
        ("subagent_apply", json!({ "run": "x", "yes": true })),
    ] {
        let refusal = client.refused(tool, arguments.clone());
        assert_eq!(refusal["code"], "arguments_invalid", "{tool} {arguments}");
    }
    for (arguments, code) in [
        (task("preset", json!("root")), "unknown_preset"),
        (task("workspace", json!("moon")), "unknown_workspace_mode"),
        (task("workdir", json!("/nowhere")), "folder_missing"),
        (task("model", json!("gpt")), "model_name"),
        (task("prompt", json!("")), "prompt_empty"),
    ] {
        let refusal = client.refused("subagent", arguments.clone());
        assert_eq!(refusal["code"], code, "{arguments}");
    }
    for tool in ["subagent_status", "subagent_diff", "subagent_discard"] {
        let refusal = client.refused(tool, json!({ "run": "../../etc" }));
        assert_eq!(refusal["field"], "run", "{tool}: {refusal}");
    }
    let refusal = client.refused("subagent_stop", json!({ "run": "0".repeat(32) }));
    assert_eq!(refusal["code"], "run_not_here");
    assert!(runs(&env).is_empty());
}

/// H2: what is no message, no method or no tool is answered or passed over; the server goes on.
#[test]
fn mcp_what_is_no_message_ends_nothing() {
    let env = project();
    let mut client = Client::begin(&env, &[], &json!({}));
    for line in [
        "no JSON at all\n",
        "\n",
        "[]\n",
        "7\n",
        "{\"jsonrpc\":\"2.0\"}\n",
        "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"tools/list\"}\n",
        "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"tools/list\"}\n",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/never\",\"params\":[]}\n",
        "{\"jsonrpc\":\"2.0\",\"id\":7777,\"result\":{\"action\":\"accept\"}}\n",
        "{\"jsonrpc\":\"2.0\",\"id\":7777,\"error\":{\"code\":-1,\"message\":\"x\"}}\n",
    ] {
        client.write(line.as_bytes());
    }
    client.write(b"\xff\xfe\x00{}\n");
    let deep = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"params\":{}\n",
        "[".repeat(100_000)
    );
    client.write(deep.as_bytes());
    for (method, params) in [
        ("no/method", json!({})),
        (
            "tools/call",
            json!({ "name": "subagent_never", "arguments": {} }),
        ),
        ("tools/call", json!({ "name": 7 })),
        ("tools/call", json!({ "name": "subagent", "arguments": [] })),
        ("resources/list", json!({})),
        ("deputize/gate", json!({ "tool": "bash" })),
    ] {
        let id = client.ask(method, params.clone());
        let answer = client.answer(id);
        let code = answer["error"]["code"].as_i64();
        let listed = method == "resources/list" && answer["result"]["resources"] == json!([]);
        assert!(code.is_some() || listed, "{method} {params}: {answer:#}");
    }
    let id = client.ask("ping", json!({}));
    assert_eq!(client.result(id), json!({}));
    let (status, errors) = client.end();
    assert_eq!((status.code(), errors.as_str()), (Some(0), ""));
}

/// H2: a line beyond the limit is never held in memory, and what comes after it is heard.
#[test]
fn mcp_a_huge_line_is_no_message() {
    let env = project();
    let mut client = Client::begin(&env, &[], &json!({}));
    let prompt = "x".repeat(5 << 20);
    client.begin_call("subagent", json!({ "prompt": prompt, "model": "scout" }));
    let id = client.ask("ping", json!({}));
    assert_eq!(client.result(id), json!({}));
    assert!(runs(&env).is_empty());
}

/// H2: a client that goes away before it said anything, or that says nothing of the protocol, ends the
/// server with words on standard error alone.
#[test]
fn mcp_without_a_hello_the_server_ends() {
    let env = project();
    let (status, errors) = Client::start(&env, &[]).end();
    assert_eq!((status.code(), errors.as_str()), (Some(0), ""));
    let mut client = Client::start(&env, &[]);
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/never" }));
    client.close();
    let (status, errors) = client.wait();
    assert!(
        status.code() == Some(0) || errors.contains("client_invalid"),
        "{status} {errors}"
    );
}

/// G3: a host asks about a call of its own agent, and hears the verdict with its rule; what it can't
/// ask about is an error, and so a block.
#[test]
fn mcp_the_gate_judges_a_call_of_the_host() {
    let env = project();
    let mut client = Client::begin(&env, &[], &json!({}));
    let mut judged = |tool: &str, input: Value, mode: &str| {
        let cwd = env.workspace();
        let params = json!({ "tool": tool, "input": input, "cwd": cwd, "mode": mode });
        let id = client.ask("deputize/gate", params);
        client.answer(id)
    };
    for (tool, input, mode, verdict) in [
        (
            "read",
            json!({ "path": "src/limits.rs" }),
            "explore",
            "allow",
        ),
        (
            "write",
            json!({ "path": "a", "content": "" }),
            "explore",
            "deny",
        ),
        ("write", json!({ "path": "a", "content": "" }), "ask", "ask"),
        ("bash", json!({ "command": "rm -rf /" }), "auto-all", "deny"),
        ("never", json!({}), "explore", "deny"),
    ] {
        let answer = judged(tool, input, mode);
        assert_eq!(
            answer["result"]["verdict"], verdict,
            "{tool} {mode}: {answer:#}"
        );
        assert!(!answer["result"]["rule"].as_str().unwrap().is_empty());
    }
    let answer = judged("read", json!({}), "moon");
    assert_eq!(answer["error"]["code"], -32602, "{answer:#}");
}
