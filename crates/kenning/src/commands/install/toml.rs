//! Servers in a TOML file.

use serde_json::{Map, Value};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike};

use super::config::Unusable;

pub(super) fn servers(text: &str, keys: &[String]) -> Result<Vec<(String, Value)>, Unusable> {
    let document: Value =
        toml_edit::de::from_str(text).map_err(|error| Unusable(invalid(&error.to_string())))?;
    let mut listed = &document;
    for key in keys {
        listed = match listed.get(key) {
            None => return Ok(Vec::new()),
            Some(inner) if inner.is_object() => inner,
            Some(_) => return Err(not_a_table(key)),
        };
    }
    let pairs = listed.as_object().into_iter().flatten();
    Ok(pairs.map(|(name, value)| (name.clone(), value.clone())).collect())
}

pub(super) fn put(
    text: &str,
    keys: &[String],
    name: &str,
    entry: &Map<String, Value>,
) -> Result<String, Unusable> {
    with_newlines(text, |text| {
        let mut document = parse(text)?;
        let mut table: &mut dyn TableLike = document.as_table_mut();
        for key in keys {
            table = inner(table, key)?;
        }
        if let Some(existing) = table.get_mut(name) {
            let existing = existing.as_table_like_mut().ok_or_else(|| not_a_table(name))?;
            set_fields(existing, entry);
            return Ok(document.to_string());
        }
        let mut added = Table::new();
        set_fields(&mut added, entry);
        if !text.trim().is_empty() {
            added.decor_mut().set_prefix("\n");
        }
        let text_added = added.to_string();
        table.insert(name, Item::Table(added));
        Ok(with_trailing_before(document, keys, name, &text_added))
    })
}

pub(super) fn remove(text: &str, keys: &[String], name: &str) -> Result<String, Unusable> {
    with_newlines(text, |text| {
        let mut document = parse(text)?;
        let mut table: &mut dyn TableLike = document.as_table_mut();
        for key in keys {
            let Some(item) = table.get_mut(key) else { return Ok(text.to_owned()) };
            table = item.as_table_like_mut().ok_or_else(|| not_a_table(key))?;
        }
        let removed = table.remove(name);
        let left = document.to_string();
        // `put` moved comments at the end of the file above the table; they go back to the end.
        let prefix = removed.as_ref().and_then(Item::as_table).and_then(|t| t.decor().prefix());
        let prefix = prefix.and_then(|prefix| prefix.as_str()).unwrap_or_default();
        let was_last = text.starts_with(&left);
        Ok(if was_last { left + prefix.strip_suffix('\n').unwrap_or(prefix) } else { left })
    })
}

fn parse(text: &str) -> Result<DocumentMut, Unusable> {
    let parsed = text.parse::<DocumentMut>();
    parsed.map_err(|error| Unusable(invalid(&error.to_string())))
}

fn inner<'t>(table: &'t mut dyn TableLike, key: &str) -> Result<&'t mut dyn TableLike, Unusable> {
    let item = table.entry(key).or_insert_with(|| {
        let mut created = Table::new();
        // Without a header of its own; its subtables have theirs.
        created.set_implicit(true);
        Item::Table(created)
    });
    item.as_table_like_mut().ok_or_else(|| not_a_table(key))
}

fn set_fields(table: &mut dyn TableLike, entry: &Map<String, Value>) {
    for (key, value) in entry {
        let value = converted(value);
        let is_there = table
            .get(key)
            .is_some_and(|item| item.as_value().is_some_and(|old| plain(old) == plain(&value)));
        if !is_there {
            table.insert(key, Item::Value(value));
        }
    }
}

/// The value without its comments and spaces, for comparison.
fn plain(value: &toml_edit::Value) -> String {
    let mut value = value.clone();
    value.decor_mut().clear();
    if let Some(array) = value.as_array_mut() {
        array.fmt();
    }
    value.to_string()
}

fn converted(value: &Value) -> toml_edit::Value {
    match value {
        Value::Bool(value) => (*value).into(),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => whole.into(),
            None => number.as_f64().unwrap_or_default().into(),
        },
        Value::Array(items) => items.iter().map(converted).collect::<Array>().into(),
        Value::Object(fields) => {
            let pairs = fields.iter().map(|(key, value)| (key.as_str(), converted(value)));
            pairs.collect::<InlineTable>().into()
        }
        Value::String(text) => text.as_str().into(),
        // TOML has no null, and no client's entry needs one.
        Value::Null => "".into(),
    }
}

/// Comments at the end of a file stay before the table that is added after them.
fn with_trailing_before(
    mut document: DocumentMut,
    keys: &[String],
    name: &str,
    added: &str,
) -> String {
    let trailing = document.trailing().as_str().unwrap_or_default().to_owned();
    if trailing.trim().is_empty() {
        return document.to_string();
    }
    document.set_trailing("");
    if !document.to_string().trim_end().ends_with(added.trim()) {
        document.set_trailing(trailing);
        return document.to_string();
    }
    let mut item: Option<&mut Item> = Some(document.as_item_mut());
    for key in keys.iter().map(String::as_str).chain([name]) {
        item = item.and_then(|item| item.get_mut(key));
    }
    if let Some(table) = item.and_then(Item::as_table_mut) {
        table.decor_mut().set_prefix(format!("{}\n\n", trailing.trim_end_matches('\n')));
    }
    document.to_string()
}

/// Edits with `\n` and restores `\r\n` if the text uses it: the parser knows only one of them.
fn with_newlines(
    text: &str,
    edit: impl FnOnce(&str) -> Result<String, Unusable>,
) -> Result<String, Unusable> {
    let lines = text.matches('\n').count();
    if lines > 0 && text.matches("\r\n").count() == lines {
        return Ok(edit(&text.replace("\r\n", "\n"))?.replace('\n', "\r\n"));
    }
    edit(text)
}

fn invalid(problem: &str) -> String {
    format!("it is not valid TOML: {}", problem.trim_end())
}

fn not_a_table(key: &str) -> Unusable {
    Unusable(format!("`{key}` in it is not a table"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(before: &str, after: &str) {
        let keys = ["s".to_owned()];
        let entry = json!({"command": "k", "args": ["serve"]});
        let put = put(before, &keys, "k", entry.as_object().unwrap()).unwrap();
        assert_eq!(put, after);
        assert!(servers(&put, &keys).unwrap().contains(&("k".to_owned(), entry)));
        assert_eq!(remove(&put, &keys, "k").unwrap(), before);
    }

    const ENTRY: &str = "[s.k]\ncommand = \"k\"\nargs = [\"serve\"]\n";

    #[test]
    fn the_entry_is_added_at_the_end() {
        check("", ENTRY);
        check("a = 1\n", &format!("a = 1\n\n{ENTRY}"));
        check("[t]\na = 1\n", &format!("[t]\na = 1\n\n{ENTRY}"));
    }

    #[test]
    fn comments_at_the_end_stay_in_place() {
        check("a = 1\n# end\n", &format!("a = 1\n# end\n\n{ENTRY}"));
        check("# only this\n", &format!("# only this\n\n{ENTRY}"));
        check("[s.x]\na = 1\n\n# end\n", &format!("[s.x]\na = 1\n\n# end\n\n{ENTRY}"));
    }

    #[test]
    fn inline_tables_keep_all_servers() {
        let keys = ["s".to_owned()];
        let entry = json!({"command": "k"});
        let put = put("s = { x = { a = 1 } } # all\n", &keys, "k", entry.as_object().unwrap());
        let put = put.unwrap();
        let both = [("x".to_owned(), json!({"a": 1})), ("k".to_owned(), entry)];
        assert_eq!(servers(&put, &keys).unwrap(), both);
        let left = remove(&put, &keys, "k").unwrap();
        assert_eq!(servers(&left, &keys).unwrap(), both[..1]);
        assert!(left.ends_with("# all\n"), "{left}");
    }
}
