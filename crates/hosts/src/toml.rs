//! Entries in TOML, with everything else of the text as it is.

use serde_json::Value;
use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table, TableLike};

use crate::entry::{Entry, Put, sorted};
use crate::fault::Fault;

pub(crate) fn put(text: &str, entry: &Entry) -> Result<Option<Put>, Fault> {
    let mut document = parsed(text)?;
    let mut made = 0;
    let mut table: &mut dyn TableLike = document.as_table_mut();
    let (tables, list) = way(entry);
    for name in tables {
        if !table.contains_key(name) {
            made += 1;
            let mut new = Table::new();
            new.set_implicit(true);
            table.insert(name, Item::Table(new));
        }
        table = table
            .get_mut(name)
            .and_then(Item::as_table_like_mut)
            .ok_or_else(|| Fault::Shape(name.clone()))?;
    }
    match (&entry.name, list) {
        (Some(name), _) => {
            if let Some(there) = table.get(name) {
                return match json(there) == entry.value {
                    true => Ok(None),
                    false => Err(Fault::Taken(name.clone())),
                };
            }
            table.insert(name, item(&entry.value));
        }
        (None, Some(list)) => {
            if !table.contains_key(list) {
                made += 1;
                table.insert(list, Item::ArrayOfTables(ArrayOfTables::new()));
            }
            let there = table.get_mut(list).and_then(Item::as_array_of_tables_mut);
            let there = there.ok_or_else(|| Fault::Shape(list.clone()))?;
            if there
                .iter()
                .any(|one| json(&Item::Table(one.clone())) == entry.value)
            {
                return Ok(None);
            }
            match item(&entry.value) {
                Item::Table(new) => there.push(new),
                _ => return Err(Fault::Shape(list.clone())),
            }
        }
        (None, None) => return Err(Fault::Shape("the top".to_owned())),
    }
    Ok(Some(Put {
        text: document.to_string(),
        made,
    }))
}

pub(crate) fn take(text: &str, entry: &Entry, made: usize) -> Result<Option<String>, Fault> {
    let mut document = parsed(text)?;
    let (tables, list) = way(entry);
    let Some(table) = below(document.as_table_mut(), tables) else {
        return Ok(None);
    };
    match (&entry.name, list) {
        (Some(name), _) => {
            if !table
                .get(name)
                .is_some_and(|item| json(item) == entry.value)
            {
                return Ok(None);
            }
            table.remove(name);
        }
        (None, Some(list)) => {
            let there = table.get_mut(list).and_then(Item::as_array_of_tables_mut);
            let Some(there) = there else { return Ok(None) };
            let position = there
                .iter()
                .position(|one| json(&Item::Table(one.clone())) == entry.value);
            let Some(position) = position else {
                return Ok(None);
            };
            there.remove(position);
        }
        (None, None) => return Ok(None),
    }
    // From the innermost one outwards.
    for length in (0..entry.at.len()).rev().take(made) {
        let (holders, name) = (&entry.at[..length], &entry.at[length]);
        let Some(holder) = below(document.as_table_mut(), holders) else {
            break;
        };
        let is_empty = holder.get(name).is_some_and(|item| match item {
            Item::ArrayOfTables(tables) => tables.is_empty(),
            item => item.as_table_like().is_some_and(TableLike::is_empty),
        });
        if !is_empty {
            break;
        }
        holder.remove(name);
    }
    Ok(Some(document.to_string()))
}

/// The tables on the way, and the list at its end where the entry is an element.
fn way(entry: &Entry) -> (&[String], Option<&String>) {
    match (&entry.name, entry.at.split_last()) {
        (None, Some((list, tables))) => (tables, Some(list)),
        _ => (&entry.at, None),
    }
}

fn below<'a>(top: &'a mut Table, way: &[String]) -> Option<&'a mut dyn TableLike> {
    let mut table: &mut dyn TableLike = top;
    for name in way {
        table = table.get_mut(name)?.as_table_like_mut()?;
    }
    Some(table)
}

fn parsed(text: &str) -> Result<DocumentMut, Fault> {
    text.parse::<DocumentMut>()
        .map_err(|error| Fault::Invalid(error.to_string()))
}

/// An item by what it says, for comparing.
fn json(item: &Item) -> Value {
    match item {
        Item::None => Value::Null,
        Item::Value(value) => json_of(value),
        Item::Table(table) => {
            let members = table.iter();
            Value::Object(
                members
                    .map(|(name, item)| (name.to_owned(), json(item)))
                    .collect(),
            )
        }
        Item::ArrayOfTables(tables) => {
            let tables = tables.iter();
            Value::Array(
                tables
                    .map(|table| json(&Item::Table(table.clone())))
                    .collect(),
            )
        }
    }
}

fn json_of(value: &toml_edit::Value) -> Value {
    use toml_edit::Value as Toml;
    match value {
        Toml::String(text) => Value::String(text.value().clone()),
        Toml::Integer(number) => Value::from(*number.value()),
        Toml::Float(number) => Value::from(*number.value()),
        Toml::Boolean(value) => Value::Bool(*value.value()),
        Toml::Datetime(time) => Value::String(time.value().to_string()),
        Toml::Array(elements) => Value::Array(elements.iter().map(json_of).collect()),
        Toml::InlineTable(table) => {
            let members = table.iter();
            Value::Object(
                members
                    .map(|(name, value)| (name.to_owned(), json_of(value)))
                    .collect(),
            )
        }
    }
}

/// A value as one writes it by hand: tables with heads of their own, lists of tables too.
fn item(value: &Value) -> Item {
    match value {
        Value::Object(members) => {
            let mut table = Table::new();
            for (name, value) in sorted(members) {
                table.insert(name, item(value));
            }
            Item::Table(table)
        }
        Value::Array(elements) if elements.iter().all(Value::is_object) && !elements.is_empty() => {
            let mut tables = ArrayOfTables::new();
            for element in elements {
                if let Item::Table(table) = item(element) {
                    tables.push(table);
                }
            }
            Item::ArrayOfTables(tables)
        }
        other => Item::Value(inline(other)),
    }
}

fn inline(value: &Value) -> toml_edit::Value {
    match value {
        // TOML has no null; no entry of ours has one.
        Value::Null => toml_edit::Value::from(""),
        Value::Bool(value) => toml_edit::Value::from(*value),
        Value::Number(number) => match number.as_i64() {
            Some(number) => toml_edit::Value::from(number),
            None => toml_edit::Value::from(number.as_f64().unwrap_or_default()),
        },
        Value::String(text) => toml_edit::Value::from(text.as_str()),
        Value::Array(elements) => {
            toml_edit::Value::Array(elements.iter().map(inline).collect::<Array>())
        }
        Value::Object(members) => {
            let mut table = InlineTable::new();
            for (name, value) in sorted(members) {
                table.insert(name, inline(value));
            }
            toml_edit::Value::InlineTable(table)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn server() -> Entry {
        Entry {
            at: vec!["mcp_servers".to_owned()],
            name: Some("deputize".to_owned()),
            value: json!({ "command": "/d", "args": ["mcp"] }),
        }
    }

    fn hook() -> Entry {
        Entry {
            at: vec!["hooks".to_owned(), "PreToolUse".to_owned()],
            name: None,
            value: json!({
                "matcher": "Bash",
                "hooks": [{ "type": "command", "command": "/d gate", "timeout": 10 }],
            }),
        }
    }

    /// H9: what a person wrote stays, and the entry looks as if they had.
    #[test]
    fn an_entry_is_added_in_the_files_own_style() {
        let before = "model = \"x\" # mine\n\n[mcp_servers.other]\ncommand = \"y\"\n";
        let server = put(before, &server()).unwrap().unwrap();
        assert_eq!(
            server.text,
            format!("{before}\n[mcp_servers.deputize]\nargs = [\"mcp\"]\ncommand = \"/d\"\n")
        );
        let hook = put(before, &hook()).unwrap().unwrap();
        assert_eq!(
            hook.text,
            format!(
                "{before}\n[[hooks.PreToolUse]]\nmatcher = \"Bash\"\n\n[[hooks.PreToolUse.hooks]]\n\
                 command = \"/d gate\"\ntimeout = 10\ntype = \"command\"\n"
            )
        );
        assert_eq!((server.made, hook.made), (0, 2));
    }

    /// H9: in whatever the file holds, taking gives back what putting changed.
    #[test]
    fn what_was_put_can_be_taken() {
        for before in [
            "",
            "# nothing but words\n",
            "a = 1\n[mcp_servers]\n",
            "mcp_servers = { x = { command = \"y\" } }\n",
            "[[hooks.PreToolUse]]\nmatcher = \"X\"\n\n[[hooks.Stop]]\na = 1\n",
        ] {
            for entry in [server(), hook()] {
                let put = put(before, &entry).unwrap().unwrap();
                assert_eq!(super::put(&put.text, &entry).unwrap(), None, "{before:?}");
                let back = take(&put.text, &entry, put.made).unwrap().unwrap();
                assert_eq!(back, before);
                assert_eq!(take(before, &entry, 9).unwrap(), None);
            }
        }
    }

    /// H9: somebody else's entry is nobody's to replace or to remove.
    #[test]
    fn another_entry_of_that_name_stays() {
        let other = "[mcp_servers.deputize]\ncommand = \"other\"\n";
        assert_eq!(
            put(other, &server()),
            Err(Fault::Taken("deputize".to_owned()))
        );
        assert_eq!(take(other, &server(), 1).unwrap(), None);
        let odd = "mcp_servers = 1\nhooks = [1]\n";
        assert!(matches!(put(odd, &server()), Err(Fault::Shape(_))));
        assert!(matches!(put(odd, &hook()), Err(Fault::Shape(_))));
        assert!(matches!(put("a = ", &server()), Err(Fault::Invalid(_))));
    }
}
