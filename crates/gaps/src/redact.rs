//! Removes secrets before anything is stored or sent. When in doubt, it removes too much.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::LazyLock;

use regex::{Regex, RegexSet};
use serde_json::{Map, Number, Value, json};

/// The size limit of one recorded field, in bytes of UTF-8.
pub const FIELD_CAP: usize = 32_768;
/// A text is searched for secrets this far beyond the limit, so that none is cut before it is
/// recognised.
pub const MARGIN: usize = 4_096;
/// The deepest nesting that is followed.
pub const DEPTH_CAP: usize = 64;

const DENIED: [&str; 7] =
    ["password", "passwd", "secret", "token", "apikey", "api_key", "authorization"];
const FIELD: &str = "[REDACTED_FIELD]";
const TOO_DEEP: &str = "[REDACTED_TOO_DEEP]";
const KEY: &str = "[REDACTED_KEY]";
const CARD: &str = "[REDACTED_CARD]";
const TRUNCATED: &str = "…[truncated]";

/// All of [`RULES`] in one pass: most texts have no secret, and need no pass per rule.
static ANY: LazyLock<RegexSet> = LazyLock::new(|| {
    let patterns = RULES.iter().map(|rule| rule.pattern.as_str());
    RegexSet::new(patterns).expect("the rules are tested")
});

/// One kind of secret. Where matches overlap, the first rule provides the marker for the whole.
struct Rule {
    /// If it has a capture group, the group is the secret.
    pattern: Regex,
    /// A check of the match beyond the pattern.
    holds: fn(&str) -> bool,
    marker: &'static str,
}

static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    let rule = |pattern: &str, marker| Rule {
        pattern: Regex::new(pattern).expect("the rules are tested"),
        holds: |_| true,
        marker,
    };
    let card = Rule { holds: is_card, ..rule(r"\d(?:[ -]?\d){12,}", CARD) };
    vec![
        rule(r"[\p{L}\p{N}._%+'-]+@[\p{L}\p{N}.-]+\.\p{L}{2,}", "[REDACTED_EMAIL]"),
        // Not inside a word such as `task-…`.
        rule(r"(?:^|[^A-Za-z0-9])(sk-[A-Za-z0-9_-]{16,})", KEY),
        rule(r"gh[pousr]_[A-Za-z0-9]{20,}", KEY),
        rule(r"github_pat_[A-Za-z0-9_]{20,}", KEY),
        rule(r"(?:AKIA|ASIA)[0-9A-Z]{16,}", KEY),
        rule(r"xox[a-z]-[A-Za-z0-9-]{10,}", KEY),
        rule(r"AIza[A-Za-z0-9_-]{30,}", KEY),
        rule(r"(?i)bearer\s+[A-Za-z0-9._~+/=-]{12,}", "Bearer [REDACTED_KEY]"),
        rule(r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*", "[REDACTED_JWT]"),
        rule(
            r"(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z)",
            KEY,
        ),
        rule(r"://([^\s/:@\[\]]*:[^\s/@]+)@", KEY),
        card,
        rule(
            r"(?:^|[^\p{L}\d])(\+?\d{1,3}[\s.-]?\(?\d{2,4}\)?[\s.-]?\d{3,4}[\s.-]?\d{3,4})(?:[^\p{L}\d]|$)",
            "[REDACTED_PHONE]",
        ),
    ]
});

/// Thirteen to sixteen digits; more only if they are grouped, because several cards may follow each
/// other.
fn is_card(found: &str) -> bool {
    let digits = found.chars().filter(|c| c.is_numeric()).count();
    digits <= 16 || found.contains([' ', '-'])
}

/// Whether a JSON number may be a card number. Numbers of that length are common, so unlike in texts
/// the check digit must be right. No card number begins as the current time in milliseconds or
/// microseconds does.
fn is_card_number(number: &Number) -> bool {
    let whole = number.as_i64().map(i64::unsigned_abs).or_else(|| number.as_u64());
    let text = match (whole, number.as_f64()) {
        (Some(whole), _) => whole.to_string(),
        (None, Some(float)) if float.fract() == 0.0 && float.abs() < 1e16 => {
            format!("{:.0}", float.abs())
        }
        _ => return false,
    };
    let is_time = text.starts_with('1') && text.len() != 15;
    (13..=16).contains(&text.len()) && !is_time && has_check_digit(&text)
}

/// The Luhn checksum: from the right, every second digit counts twice.
fn has_check_digit(digits: &str) -> bool {
    let values = digits.bytes().rev().map(|digit| u32::from(digit - b'0')).enumerate();
    let sum: u32 = values
        .map(|(place, digit)| match (place % 2, digit * 2) {
            (0, _) => digit,
            (_, doubled) => doubled / 10 + doubled % 10,
        })
        .sum();
    sum.is_multiple_of(10)
}

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
    /// Also removes the values of these fields.
    pub fn denying(fields: &[String]) -> Self {
        let own = fields.iter().map(|field| field.to_lowercase());
        let denied = DENIED.iter().map(|&field| field.to_owned()).chain(own).collect();
        Self { denied, patterns: true }
    }

    /// Removes nothing; sizes are still bounded.
    pub fn off() -> Self {
        Self { denied: BTreeSet::new(), patterns: false }
    }

    pub fn denies(&self, field: &str) -> bool {
        self.denied.contains(&field.to_lowercase())
    }

    /// A text without secrets, uncut.
    pub fn text(&self, text: &str) -> String {
        if !self.patterns {
            return text.to_owned();
        }
        let mut text = text.to_owned();
        // A replacement can make its surroundings match another rule.
        loop {
            let secrets = secrets(&text);
            if secrets.is_empty() {
                return text;
            }
            text = without(&text, &secrets, text.len());
        }
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
        while text.len() > room {
            text.truncate(text.floor_char_boundary(room));
            text = self.text(&text);
        }
        text + TRUNCATED
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
            Value::Array(items) => items.iter().map(|item| self.walk(item, depth + 1)).collect(),
            Value::Object(fields) => self.fields(fields, depth).into(),
            Value::Number(number) if is_card_number(number) => CARD.into(),
            plain => plain.clone(),
        }
    }

    fn fields(&self, fields: &Map<String, Value>, depth: usize) -> Map<String, Value> {
        let redacted = fields.iter().map(|(name, value)| {
            let value = if self.denies(name) { FIELD.into() } else { self.walk(value, depth + 1) };
            (self.text(name), value)
        });
        redacted.collect()
    }
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

/// A range of a text that is replaced by the marker of a rule.
struct Secret {
    place: Range<usize>,
    rule: usize,
}

/// All secrets of a text in order; overlapping ones are merged.
fn secrets(text: &str) -> Vec<Secret> {
    let mut found: Vec<Secret> = Vec::new();
    for number in &ANY.matches(text) {
        let rule = &RULES[number];
        for captures in rule.pattern.captures_iter(text) {
            let place = captures.get(1).or_else(|| captures.get(0)).map(|place| place.range());
            let place = place.filter(|place| (rule.holds)(&text[place.clone()]));
            found.extend(place.map(|place| Secret { place, rule: number }));
        }
    }
    found.sort_by_key(|secret| (secret.place.start, secret.rule));
    let mut merged: Vec<Secret> = Vec::with_capacity(found.len());
    for secret in found {
        match merged.last_mut() {
            Some(last) if secret.place.start < last.place.end => {
                last.place.end = last.place.end.max(secret.place.end);
                last.rule = last.rule.min(secret.rule);
            }
            _ => merged.push(secret),
        }
    }
    merged
}

/// The text up to `end`, with markers for the secrets that begin before it.
fn without(text: &str, secrets: &[Secret], end: usize) -> String {
    let mut kept = String::with_capacity(end);
    let mut at = 0;
    for secret in secrets.iter().take_while(|secret| secret.place.start < end) {
        kept.push_str(&text[at..secret.place.start]);
        kept.push_str(RULES[secret.rule].marker);
        at = secret.place.end;
    }
    if at < end {
        kept.push_str(&text[at..end]);
    }
    kept
}
