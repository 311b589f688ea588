//! Models that take over from each other (D6).

use std::sync::Mutex;

use deputize_model::{Chain, ModelClient, ModelError, Script, ScriptedModel, Watch};

use crate::{Waits, request};

#[derive(Default)]
struct Told(Mutex<Vec<(&'static str, String)>>);

impl Watch for Told {
    fn streaming(&self) {}

    fn notice(&self, code: &'static str, message: String) {
        self.0.lock().unwrap().push((code, message));
    }
}

fn scripted(name: &str, script: &str) -> Box<dyn ModelClient> {
    let script = Script::parse(script.as_bytes()).unwrap();
    let waits = std::sync::Arc::new(Waits::default());
    Box::new(ScriptedModel::new(name.parse().unwrap(), script, waits))
}

fn play(chain: &Chain, told: &Told) -> Result<String, ModelError> {
    let request = request(Vec::new());
    let mut future = chain.turn(&request, told);
    let waker = std::task::Waker::noop();
    match future
        .as_mut()
        .poll(&mut std::task::Context::from_waker(waker))
    {
        std::task::Poll::Ready(turn) => turn.map(|turn| turn.text),
        std::task::Poll::Pending => panic!("it waits for something"),
    }
}

/// D6: the next one takes over where a model is out of reach, once and for good, and each time is told
/// with both prices.
#[test]
fn the_next_takes_over_and_is_told() {
    let first = r#"{"price": {"input": 2000000, "cached_input": 0, "output": 8000000},
        "turns": [{"text": "one"}, {"error": {"code": "unavailable", "message": "gone"}}, {"text": "back"}]}"#;
    let second = r#"{"turns": [{"error": {"code": "unavailable"}}]}"#;
    let third = r#"{"repeat_last": true, "turns": [{"text": "three"}]}"#;
    let chain = Chain::new(
        scripted("script:first", first),
        vec![
            scripted("script:second", second),
            scripted("script:third", third),
        ],
    );
    let told = Told::default();
    assert_eq!(play(&chain, &told), Ok("one".to_owned()));
    assert_eq!(chain.name().to_string(), "script:first");
    assert_eq!(play(&chain, &told), Ok("three".to_owned()));
    assert_eq!(play(&chain, &told), Ok("three".to_owned()));
    assert_eq!(chain.name().to_string(), "script:third");
    assert_eq!(chain.price(), None);
    let told = told.0.into_inner().unwrap();
    assert_eq!(told.len(), 2);
    assert!(told.iter().all(|(code, _)| *code == "model_substituted"));
    assert!(
        told[0]
            .1
            .contains("script:second (unknown price) takes over from script:first ($2/$8"),
        "{told:?}"
    );
    assert!(told[0].1.contains("gone"), "{told:?}");
}

/// D6: what is wrong with a request or an answer is not another model's to hide, and after the last one
/// the failure is told.
#[test]
fn other_failures_are_not_covered_up() {
    for code in ["refused", "malformed", "cut"] {
        let first = format!(r#"{{"turns": [{{"error": {{"code": "{code}"}}}}]}}"#);
        let chain = Chain::new(
            scripted("script:first", &first),
            vec![scripted(
                "script:second",
                r#"{"turns": [{"text": "hidden"}]}"#,
            )],
        );
        let told = Told::default();
        assert_eq!(
            play(&chain, &told).unwrap_err().code(),
            format!("model_{code}")
        );
        assert!(told.0.into_inner().unwrap().is_empty());
    }
    let gone = r#"{"turns": [{"error": {"code": "unavailable", "message": "last"}}]}"#;
    let chain = Chain::new(scripted("script:a", gone), vec![scripted("script:b", gone)]);
    let error = play(&chain, &Told::default()).unwrap_err();
    assert_eq!(
        error,
        ModelError::Unavailable {
            reason: "last".to_owned()
        }
    );
}
