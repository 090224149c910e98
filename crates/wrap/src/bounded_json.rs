//! JSON of any value, in no more memory than a recorded field may take.

use std::io::{Result, Write};

use kenning_gaps::Redactor;
use kenning_gaps::redact::{FIELD_CAP, truncated, unserializable};
use serde::Serialize;
use serde_json::Value;

/// Longer texts are not stored: redaction would replace them by a marker anyway.
pub(crate) const LIMIT: usize = 4 * FIELD_CAP;

/// JSON text, or why there is none.
#[derive(Debug)]
pub(crate) enum BoundedJson {
    Text(Box<str>),
    /// The number of bytes that it would have had.
    TooLarge(usize),
    Unserializable,
}

impl BoundedJson {
    pub(crate) fn from_text(json: &str) -> Self {
        if json.len() > LIMIT { Self::TooLarge(json.len()) } else { Self::Text(json.into()) }
    }

    /// Serializes a value, however large, in bounded memory.
    pub(crate) fn of(value: &impl Serialize) -> Self {
        let mut writer = BoundedWriter { text: Vec::new(), size: 0 };
        if serde_json::to_writer(&mut writer, value).is_err() {
            return Self::Unserializable;
        }
        if writer.size > LIMIT {
            return Self::TooLarge(writer.size);
        }
        String::from_utf8(writer.text).map_or(Self::Unserializable, |text| Self::Text(text.into()))
    }

    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::TooLarge(_) | Self::Unserializable => 0,
        }
    }

    pub(crate) fn redacted(&self, redactor: &Redactor) -> Value {
        match self {
            Self::Text(text) => redactor.json_field(text),
            Self::TooLarge(bytes) => truncated(*bytes),
            Self::Unserializable => unserializable(),
        }
    }
}

/// Stores what fits and counts the rest.
struct BoundedWriter {
    text: Vec<u8>,
    size: usize,
}

impl Write for BoundedWriter {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.size += bytes.len();
        if self.size <= LIMIT {
            self.text.extend_from_slice(bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_does_not_fit_is_only_measured() {
        let json = BoundedJson::of(&"x".repeat(LIMIT - 2));
        assert!(matches!(json, BoundedJson::Text(text) if text.len() == LIMIT));
        let json = BoundedJson::of(&"x".repeat(LIMIT - 1));
        assert!(matches!(json, BoundedJson::TooLarge(bytes) if bytes == LIMIT + 1));
    }

    #[test]
    fn a_value_without_a_json_form_is_unserializable() {
        let keys_are_no_text = std::collections::BTreeMap::from([(vec![1], 2)]);
        assert!(matches!(BoundedJson::of(&keys_are_no_text), BoundedJson::Unserializable));
    }
}
