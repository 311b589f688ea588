//! Entries in JSON, with everything else of the text as it is.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstNode, CstObject, CstRootNode};
use serde_json::Value;

use crate::entry::{Entry, Put, sorted};
use crate::fault::Fault;

/// Deeper texts aren't read: no configuration is.
const MAX_DEPTH: usize = 100;

pub(crate) fn put(text: &str, entry: &Entry) -> Result<Option<Put>, Fault> {
    let root = parsed(text)?;
    let mut object = root
        .object_value_or_create()
        .ok_or_else(|| Fault::Shape("the top".to_owned()))?;
    let mut made = 0;
    let (tables, list) = way(entry);
    for name in tables {
        made += usize::from(object.get(name).is_none());
        object = object
            .object_value_or_create(name)
            .ok_or_else(|| Fault::Shape(name.clone()))?;
    }
    match (&entry.name, list) {
        (Some(name), _) => {
            if let Some(there) = object.get(name) {
                let same = there.value().and_then(|value| value.to_serde_value());
                return match same.as_ref() == Some(&entry.value) {
                    true => Ok(None),
                    false => Err(Fault::Taken(name.clone())),
                };
            }
            object.append(name, input(&entry.value));
        }
        (None, Some(list)) => {
            made += usize::from(object.get(list).is_none());
            let array = object
                .array_value_or_create(list)
                .ok_or_else(|| Fault::Shape(list.clone()))?;
            let mut elements = array.elements().into_iter();
            if elements.any(|element| is(&element, &entry.value)) {
                return Ok(None);
            }
            array.append(input(&entry.value));
        }
        (None, None) => return Err(Fault::Shape("the top".to_owned())),
    }
    Ok(Some(Put {
        text: root.to_string(),
        made,
    }))
}

pub(crate) fn take(text: &str, entry: &Entry, made: usize) -> Result<Option<String>, Fault> {
    let root = parsed(text)?;
    let Some(mut object) = root.object_value() else {
        return Ok(None);
    };
    let (tables, list) = way(entry);
    let mut passed: Vec<(CstObject, &String)> = Vec::new();
    for name in tables {
        let Some(below) = object.object_value(name) else {
            return Ok(None);
        };
        passed.push((object, name));
        object = below;
    }
    match (&entry.name, list) {
        (Some(name), _) => {
            let Some(there) = object.get(name) else {
                return Ok(None);
            };
            if !there.value().is_some_and(|value| is(&value, &entry.value)) {
                return Ok(None);
            }
            there.remove();
        }
        (None, Some(list)) => {
            let Some(array) = object.array_value(list) else {
                return Ok(None);
            };
            let mut elements = array.elements().into_iter();
            let Some(there) = elements.find(|element| is(element, &entry.value)) else {
                return Ok(None);
            };
            there.remove();
            passed.push((object, list));
        }
        (None, None) => return Ok(None),
    }
    for (holder, name) in passed.iter().rev().take(made) {
        let Some(property) = holder.get(name) else {
            break;
        };
        let value = property.value().and_then(|value| value.to_serde_value());
        let is_empty = match value {
            Some(Value::Object(members)) => members.is_empty(),
            Some(Value::Array(elements)) => elements.is_empty(),
            _ => false,
        };
        if !is_empty {
            break;
        }
        property.remove();
    }
    Ok(Some(root.to_string()))
}

/// The tables on the way, and the list at its end where the entry is an element.
fn way(entry: &Entry) -> (&[String], Option<&String>) {
    match (&entry.name, entry.at.split_last()) {
        (None, Some((list, tables))) => (tables, Some(list)),
        _ => (&entry.at, None),
    }
}

fn parsed(text: &str) -> Result<CstRootNode, Fault> {
    if is_too_deep(text) {
        return Err(Fault::Invalid(format!("it is deeper than {MAX_DEPTH}")));
    }
    let options = ParseOptions {
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        ..ParseOptions::default()
    };
    CstRootNode::parse(text, &options).map_err(|error| Fault::Invalid(error.to_string()))
}

/// Counts brackets wherever they stand: one too many is no harm.
fn is_too_deep(text: &str) -> bool {
    let mut depth = 0_usize;
    text.bytes().any(|byte| {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth > MAX_DEPTH
    })
}

fn is(node: &CstNode, value: &Value) -> bool {
    node.to_serde_value().as_ref() == Some(value)
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(elements) => CstInputValue::Array(elements.iter().map(input).collect()),
        Value::Object(members) => {
            let members = sorted(members);
            let members = members.map(|(name, value)| (name.clone(), input(value)));
            CstInputValue::Object(members.collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn server() -> Entry {
        Entry {
            at: vec!["mcpServers".to_owned()],
            name: Some("deputize".to_owned()),
            value: json!({ "command": "/d", "args": ["mcp"] }),
        }
    }

    fn hook() -> Entry {
        Entry {
            at: vec!["hooks".to_owned(), "PreToolUse".to_owned()],
            name: None,
            value: json!({ "matcher": "Bash" }),
        }
    }

    /// H9: what a person wrote stays, and the entry looks as if they had.
    #[test]
    fn an_entry_is_added_in_the_files_own_style() {
        let before = "{\n  // mine\n  \"b\": 1,\n  \"mcpServers\": {\n    \"x\": { \"command\": \"y\" }\n  }\n}\n";
        let put = put(before, &server()).unwrap().unwrap();
        assert_eq!(
            put.text,
            "{\n  // mine\n  \"b\": 1,\n  \"mcpServers\": {\n    \"x\": { \"command\": \"y\" },\n    \
             \"deputize\": {\n      \"args\": [\"mcp\"],\n      \"command\": \"/d\"\n    }\n  }\n}\n"
        );
        assert_eq!(put.made, 0);
        assert_eq!(super::put(&put.text, &server()).unwrap(), None);
    }

    /// H9: in whatever the file holds, taking gives back what putting changed.
    #[test]
    fn what_was_put_can_be_taken() {
        for before in [
            "{}\n",
            "{}",
            "{\n}\n",
            "{\"a\":1}",
            "{ \"mcpServers\": {}, \"hooks\": {\"PreToolUse\": [], \"Other\": [1]} }",
            "{\n\t\"hooks\": {\n\t\t\"PreToolUse\": [\n\t\t\t{\"matcher\": \"X\"}\n\t\t]\n\t}\n}\n",
        ] {
            for entry in [server(), hook()] {
                let put = put(before, &entry).unwrap().unwrap();
                let back = take(&put.text, &entry, put.made).unwrap().unwrap();
                let value = |text: &str| parsed(text).unwrap().to_serde_value();
                assert_eq!(value(&back), value(before), "{before:?} {back:?}");
                assert_eq!(take(before, &entry, 9).unwrap(), None);
            }
        }
    }

    /// H9: somebody else's entry is nobody's to replace or to remove.
    #[test]
    fn another_entry_of_that_name_stays() {
        let other = "{\"mcpServers\": {\"deputize\": {\"command\": \"other\"}}}";
        assert_eq!(
            put(other, &server()),
            Err(Fault::Taken("deputize".to_owned()))
        );
        assert_eq!(take(other, &server(), 1).unwrap(), None);
        for odd in [
            "[]",
            "{\"mcpServers\": 1}",
            "{\"hooks\": {\"PreToolUse\": 1}}",
        ] {
            let entry = if odd.contains("hooks") {
                hook()
            } else {
                server()
            };
            assert!(matches!(put(odd, &entry), Err(Fault::Shape(_))), "{odd}");
            assert_eq!(take(odd, &entry, 1).unwrap(), None, "{odd}");
        }
        for broken in [
            "{",
            "{\"a\" 1}",
            "{'a': 1}",
            "nonsense",
            &"[".repeat(100_000),
        ] {
            assert!(matches!(put(broken, &server()), Err(Fault::Invalid(_))));
        }
    }
}
