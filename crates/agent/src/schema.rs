//! What a caller wants the answer to look like: a JSON Schema, read once and in bounds (D2).
//!
//! # Trust
//! A schema comes from whoever asked for the child, an answer from its model. Nothing that either
//! names is ever fetched, and patterns run on an engine whose time grows with the text alone.

use std::fmt;
use std::sync::Arc;

use deputize_authority::{Refusal, escape};
use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

use crate::evidence::cut;

/// The most bytes of a schema. It stands in the child's instructions and is paid for at every turn.
pub const MAX_SCHEMA_BYTES: usize = 32 * 1024;

/// The deepest nesting of a schema: far beyond a report's, and far from the end of a stack.
pub const MAX_SCHEMA_DEPTH: usize = 32;

/// The most references in a schema. References to references multiply the work of one check.
pub(crate) const MAX_SCHEMA_REFERENCES: usize = 64;

/// The most steps that unfolding a schema's references may take, for the same reason.
const MAX_UNFOLDED: usize = 20_000;

/// The most bytes that one of a schema's patterns may take when it is compiled.
const MAX_PATTERN_BYTES: usize = 1 << 20;

/// The most bytes of an answer. A parent pays for every byte of it.
pub const MAX_ANSWER_BYTES: usize = 64 * 1024;

/// The most faults of one answer that a child is told about; the first explain the rest.
const MAX_FAULTS: usize = 5;

/// The most bytes of one fault: it repeats a part of the answer.
const MAX_FAULT_BYTES: usize = 300;

/// A schema that can be checked against.
#[derive(Clone)]
pub struct Schema {
    value: Value,
    validator: Arc<Validator>,
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Schema").field(&self.value).finish()
    }
}

impl Schema {
    /// Takes a schema.
    ///
    /// # Errors
    /// The refusal `schema_invalid`: it is no schema, is beyond a limit, or refers to something
    /// outside itself.
    pub fn new(value: Value) -> Result<Self, Refusal> {
        let bytes = value.to_string().len();
        if bytes > MAX_SCHEMA_BYTES {
            return Err(invalid(
                format!("the schema has {bytes} bytes; {MAX_SCHEMA_BYTES} are the most"),
                "ask for less in one answer",
            ));
        }
        if depth(&value) > MAX_SCHEMA_DEPTH {
            return Err(invalid(
                format!("the schema is nested deeper than {MAX_SCHEMA_DEPTH} levels"),
                "make it flatter, or name its parts under `$defs`",
            ));
        }
        refuse_references(&value)?;
        let validator = jsonschema::options()
            .offline()
            .with_pattern_options(
                PatternOptions::regex()
                    .size_limit(MAX_PATTERN_BYTES)
                    .dfa_size_limit(MAX_PATTERN_BYTES),
            )
            .build(&value)
            .map_err(|error| {
                let why = escape(&cut(&error.to_string(), MAX_FAULT_BYTES));
                invalid(
                    format!("the schema is not valid: {why}"),
                    "give a JSON Schema whose patterns have no lookaround or backreferences",
                )
            })?;
        Ok(Self {
            value,
            validator: Arc::new(validator),
        })
    }

    /// The schema itself.
    #[must_use]
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// The answer that a final text holds: the whole text, or the last ```json block that ends it.
    ///
    /// # Errors
    /// What is wrong with it, for the child: one line a fault.
    pub(crate) fn answer(&self, text: &str) -> Result<Value, String> {
        let json = crate::contract::json_part(text.trim())
            .ok_or("the text does not end with a ```json block")?;
        if json.len() > MAX_ANSWER_BYTES {
            return Err(format!(
                "the answer has {} bytes; {MAX_ANSWER_BYTES} are the most",
                json.len()
            ));
        }
        let value: Value =
            serde_json::from_str(json).map_err(|error| format!("it is not JSON: {error}"))?;
        let mut faults = self.validator.iter_errors(&value).map(|fault| {
            let place = fault.instance_path().to_string();
            let place = match place.as_str() {
                "" => "the answer",
                place => place,
            };
            escape(&cut(&format!("{place}: {fault}"), MAX_FAULT_BYTES))
        });
        let told: Vec<String> = faults.by_ref().take(MAX_FAULTS).collect();
        let has_more = faults.next().is_some();
        drop(faults);
        if told.is_empty() {
            return Ok(value);
        }
        let more = if has_more { "\n(and more)" } else { "" };
        Err(format!("{}{more}", told.join("\n")))
    }
}

fn invalid(reason: String, fix: &str) -> Refusal {
    Refusal::new("schema_invalid", "schema", reason, fix)
}

/// How deep a value is nested; a plain one is 1 deep.
fn depth(value: &Value) -> usize {
    // A parser of ours gives no value that is deeper than its own limit, 128.
    1 + children(value).map(depth).max().unwrap_or(0)
}

fn children(value: &Value) -> Box<dyn Iterator<Item = &Value> + '_> {
    match value {
        Value::Array(items) => Box::new(items.iter()),
        Value::Object(fields) => Box::new(fields.values()),
        _ => Box::new(std::iter::empty()),
    }
}

/// Refuses references to anything outside, more of them than a check can follow, and those that
/// unfold into more than that.
fn refuse_references(schema: &Value) -> Result<(), Refusal> {
    let mut found = Vec::new();
    references(schema, &mut found);
    if found.len() > MAX_SCHEMA_REFERENCES {
        return Err(invalid(
            format!("the schema has more than {MAX_SCHEMA_REFERENCES} references"),
            "write out the parts that are used once",
        ));
    }
    if let Some(outside) = found.iter().find(|target| !target.starts_with('#')) {
        return Err(invalid(
            format!(
                "the schema refers to `{}`, which is outside itself; nothing is fetched",
                escape(&cut(outside, MAX_FAULT_BYTES))
            ),
            "put what it needs under `$defs` and refer to it as `#/$defs/NAME`",
        ));
    }
    let mut steps = 0;
    if !unfold(schema, schema, &mut Vec::new(), &mut steps) {
        return Err(invalid(
            "the schema's references unfold into too much".to_owned(),
            "let its parts refer to fewer others, and none to itself without anything between",
        ));
    }
    Ok(())
}

/// Every `$ref` and `$dynamicRef` that could be followed.
fn references<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
    if let Value::Object(fields) = value {
        found.extend(
            ["$ref", "$dynamicRef", "$recursiveRef"]
                .iter()
                .filter_map(|key| fields.get(*key)?.as_str()),
        );
    }
    for child in children(value) {
        references(child, found);
    }
}

/// Follows references as a check would, each at most once on its way; `false` when that takes too
/// many steps.
fn unfold<'v>(
    root: &'v Value,
    value: &'v Value,
    way: &mut Vec<&'v str>,
    steps: &mut usize,
) -> bool {
    *steps += 1;
    if *steps > MAX_UNFOLDED {
        return false;
    }
    if let Some(target) = value.get("$ref").and_then(Value::as_str)
        && !way.contains(&target)
        && let Some(next) = root.pointer(target.trim_start_matches('#'))
    {
        way.push(target);
        let fits = unfold(root, next, way, steps);
        way.pop();
        if !fits {
            return false;
        }
    }
    children(value).all(|child| unfold(root, child, way, steps))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn schema() -> Schema {
        Schema::new(json!({
            "type": "object",
            "required": ["summary", "count"],
            "properties": {
                "summary": {"type": "string"},
                "count": {"type": "integer", "minimum": 0},
            },
            "additionalProperties": false,
        }))
        .unwrap()
    }

    /// D2: the answer is the value, wherever the text holds it.
    #[test]
    fn an_answer_is_taken_from_the_text() {
        let value = json!({"summary": "s", "count": 2});
        for text in [
            value.to_string(),
            format!("So:\n```json\n{value}\n```\n"),
            format!("```json\n{{}}\n```\nno:\n```json\n{value}\n```"),
        ] {
            assert_eq!(schema().answer(&text), Ok(value.clone()), "{text}");
        }
        let list = Schema::new(json!({"type": "array"})).unwrap();
        assert_eq!(list.answer("[1]"), Ok(json!([1])));
    }

    /// D2: what is wrong is said, in bounds and escaped.
    #[test]
    fn faults_are_told_and_bounded() {
        for (text, part) in [
            ("plain words", "not JSON"),
            ("{\"summary\": \"s\"}", "\"count\" is a required property"),
            ("{\"summary\": \"s\", \"count\": -1}", "/count: "),
            ("```\n{}\n```", "does not end with"),
        ] {
            let fault = schema().answer(text).unwrap_err();
            assert!(fault.contains(part), "{text}: {fault}");
        }
        let long = json!({"summary": 1, "count": "\u{1b}".repeat(4096)}).to_string();
        let fault = schema().answer(&long).unwrap_err();
        assert!(fault.len() < MAX_FAULTS * 4 * MAX_FAULT_BYTES, "{fault}");
        assert!(!fault.contains('\u{1b}'));
        let beyond = json!("x".repeat(MAX_ANSWER_BYTES)).to_string();
        let any = Schema::new(json!(true)).unwrap();
        assert!(any.answer(&beyond).unwrap_err().contains("are the most"));
    }

    /// D1: a schema that can't be checked against is refused before anything starts.
    #[test]
    fn a_schema_that_is_none_is_refused() {
        let mut deep = json!({});
        for _ in 0..MAX_SCHEMA_DEPTH {
            deep = json!({"not": deep});
        }
        let many: Vec<Value> = (0..=MAX_SCHEMA_REFERENCES)
            .map(|_| json!({"$ref": "#/$defs/a"}))
            .collect();
        // Each level asks for the next one twice: two to the thirtieth checks for one answer.
        let doubling: serde_json::Map<String, Value> = (0..30)
            .map(|level| {
                let next = json!({"$ref": format!("#/$defs/l{}", level + 1)});
                (format!("l{level}"), json!({"allOf": [next, next]}))
            })
            .chain([("l30".to_owned(), json!({}))])
            .collect();
        for (value, part) in [
            (json!({"type": "nonsense"}), "not valid"),
            (json!(7), "not valid"),
            (json!({"pattern": "("}), "not valid"),
            (json!({"pattern": "(?=x)"}), "not valid"),
            (json!({"pattern": "(a{999}){999}"}), "not valid"),
            (json!({"$ref": "#/$defs/absent"}), "not valid"),
            (
                json!({"$ref": "http://127.0.0.1:1/s.json"}),
                "nothing is fetched",
            ),
            (json!({"$ref": "file:///etc/passwd"}), "nothing is fetched"),
            (
                json!({"items": {"$ref": "other.json"}}),
                "nothing is fetched",
            ),
            (deep, "deeper"),
            (
                json!({"description": "x".repeat(MAX_SCHEMA_BYTES)}),
                "bytes",
            ),
            (json!({"$defs": {"a": {}}, "anyOf": many}), "references"),
            (
                json!({"$ref": "#/$defs/l0", "$defs": doubling}),
                "references",
            ),
        ] {
            let refusal = Schema::new(value.clone()).unwrap_err();
            assert_eq!(refusal.code, "schema_invalid", "{value}");
            assert!(refusal.reason.contains(part), "{refusal}");
        }
    }

    /// A schema that refers to itself is checked to an end: for every level of the answer once.
    #[test]
    fn a_schema_may_refer_to_itself() {
        let tree = Schema::new(json!({
            "type": "object",
            "properties": {"children": {"type": "array", "items": {"$ref": "#"}}},
            "additionalProperties": false,
        }))
        .unwrap();
        assert!(tree.answer(r#"{"children": [{"children": []}]}"#).is_ok());
        assert!(tree.answer(r#"{"children": [{"other": []}]}"#).is_err());
    }
}
