//! Schemas of the tools' input, from the types, in the part of JSON Schema that every provider reads.

use rmcp::model::JsonObject;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

/// The schema of a type, without references and without what only some readers know.
pub(crate) fn of<T: JsonSchema>() -> JsonObject {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    let schema = settings.into_generator().into_root_schema_for::<T>();
    let mut value = schema.to_value();
    plain(&mut value);
    match value {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    }
}

fn plain(value: &mut Value) {
    match value {
        Value::Object(object) => {
            for name in ["$schema", "title", "format", "default"] {
                // A property may be called so; a keyword is never an object.
                if object.get(name).is_some_and(|value| !value.is_object()) {
                    object.remove(name);
                }
            }
            // What can be left out needn't be null too.
            if let Some(Value::Array(types)) = object.get_mut("type") {
                types.retain(|kind| kind != "null");
                if let [one] = types.as_slice() {
                    let one = one.clone();
                    object.insert("type".to_owned(), one);
                }
            }
            object.values_mut().for_each(plain);
        }
        Value::Array(items) => items.iter_mut().for_each(plain),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::Subagent;

    /// H2, S4: the schema names what there is, and nothing that would allow anything.
    #[test]
    fn h2_the_schema_of_a_task_is_plain_and_allows_nothing() {
        let schema = Value::Object(of::<Subagent>());
        let text = schema.to_string();
        for absent in ["$ref", "null", "\"format\"", "allow", "rules", "budget"] {
            assert!(!text.contains(absent), "{absent} in {text}");
        }
        assert_eq!(schema["additionalProperties"], false);
        assert_eq!(schema["properties"]["ports"]["items"]["type"], "integer");
        assert_eq!(
            schema["properties"]["tasks"]["items"]["required"][0],
            "prompt"
        );
    }
}
