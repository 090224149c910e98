//! JSON of anything, in no more memory than is of use.

use std::io::{Result, Write};

use kenning_gaps::redact::FIELD_CAP;
use serde::Serialize;

/// Longer texts are not kept: they would become a marker anyway.
pub(crate) const KEPT: usize = 4 * FIELD_CAP;

/// What became of a value.
pub(crate) enum Written {
    Whole(Box<str>),
    /// How many bytes it would have been.
    TooBig(usize),
    Unwritable,
}

pub(crate) fn write(value: &impl Serialize) -> Written {
    let mut writer = Bounded { kept: Vec::new(), size: 0 };
    if serde_json::to_writer(&mut writer, value).is_err() {
        return Written::Unwritable;
    }
    if writer.size > KEPT {
        return Written::TooBig(writer.size);
    }
    String::from_utf8(writer.kept).map_or(Written::Unwritable, |text| Written::Whole(text.into()))
}

/// Keeps what fits and counts the rest.
struct Bounded {
    kept: Vec<u8>,
    size: usize,
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.size += bytes.len();
        if self.size <= KEPT {
            self.kept.extend_from_slice(bytes);
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
    fn what_does_not_fit_is_measured() {
        let Written::Whole(text) = write(&"x".repeat(KEPT - 2)) else { panic!("it just fits") };
        assert_eq!(text.len(), KEPT);
        assert!(
            matches!(write(&"x".repeat(KEPT - 1)), Written::TooBig(bytes) if bytes == KEPT + 1)
        );
    }

    #[test]
    fn what_is_no_json_is_nothing() {
        let keys_are_no_text = std::collections::BTreeMap::from([(vec![1], 2)]);
        assert!(matches!(write(&keys_are_no_text), Written::Unwritable));
    }
}
