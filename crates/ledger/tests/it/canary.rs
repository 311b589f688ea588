//! A3: no secret that the runtime holds is in any byte of a ledger.

use deputize_ledger::{Ledger, Redactor, verify};
use serde_json::json;

use crate::sample;

#[test]
fn no_byte_of_the_ledger_tells_a_secret() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    let canaries = [
        "CANARY-plain-1",
        "can\"ary\\with\nescapes",
        "4815162342",
        "kanarie/ñ+=&",
    ];
    let redactor = Redactor::new(canaries).unwrap();
    let mut ledger = Ledger::create(&path, sample::RUN, redactor, sample::START).unwrap();
    for canary in canaries {
        let nested = serde_json::to_string(&json!({"inner": canary})).unwrap();
        let payload = json!({
            "value": canary,
            canary: "as a key",
            "inside": format!("before {canary}{canary} after"),
            "json in a string": nested,
            "json twice": serde_json::to_string(&nested).unwrap(),
            "long": format!("{}{canary}", "x".repeat(100_000)),
            "deep": [[[{"deeper": [canary]}]]],
            "number": canary.parse::<u64>().unwrap_or(1),
        });
        ledger.append("notice", payload, sample::START).unwrap();
    }
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(verify(text.as_bytes()).unwrap().is_intact());
    for trace in [
        "CANARY-plain",
        "4815162342",
        "can\\\"ary",
        "with\\nescapes",
        "kanarie",
    ] {
        assert!(!text.contains(trace), "{trace} is in the ledger");
    }
    assert!(text.matches("[redacted]").count() >= 4 * 7, "{text}");
}
