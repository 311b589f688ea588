//! Choosing a model, and those that take over.

use deputize_model::{
    Choice, Config, Dearer, Endpoint, HostModels, Known, ModelLabel, ModelName, Prices, Wanted,
    choose, open,
};

use crate::FakeEdge;

/// What a test says about the person's files, shell and machine.
struct World {
    config: &'static str,
    variables: &'static [(&'static str, &'static str)],
    local: Option<&'static str>,
}

const BARE: World = World {
    config: "",
    variables: &[],
    local: None,
};

fn wanted(model: Option<&str>) -> Wanted<'_> {
    Wanted {
        model,
        fallback: &[],
        preset: "read-only",
        dearer: Dearer::Refuse,
        host: HostModels::Absent,
    }
}

impl World {
    fn choose(&self, wanted: &Wanted<'_>) -> Result<Vec<Choice>, deputize_authority::Refusal> {
        let config = Config::parse(self.config).unwrap();
        let prices = Prices::with(None).unwrap();
        let known = Known {
            config: &config,
            prices: &prices,
            variable: &|name| {
                let found = self.variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            },
        };
        choose(wanted, &known, &|_| self.local.map(str::to_owned))
    }

    fn names(&self, wanted: &Wanted<'_>) -> Vec<String> {
        let chosen = self.choose(wanted).unwrap();
        chosen.iter().map(|one| one.name().to_string()).collect()
    }

    fn endpoint(&self, name: &str) -> Endpoint {
        match self.choose(&wanted(Some(name))).unwrap().remove(0) {
            Choice::Provider(endpoint) => *endpoint,
            Choice::InProcess(name) | Choice::Host(name) => panic!("{name} needs no endpoint"),
        }
    }

    fn code(&self, wanted: &Wanted<'_>) -> String {
        let refusal = self.choose(wanted).unwrap_err();
        assert!(!refusal.fix.is_empty() && !refusal.reason.is_empty());
        refusal.code
    }
}

/// N4: what was named, then what is configured, then what runs here, then nothing; and the refusal
/// names every way out.
#[test]
fn models_are_chosen_in_the_documented_order() {
    let all = World {
        config: "model = \"openai:gpt-5\"\n",
        local: Some("llama3:8b"),
        ..BARE
    };
    assert_eq!(
        all.names(&wanted(Some("anthropic:claude"))),
        ["anthropic:claude"]
    );
    assert_eq!(all.names(&wanted(None)), ["openai:gpt-5"]);
    let local = World {
        local: Some("llama3:8b"),
        ..BARE
    };
    assert_eq!(local.names(&wanted(None)), ["ollama:llama3:8b"]);
    let refusal = BARE.choose(&wanted(None)).unwrap_err();
    assert_eq!((&*refusal.code, &*refusal.field), ("no_model", "model"));
    for way in [
        "deputize auth set",
        "--model",
        "config.toml",
        "Ollama",
        "--model scout",
        "without a language model",
    ] {
        assert!(refusal.fix.contains(way), "{way}: {}", refusal.fix);
    }
}

/// N4, N5: the host's model comes after what was named and before what is configured, whose fallbacks
/// don't stand behind it; without a host that serves one it is refused.
#[test]
fn n5_the_hosts_model_has_its_place_in_the_order() {
    let all = World {
        config: "model = \"openai:gpt-5\"\nfallback = [\"openai:gpt-5-mini\"]\n",
        local: Some("llama3:8b"),
        ..BARE
    };
    let served = |model| Wanted {
        host: HostModels::Served,
        ..wanted(model)
    };
    assert_eq!(all.names(&served(None)), ["host"]);
    assert_eq!(all.names(&served(Some("host:big"))), ["host:big"]);
    assert_eq!(all.names(&served(Some("scout"))), ["scout"]);
    let pinned = World {
        config: "[presets.read-only]\nmodel = \"openai:gpt-5\"\n",
        ..BARE
    };
    assert_eq!(pinned.names(&served(None)), ["openai:gpt-5"]);
    assert_eq!(pinned.code(&served(Some("host"))), "model_pinned");
    for name in ["host", "host:big"] {
        assert_eq!(all.code(&wanted(Some(name))), "no_host_model");
    }
}

/// N4: an Ollama on another machine is never looked for.
#[test]
fn only_this_machine_is_looked_at() {
    let elsewhere = World {
        config: "[providers.ollama]\nbase_url = \"https://models.example.com\"\n",
        local: Some("llama3:8b"),
        ..BARE
    };
    assert_eq!(elsewhere.code(&wanted(None)), "no_model");
}

/// D3: a pin can't be overridden, and nothing takes over from it.
#[test]
fn a_pinned_preset_keeps_its_model() {
    let pinned = World {
        config: "model = \"openai:gpt-5\"\nfallback = [\"openai:gpt-5-mini\"]\n\
                 [presets.read-only]\nmodel = \"gemini:gemini-2.5-flash\"\n",
        ..BARE
    };
    assert_eq!(pinned.names(&wanted(None)), ["gemini:gemini-2.5-flash"]);
    assert_eq!(
        pinned.names(&wanted(Some("gemini:gemini-2.5-flash"))).len(),
        1
    );
    assert_eq!(pinned.code(&wanted(Some("openai:gpt-5"))), "model_pinned");
    let fallback = ["openai:gpt-5-nano".to_owned()];
    let with = Wanted {
        fallback: &fallback,
        ..wanted(None)
    };
    assert_eq!(pinned.code(&with), "model_pinned");
    let other = Wanted {
        preset: "general",
        ..wanted(None)
    };
    assert_eq!(pinned.names(&other), ["openai:gpt-5", "openai:gpt-5-mini"]);
}

/// D6: a dearer model, or one whose price nobody knows, takes over only where a person allowed it.
#[test]
fn a_dearer_model_takes_over_only_when_allowed() {
    let after = |first: &'static str, next: &str, dearer| {
        let fallback = [next.to_owned()];
        let wanted = Wanted {
            fallback: &fallback,
            dearer,
            ..wanted(Some(first))
        };
        BARE.choose(&wanted)
            .map(|chosen| chosen.len())
            .map_err(|refusal| {
                assert!(refusal.reason.contains(next), "{}", refusal.reason);
                refusal.code
            })
    };
    let refused = Err("fallback_dearer".to_owned());
    assert_eq!(
        after("openai:gpt-5", "openai:gpt-5-mini", Dearer::Refuse),
        Ok(2)
    );
    assert_eq!(
        after("openai:gpt-5-mini", "openai:gpt-5", Dearer::Refuse),
        refused
    );
    assert_eq!(
        after("openai:gpt-5-mini", "openai:gpt-5", Dearer::Allow),
        Ok(2)
    );
    assert_eq!(
        after("openai:gpt-5", "openai:nobody-knows", Dearer::Refuse),
        refused
    );
    assert_eq!(
        after("openai:nobody-knows", "openai:gpt-5", Dearer::Refuse),
        refused
    );
    assert_eq!(
        after("openai:who", "openai:nobody-knows", Dearer::Refuse),
        Ok(2)
    );
    assert_eq!(
        after("openai:gpt-5", "scout", Dearer::Allow),
        Err("fallback_invalid".to_owned())
    );
}

/// N4: the providers' usual variables move a provider; a person's file moves it further, and makes
/// others.
#[test]
fn shell_and_configuration_say_where_a_provider_is() {
    let world = World {
        config: "[providers.work]\nkind = \"openai-chat\"\nbase_url = \"https://llm.example.com/v1\"\n\
                 key_env = \"WORK_KEY\"\n[providers.gemini]\nkey_env = \"OTHER\"\n",
        variables: &[
            ("ANTHROPIC_BASE_URL", "http://127.0.0.1:9"),
            ("OLLAMA_HOST", "0.0.0.0"),
            ("OPENAI_BASE_URL", ""),
        ],
        local: None,
    };
    let base = |name: &str| world.endpoint(name).base.to_string();
    assert_eq!(base("anthropic:a"), "http://127.0.0.1:9");
    assert_eq!(base("ollama:a"), "http://127.0.0.1:11434");
    assert_eq!(base("openai:a"), "https://api.openai.com/v1");
    assert_eq!(base("work:a"), "https://llm.example.com/v1");
    assert_eq!(world.endpoint("work:a").key.variables, ["WORK_KEY"]);
    assert_eq!(world.endpoint("gemini:a").key.variables, ["OTHER"]);
    assert_eq!(world.endpoint("openai-chat:a").key.account, "openai");
    assert_eq!(world.code(&wanted(Some("other:a"))), "provider_unknown");
}

/// N4: plain http goes to this machine, or where a person said so, and nowhere else.
#[test]
fn an_unencrypted_provider_is_refused() {
    let shell = World {
        variables: &[("OPENAI_BASE_URL", "http://192.0.2.1/v1")],
        ..BARE
    };
    assert_eq!(shell.code(&wanted(Some("openai:a"))), "provider_insecure");
    let said = World {
        config: "[providers.openai]\ninsecure = true\n",
        ..shell
    };
    assert_eq!(
        said.endpoint("openai:a").base.to_string(),
        "http://192.0.2.1/v1"
    );
    let broken = World {
        config: "[providers.x]\nkind = \"ollama\"\nbase_url = \"https://user@host\"\n[providers.y]\n",
        ..BARE
    };
    assert_eq!(broken.code(&wanted(Some("x:a"))), "provider_url");
    assert_eq!(broken.code(&wanted(Some("y:a"))), "provider_incomplete");
    // A name that would change the path that is asked for.
    assert_eq!(BARE.code(&wanted(Some("gemini:../files"))), "model_name");
}

#[test]
fn what_is_no_name_is_refused() {
    for name in ["", "gpt", "Scout", "scout ", "script:"] {
        assert_eq!(BARE.code(&wanted(Some(name))), "model_name", "{name:?}");
    }
}

#[test]
fn a_script_that_cannot_be_used_is_refused_with_the_reason() {
    let refused = |file: &str| {
        let name = ModelName::Script(file.to_owned());
        open(&name, &FakeEdge::holding("{}")).err().unwrap()
    };
    assert_eq!(refused("absent.json").code, "model_script");
    assert!(refused("a.json").reason.contains("an object with `turns`"));
}

/// N4, D6: neither scout nor script is ever taken for a language model, nor stands in for one.
#[test]
fn what_was_named_is_given() {
    let edge = FakeEdge::holding(r#"{"turns": [{"text": "a"}]}"#);
    for (name, label) in [
        ("scout", ModelLabel::Scout),
        ("script:a.json", ModelLabel::Scripted),
    ] {
        let client = open(&name.parse().unwrap(), &edge).unwrap();
        assert_eq!(client.label(), label);
        assert_eq!(client.name().to_string(), name);
        let notice = client.label().notice().unwrap();
        assert!(notice.contains("no language model"));
    }
    let provider = open(&"anthropic:claude".parse().unwrap(), &edge);
    assert_eq!(provider.err().unwrap().code, "model_not_available");
}
