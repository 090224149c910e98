//! Texts that hide something.

use kenning_visible::{hides_something, show, shown as seen};
use serde_json::Value;

/// What is shown hides nothing, alone and in JSON.
pub fn shown(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let once = seen(&text);
    assert!(!hides_something(&once));
    assert_eq!(seen(&once), once);
    let Ok(mut value) = serde_json::from_str::<Value>(&text) else { return };
    show(&mut value);
    assert!(texts(&value).iter().all(|text| !hides_something(text)));
}

fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(fields) => {
            let names = fields.keys().map(String::as_str);
            names.chain(fields.values().flat_map(texts)).collect()
        }
        _ => Vec::new(),
    }
}
