//! Removes secrets before anything is stored or sent. When in doubt, it removes too much.
//!
//! A secret is found by how its issuer begins it ([`prefixes`]), by its shape ([`shapes`]) or by the
//! name before it ([`names`], [`assignments`]). All of it takes linear time.

mod assignments;
mod literals;
mod names;
mod prefixes;
mod shapes;
mod values;

use std::collections::BTreeSet;
use std::ops::Range;

use serde_json::{Map, Value, json};

use self::names::Kind;

/// The size limit of one recorded field, in bytes of UTF-8.
pub const FIELD_CAP: usize = 32_768;
/// A text is searched for secrets this far beyond the limit, so that none is cut before it is
/// recognised.
pub const MARGIN: usize = 4_096;
/// The deepest nesting that is followed.
pub const DEPTH_CAP: usize = 64;

/// Fields whose values are removed whatever they are, as mcpeye's contract says.
const DENIED: [&str; 7] =
    ["password", "passwd", "secret", "token", "apikey", "api_key", "authorization"];
const FIELD: &str = "[REDACTED_FIELD]";
const TOO_DEEP: &str = "[REDACTED_TOO_DEEP]";
const KEY: &str = "[REDACTED_KEY]";
const CARD: &str = "[REDACTED_CARD]";
const TRUNCATED: &str = "…[truncated]";

/// Ordinary texts need two or three passes. A text that goes on changing is made to.
const PASSES: usize = 24;

/// Objects that describe a field have its name and its value under such names.
const NAME_FIELDS: [&str; 5] = ["name", "key", "header", "variable", "field"];

/// Removes secrets from texts and values.
#[derive(Debug, Clone)]
pub struct Redactor {
    /// Names of fields whose values are always removed, in lower case.
    denied: BTreeSet<String>,
    patterns: bool,
}

impl Default for Redactor {
    fn default() -> Self {
        Self::denying(&[])
    }
}

impl Redactor {
    /// Also removes the values of these fields, however the words of their names are joined.
    pub fn denying(fields: &[String]) -> Self {
        let own = fields.iter().flat_map(|field| [field.to_lowercase(), joined(field)]);
        let own = own.filter(|field| !field.is_empty());
        let denied = DENIED.iter().map(|&field| field.to_owned()).chain(own).collect();
        Self { denied, patterns: true }
    }

    /// Removes nothing; sizes are still bounded.
    pub fn off() -> Self {
        Self { denied: BTreeSet::new(), patterns: false }
    }

    /// Whether values of a field are removed because of its name.
    pub fn denies(&self, field: &str) -> bool {
        self.always_denies(field)
            || self.patterns && names::classify(field).is_some_and(|kind| kind != Kind::Suspect)
    }

    fn always_denies(&self, field: &str) -> bool {
        self.denied.contains(&field.to_lowercase()) || self.denied.contains(&joined(field))
    }

    /// A text without secrets, uncut.
    pub fn text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        if !self.patterns {
            return text;
        }
        // A replacement can make its surroundings match.
        for _ in 0..PASSES {
            let secrets = secrets(&text);
            if secrets.is_empty() {
                return text;
            }
            text = without(&text, &secrets, text.len());
        }
        KEY.to_owned()
    }

    /// A text without secrets, cut to the size limit.
    pub fn capped_text(&self, text: &str) -> String {
        if text.len() <= FIELD_CAP {
            return self.fitted(self.text(text), text.len());
        }
        let window = &text[..text.floor_char_boundary(FIELD_CAP + MARGIN)];
        let mut end = text.floor_char_boundary(FIELD_CAP);
        if !self.patterns {
            return self.fitted(text[..end].to_owned(), text.len());
        }
        let secrets = secrets(window);
        if window.len() < text.len() && !window[end..].contains(char::is_whitespace) {
            // A word that does not end in the window may be an unrecognised secret.
            end = window[..end].rfind(char::is_whitespace).map_or(0, |space| space + 1);
            end = window.ceil_char_boundary(end);
        }
        self.fitted(self.text(&without(window, &secrets, end)), text.len())
    }

    /// Cuts a redacted text to size and marks it. The cut can create a new match, which is redacted
    /// again.
    fn fitted(&self, mut text: String, original: usize) -> String {
        if text.len() <= FIELD_CAP && original <= FIELD_CAP {
            return text;
        }
        let room = FIELD_CAP - TRUNCATED.len();
        for _ in 0..PASSES {
            if text.len() <= room {
                return text + TRUNCATED;
            }
            text.truncate(text.floor_char_boundary(room));
            text = self.text(&text);
        }
        TRUNCATED.to_owned()
    }

    /// A value without secrets, or a marker if it exceeds the size limit.
    pub fn field(&self, value: &Value) -> Value {
        let size = compact_size(value);
        if size > FIELD_CAP {
            return truncated(size);
        }
        let redacted = self.value(value);
        match compact_size(&redacted) {
            size if size > FIELD_CAP => truncated(size),
            _ => redacted,
        }
    }

    /// [`Self::field`] for JSON text, which is parsed only if it can fit.
    pub fn json_field(&self, json: &str) -> Value {
        if json.len() > 4 * FIELD_CAP {
            return truncated(json.len());
        }
        serde_json::from_str(json).map_or_else(|_| unserializable(), |value| self.field(&value))
    }

    /// A value without secrets, at any depth, in keys as well.
    pub fn value(&self, value: &Value) -> Value {
        if self.patterns { self.walk(value, 0) } else { value.clone() }
    }

    fn walk(&self, value: &Value, depth: usize) -> Value {
        match value {
            Value::String(text) => self.text(text).into(),
            Value::Array(_) | Value::Object(_) if depth >= DEPTH_CAP => TOO_DEEP.into(),
            Value::Array(items) => self.items(items, depth),
            Value::Object(fields) => self.fields(fields, depth).into(),
            Value::Number(number) if shapes::is_card_number(number) => CARD.into(),
            plain => plain.clone(),
        }
    }

    /// In lists of arguments a flag names the item after it.
    fn items(&self, items: &[Value], depth: usize) -> Value {
        let before = std::iter::once(&Value::Null).chain(items);
        let redacted = items.iter().zip(before).map(|(item, before)| {
            let flag = before.as_str().filter(|flag| flag.starts_with('-'));
            self.named(flag.unwrap_or_default(), item, depth + 1)
        });
        redacted.collect()
    }

    fn fields(&self, fields: &Map<String, Value>, depth: usize) -> Map<String, Value> {
        // `{"name": "DB_PASSWORD", "value": …}`
        let described = NAME_FIELDS.iter().find_map(|&name| fields.get(name)?.as_str());
        let redacted = fields.iter().map(|(name, value)| {
            let called = described.filter(|_| name.eq_ignore_ascii_case("value")).unwrap_or(name);
            (self.text(name), self.named(called, value, depth + 1))
        });
        redacted.collect()
    }

    /// A value that stands under a name.
    fn named(&self, name: &str, value: &Value, depth: usize) -> Value {
        if self.always_denies(name) {
            return FIELD.into();
        }
        match names::classify(name) {
            Some(Kind::Suspect) => self.suspect(value, depth),
            Some(_) if holds_secret(name, value) => FIELD.into(),
            _ => self.walk(value, depth),
        }
    }

    /// Under a name that is not only used for secrets, what looks random is one.
    fn suspect(&self, value: &Value, depth: usize) -> Value {
        match value {
            Value::String(text) if values::is_random(text) => FIELD.into(),
            Value::Array(items) if depth < DEPTH_CAP => {
                items.iter().map(|item| self.suspect(item, depth + 1)).collect()
            }
            value => self.walk(value, depth),
        }
    }
}

/// A name without what joins its words.
fn joined(field: &str) -> String {
    field.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Whether a value under the name of a secret can be one.
fn holds_secret(name: &str, value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) => false,
        // A number of secrets, not a secret.
        Value::Number(_) => !name.ends_with(['s', 'S']),
        Value::String(text) => !values::is_keyword(text) && !is_working_directory(name, text),
        Value::Array(_) | Value::Object(_) => true,
    }
}

/// `pwd` is short for two things.
fn is_working_directory(name: &str, text: &str) -> bool {
    let is_path = text.starts_with(['/', '~', '.']) || text.contains(":\\");
    name.eq_ignore_ascii_case("pwd") && is_path
}

/// The marker for a value that is too big.
pub fn truncated(bytes: usize) -> Value {
    json!({ "[truncated]": true, "bytes": bytes })
}

/// The marker for a value that cannot be serialized.
pub fn unserializable() -> Value {
    json!({ "[unserializable]": true })
}

fn compact_size(value: &Value) -> usize {
    let mut counter = Counter(0);
    // A counter never fails to write.
    let _ = serde_json::to_writer(&mut counter, value);
    counter.0
}

struct Counter(usize);

impl std::io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A range of a text that is replaced by a marker.
struct Find {
    place: Range<usize>,
    /// Where secrets overlap, the lowest provides the marker for the whole.
    rank: usize,
    marker: &'static str,
}

/// All secrets of a text in order; overlapping ones are merged.
fn secrets(text: &str) -> Vec<Find> {
    let mut found: Vec<Find> = Vec::new();
    shapes::find(text, &mut found);
    literals::find(text, &mut found);
    found.sort_by_key(|secret| (secret.place.start, secret.rank));
    let mut merged: Vec<Find> = Vec::with_capacity(found.len());
    for secret in found {
        match merged.last_mut() {
            Some(last) if secret.place.start < last.place.end => {
                last.place.end = last.place.end.max(secret.place.end);
                if secret.rank < last.rank {
                    (last.rank, last.marker) = (secret.rank, secret.marker);
                }
            }
            _ => merged.push(secret),
        }
    }
    merged
}

/// The text up to `end`, with markers for the secrets that begin before it.
fn without(text: &str, secrets: &[Find], end: usize) -> String {
    let mut kept = String::with_capacity(end);
    let mut at = 0;
    for secret in secrets.iter().take_while(|secret| secret.place.start < end) {
        kept.push_str(&text[at..secret.place.start]);
        kept.push_str(secret.marker);
        at = secret.place.end;
    }
    if at < end {
        kept.push_str(&text[at..end]);
    }
    kept
}
