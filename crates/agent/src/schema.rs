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

/// The most parts that a schema may have once its references are followed. References to references
/// multiply the work of one check, and nothing else waits while it is done.
const MAX_UNFOLDED: usize = 5_000;

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

/// Refuses references whose work can't be bounded beforehand: to anything outside, in a form that is
/// found only while checking, to a part around them, and those that unfold into too much.
fn refuse_references(schema: &Value) -> Result<(), Refusal> {
    if let Some(outside) = reference(schema, &|target| !target.starts_with('#')) {
        return Err(invalid(
            format!(
                "the schema refers to `{}`, which is outside itself; nothing is fetched",
                escape(&cut(outside, MAX_FAULT_BYTES))
            ),
            USE_DEFS,
        ));
    }
    let is_path = |target: &str| target == "#" || target.starts_with("#/");
    if let Some(other) = reference(schema, &|target| !is_path(target) || target.contains('%')) {
        return Err(invalid(
            format!(
                "the schema refers to `{}`, which is no plain path in itself",
                escape(&cut(other, MAX_FAULT_BYTES))
            ),
            USE_DEFS,
        ));
    }
    if let Some(keyword) = moving(schema, schema) {
        return Err(invalid(
            format!("the schema uses `{keyword}`, which changes what its references mean"),
            USE_DEFS,
        ));
    }
    let mut steps = 0;
    unfold(schema, schema, &mut Vec::new(), &mut steps).map_err(|why| {
        invalid(
            format!("the references of the schema {why}"),
            "write out the parts that are used once, and as many levels as you need",
        )
    })
}

const USE_DEFS: &str = "put what it needs under `$defs` and refer to it as `#/$defs/NAME`";

/// The first `$ref` that is so.
fn reference<'v>(value: &'v Value, is_so: &dyn Fn(&str) -> bool) -> Option<&'v str> {
    let own = value.get("$ref").and_then(Value::as_str);
    own.filter(|target| is_so(target))
        .or_else(|| children(value).find_map(|child| reference(child, is_so)))
}

/// The first keyword that makes references mean something else than a path from the root.
fn moving(root: &Value, value: &Value) -> Option<&'static str> {
    let keywords = ["$dynamicRef", "$recursiveRef", "$id", "id"];
    let own = keywords.into_iter().find(|keyword| {
        let names_the_whole = std::ptr::eq(root, value) && keyword.ends_with("id");
        !names_the_whole && value.get(keyword).is_some_and(Value::is_string)
    });
    own.or_else(|| children(value).find_map(|child| moving(root, child)))
}

/// Follows references as a check would. A reference to a part around it would be followed as deep as
/// the answer goes, at each level perhaps more than once.
fn unfold<'v>(
    root: &'v Value,
    value: &'v Value,
    way: &mut Vec<&'v str>,
    steps: &mut usize,
) -> Result<(), &'static str> {
    *steps += 1;
    if *steps > MAX_UNFOLDED {
        return Err("unfold into too much");
    }
    if let Some(target) = value.get("$ref").and_then(Value::as_str)
        && let Some(next) = root.pointer(target.trim_start_matches('#'))
    {
        let is_around = way.contains(&target) || std::ptr::eq(next, root);
        if is_around || way.len() >= MAX_SCHEMA_DEPTH {
            return Err("lead back to themselves");
        }
        way.push(target);
        unfold(root, next, way, steps)?;
        way.pop();
    }
    children(value).try_for_each(|child| unfold(root, child, way, steps))
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
            (
                json!({"$ref": "#/$defs/l0", "$defs": doubling}),
                "unfold into too much",
            ),
            (json!({"items": {"$ref": "#"}}), "lead back to themselves"),
            (
                json!({"$defs": {"a": {"items": {"$ref": "#/$defs/b"}}, "b": {"not": {"$ref": "#/$defs/a"}}}}),
                "lead back to themselves",
            ),
            (
                json!({"$defs": {"a": {"$anchor": "x"}}, "$ref": "#x"}),
                "no plain path",
            ),
            (
                json!({"$defs": {"a b": {}}, "$ref": "#/$defs/a%20b"}),
                "no plain path",
            ),
            (json!({"$dynamicRef": "#"}), "`$dynamicRef`"),
            (json!({"$defs": {"a": {"$id": "other"}}}), "`$id`"),
        ] {
            let refusal = Schema::new(value.clone()).unwrap_err();
            assert_eq!(refusal.code, "schema_invalid", "{value}");
            assert!(refusal.reason.contains(part), "{refusal}");
        }
    }

    /// References to parts of its own are followed, as often as they are used; a field may have the
    /// name of a keyword.
    #[test]
    fn a_schema_may_refer_to_its_parts() {
        let schema = Schema::new(json!({
            "$id": "https://example.org/report",
            "$defs": {
                "place": {"type": "string", "pattern": "^[a-z/]+:[0-9]+$"},
                "fault": {"type": "object", "properties": {
                    "at": {"$ref": "#/$defs/place"}, "seen": {"$ref": "#/$defs/place"},
                    "id": {"type": "integer"}, "$ref": {"type": "string"},
                }, "additionalProperties": false},
            },
            "type": "array",
            "items": {"$ref": "#/$defs/fault"},
        }))
        .unwrap();
        assert!(
            schema
                .answer(r#"[{"at": "src/a:1", "id": 4, "$ref": "x"}]"#)
                .is_ok()
        );
        assert!(schema.answer(r#"[{"at": "src/a:x"}]"#).is_err());
    }
}
