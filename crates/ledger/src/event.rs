//! One event, and its line.

use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::canonical::{write_string, write_value};
use crate::reader::What;
use crate::{Digest, MAX_PAYLOAD};

/// The most bytes of one line, without its line break: a payload, and what stands around it.
pub const MAX_LINE: usize = MAX_PAYLOAD + 1024;

/// The most bytes of a kind.
pub(crate) const MAX_KIND: usize = 64;

/// An event as it stands in a ledger.
///
/// `data` is what the run's own text and calls left there: foreign text, to be escaped when shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Event {
    /// Its number; the first is 0.
    pub seq: u64,
    /// When it was written, in UTC with milliseconds, as RFC 3339 spells it.
    pub at: String,
    /// What kind of event it is, e.g. `call.decided`.
    pub kind: String,
    /// What happened.
    pub data: Value,
    /// The hash of the event before, or the genesis of the run.
    pub prev: Digest,
    /// The hash of this event.
    pub hash: Digest,
}

impl Event {
    /// Makes the event that follows `prev`.
    pub(crate) fn new(seq: u64, at: String, kind: &str, data: Value, prev: Digest) -> Self {
        let mut event = Self {
            seq,
            at,
            kind: kind.to_owned(),
            data,
            prev,
            hash: prev,
        };
        event.hash = Digest::of(event.body().as_bytes());
        event
    }

    /// The line without `hash` and without its line break: what the hash is taken of.
    fn body(&self) -> String {
        let mut out = String::with_capacity(256);
        out.push_str("{\"at\":");
        write_string(&mut out, &self.at);
        out.push_str(",\"data\":");
        write_value(&mut out, &self.data);
        out.push_str(",\"kind\":");
        write_string(&mut out, &self.kind);
        out.push_str(",\"prev\":\"");
        out.push_str(&self.prev.to_string());
        out.push_str("\",\"seq\":");
        out.push_str(&self.seq.to_string());
        out.push('}');
        out
    }

    /// The line without its line break.
    pub(crate) fn line(&self) -> String {
        let mut out = self.body();
        out.pop();
        out.push_str(",\"hash\":\"");
        out.push_str(&self.hash.to_string());
        out.push_str("\"}");
        out
    }

    /// Reads a line (without its line break) and checks it against its own hash.
    ///
    /// A line passes only in the one spelling that [`Event::line`] gives it: otherwise two different
    /// files could pass for the same events.
    pub(crate) fn parse(line: &[u8]) -> Result<Self, What> {
        let Ok(Value::Object(mut fields)) = serde_json::from_slice(line) else {
            return Err(What::NotJson);
        };
        let event = Self {
            seq: fields
                .get("seq")
                .and_then(Value::as_u64)
                .ok_or(What::Shape)?,
            at: text(&mut fields, "at")?,
            kind: text(&mut fields, "kind")?,
            data: fields.remove("data").ok_or(What::Shape)?,
            prev: text(&mut fields, "prev")?
                .parse()
                .map_err(|_| What::Shape)?,
            hash: text(&mut fields, "hash")?
                .parse()
                .map_err(|_| What::Shape)?,
        };
        if Digest::of(event.body().as_bytes()) != event.hash {
            return Err(What::Hash);
        }
        if event.line().as_bytes() != line {
            return Err(What::Spelling);
        }
        Ok(event)
    }
}

fn text(fields: &mut Map<String, Value>, key: &str) -> Result<String, What> {
    match fields.remove(key) {
        Some(Value::String(text)) => Ok(text),
        _ => Err(What::Shape),
    }
}

/// Spells a time, given in milliseconds since 1970; `None` beyond the year 9999.
pub(crate) fn spelled_time(at_ms: u64) -> Option<String> {
    let time = Timestamp::from_millisecond(i64::try_from(at_ms).ok()?).ok()?;
    Some(time.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn sample() -> Event {
        Event::new(
            3,
            spelled_time(1_788_264_000_007).unwrap(),
            "notice",
            json!({"b": 1, "a": "x"}),
            Digest::genesis("run"),
        )
    }

    #[test]
    fn a_line_reads_back_as_the_event() {
        let event = sample();
        assert_eq!(Event::parse(event.line().as_bytes()), Ok(event));
    }

    #[test]
    fn a_line_is_spelled_so() {
        insta::assert_snapshot!(sample().line(), @r#"{"at":"2026-09-01T12:00:00.007Z","data":{"a":"x","b":1},"kind":"notice","prev":"782c1b39fff16386bbf16b6858999952c8ef01ed83035399b6996c4ed265e73d","seq":3,"hash":"3c9a7da431a06fd9eae656d446750493f652db21b252dc9fb9eb4b0d8e5cdbd1"}"#);
    }

    #[test]
    fn other_spellings_of_the_same_event_are_refused() {
        let line = sample().line();
        for (from, to, what) in [
            (r#""seq":3"#, r#""seq":3 "#, What::Spelling),
            (r#"{"at""#, r#"{"x":1,"at""#, What::Spelling),
            (r#"{"at""#, r#"{"kind":"other","at""#, What::Spelling),
            (r#""x""#, "\"\\u0078\"", What::Spelling),
            (r#""b":1"#, r#""b":2"#, What::Hash),
            (r#""seq":3"#, r#""seq":3.0"#, What::Shape),
            (r#""seq":3,"#, "", What::Shape),
            (r#"{"at""#, r#""at""#, What::NotJson),
        ] {
            let changed = line.replacen(from, to, 1);
            assert_ne!(changed, line);
            assert_eq!(Event::parse(changed.as_bytes()), Err(what), "{changed}");
        }
    }
}
