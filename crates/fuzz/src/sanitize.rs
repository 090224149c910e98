//! Text with hidden characters.

use kenning_sanitize::{has_hidden, sanitize, sanitize_value};
use serde_json::Value;

/// Sanitised text hides nothing, alone and inside JSON, and sanitising twice changes nothing.
pub(crate) fn sanitized(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let once = sanitize(&text);
    assert!(!has_hidden(&once));
    assert_eq!(sanitize(&once), once);
    let Ok(mut value) = serde_json::from_str::<Value>(&text) else { return };
    sanitize_value(&mut value);
    assert!(texts(&value).iter().all(|text| !has_hidden(text)));
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
