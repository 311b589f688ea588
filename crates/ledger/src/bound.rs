//! Keeps a payload within its size: redacts, then cuts what is too long or too deep, and says so.

use serde_json::{Map, Value};

use crate::{Redactor, canonical::canonical};

/// The most bytes that the payload of one event has in its canonical spelling. An event says what
/// happened; it isn't the place where results are kept.
pub const MAX_PAYLOAD: usize = 64 * 1024;

/// The deepest nesting that is kept; far below the 128 at which JSON readers give up.
const MAX_DEPTH: usize = 48;

/// What is tried in turn until a payload fits: the longest string in bytes, the most items of one
/// list or map.
const CUTS: [(usize, usize); 5] = [(16_384, 1024), (4096, 256), (1024, 64), (256, 16), (64, 8)];

/// Redacts every string of `value` and makes the whole fit [`MAX_PAYLOAD`].
pub(crate) fn fitted(value: Value, redactor: &Redactor) -> Value {
    let clean = cleaned(value, redactor, 0);
    let size = canonical(&clean).len();
    if size <= MAX_PAYLOAD {
        return clean;
    }
    CUTS.into_iter()
        .map(|(text, items)| cut(&clean, text, items))
        .find(|smaller| canonical(smaller).len() <= MAX_PAYLOAD)
        .unwrap_or_else(|| Value::String(format!("[cut: {size} bytes]")))
}

fn cleaned(value: Value, redactor: &Redactor, depth: usize) -> Value {
    match value {
        Value::String(text) => Value::String(redactor.redact(&text).into_owned()),
        // A secret of digits alone must not pass as a number.
        Value::Number(number) => {
            let text = number.to_string();
            match redactor.redact(&text) {
                clean if clean == text.as_str() => Value::Number(number),
                clean => Value::String(clean.into_owned()),
            }
        }
        Value::Array(_) | Value::Object(_) if depth == MAX_DEPTH => {
            Value::String("[cut: nested too deep]".to_owned())
        }
        Value::Array(items) => items
            .into_iter()
            .map(|item| cleaned(item, redactor, depth + 1))
            .collect(),
        Value::Object(fields) => {
            let mut kept = Map::new();
            for (key, item) in fields {
                let item = cleaned(item, redactor, depth + 1);
                kept.insert(free_key(&kept, redactor.redact(&key).into_owned()), item);
            }
            Value::Object(kept)
        }
        Value::Null | Value::Bool(_) => value,
    }
}

fn cut(value: &Value, text_bytes: usize, max_items: usize) -> Value {
    match value {
        Value::String(text) => Value::String(cut_text(text, text_bytes)),
        Value::Array(items) => {
            let left_out = items.len().saturating_sub(max_items);
            items
                .iter()
                .take(max_items)
                .map(|item| cut(item, text_bytes, max_items))
                .chain((left_out > 0).then(|| Value::String(format!("[cut: {left_out} items]"))))
                .collect()
        }
        Value::Object(fields) => {
            // The order in which a map is walked is a library's choice; which keys stay is ours.
            let mut ordered: Vec<(&String, &Value)> = fields.iter().collect();
            ordered.sort_unstable_by_key(|(key, _)| key.as_bytes());
            let left_out = ordered.len().saturating_sub(max_items);
            let mut kept = Map::new();
            for (key, item) in ordered.into_iter().take(max_items) {
                let key = free_key(&kept, cut_text(key, text_bytes));
                kept.insert(key, cut(item, text_bytes, max_items));
            }
            if left_out > 0 {
                let key = free_key(&kept, "[cut]".to_owned());
                kept.insert(key, Value::String(format!("[cut: {left_out} fields]")));
            }
            Value::Object(kept)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// A key that isn't taken yet: two keys can become equal by redaction or cutting.
fn free_key(taken: &Map<String, Value>, key: String) -> String {
    if !taken.contains_key(&key) {
        return key;
    }
    (2_usize..)
        .map(|number| format!("{key} ({number})"))
        .find(|candidate| !taken.contains_key(candidate))
        .unwrap_or(key)
}

fn cut_text(text: &str, max_bytes: usize) -> String {
    if text.len() <= max_bytes {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(max_bytes);
    format!("{}…[cut: {} bytes]", &text[..end], text.len() - end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn fit(value: Value) -> Value {
        let fitted = fitted(value, &Redactor::none());
        assert!(canonical(&fitted).len() <= MAX_PAYLOAD);
        fitted
    }

    #[test]
    fn what_fits_is_left_alone() {
        let value = json!({"text": "x".repeat(60_000), "n": [1, 2, 3]});
        assert_eq!(fit(value.clone()), value);
    }

    #[test]
    fn long_text_is_cut_with_the_number_of_bytes_left_out() {
        let value = fit(json!({"text": "é".repeat(50_000), "short": "stays"}));
        let text = value["text"].as_str().unwrap();
        assert!(
            text.ends_with("é…[cut: 83616 bytes]"),
            "{}",
            &text[16_000..]
        );
        assert_eq!(value["short"], "stays");
    }

    #[test]
    fn controls_that_grow_when_escaped_still_fit() {
        fit(json!({"text": "\u{1}".repeat(60_000)}));
    }

    #[test]
    fn long_lists_and_wide_maps_are_cut() {
        let list = fit(json!((0..100_000).collect::<Vec<u32>>()));
        assert_eq!(list[1024], "[cut: 98976 items]");
        let map: Map<String, Value> = (0..100_000)
            .map(|number| (format!("key{number}"), json!(number)))
            .collect();
        assert_eq!(fit(Value::Object(map))["[cut]"], "[cut: 98976 fields]");
    }

    #[test]
    fn a_broad_tree_is_given_up_with_its_size() {
        let mut value = json!("xxxxxxxx");
        for _ in 0..6 {
            value = Value::Array(vec![value; 8]);
        }
        assert_eq!(fit(value), "[cut: 2958481 bytes]");
    }

    #[test]
    fn deep_nesting_is_cut() {
        let mut value = json!("leaf");
        for _ in 0..100 {
            value = json!([value]);
        }
        assert!(canonical(&fit(value)).contains("nested too deep"));
    }

    #[test]
    fn keys_that_become_equal_are_all_kept() {
        let redactor = Redactor::new(["first-secret", "other-secret"]).unwrap();
        let value = fitted(json!({"first-secret": 1, "other-secret": 2}), &redactor);
        assert_eq!(value.as_object().unwrap().len(), 2);
    }
}
