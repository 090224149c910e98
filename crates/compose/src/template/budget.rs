//! How many bytes of values one run may still build and read.

use std::sync::atomic::{AtomicU64, Ordering};

use minijinja::value::{Value, ValueKind};
use minijinja::{Error, ErrorKind};

/// How deep values may nest. A namespace can contain itself, so without this a walk may not end.
const MAX_DEPTH: usize = 64;
/// What a value costs in addition to its text.
const VALUE: u64 = 16;

/// Shared by all filters and operators of one run.
#[derive(Debug)]
pub(crate) struct Budget {
    left: AtomicU64,
}

impl Budget {
    pub(crate) fn new(bytes: u64) -> Self {
        Self { left: AtomicU64::new(bytes) }
    }

    pub(crate) fn spend(&self, bytes: u64) -> Result<(), Error> {
        let taken = self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes));
        taken.map(drop).map_err(|_| {
            self.left.store(0, Ordering::Relaxed);
            Error::new(ErrorKind::InvalidOperation, "the work budget is exhausted")
        })
    }

    pub(crate) fn is_spent(&self) -> bool {
        self.left.load(Ordering::Relaxed) == 0
    }

    /// Charges for a value and everything nested in it.
    pub(crate) fn spend_value(&self, value: &Value) -> Result<(), Error> {
        self.spend_nested(value, 0)
    }

    pub(crate) fn spend_values(&self, values: &[Value]) -> Result<(), Error> {
        values.iter().try_for_each(|value| self.spend_value(value))
    }

    /// Charges for one pass over the items of a value, without descending into them.
    pub(crate) fn spend_length(&self, value: &Value) -> Result<(), Error> {
        match value.kind() {
            ValueKind::String | ValueKind::Bytes => self.spend(VALUE + text_length(value)),
            ValueKind::Seq | ValueKind::Iterable => match value.len() {
                Some(length) => self.spend(VALUE * (1 + length as u64)),
                None => value.try_iter()?.try_for_each(|_| self.spend(VALUE)),
            },
            _ => self.spend(VALUE),
        }
    }

    fn spend_nested(&self, value: &Value, depth: usize) -> Result<(), Error> {
        if depth > MAX_DEPTH {
            let problem = "values are nested too deep";
            return Err(Error::new(ErrorKind::InvalidOperation, problem));
        }
        match value.kind() {
            ValueKind::String | ValueKind::Bytes => self.spend(VALUE + text_length(value)),
            ValueKind::Seq | ValueKind::Iterable => {
                self.spend(VALUE)?;
                value.try_iter()?.try_for_each(|item| self.spend_nested(&item, depth + 1))
            }
            ValueKind::Map => {
                self.spend(VALUE)?;
                value.try_iter()?.try_for_each(|key| {
                    self.spend_nested(&key, depth + 1)?;
                    self.spend_nested(&value.get_item(&key)?, depth + 1)
                })
            }
            _ => self.spend(VALUE),
        }
    }
}

fn text_length(value: &Value) -> u64 {
    value.as_str().map(str::len).or_else(|| value.as_bytes().map(<[u8]>::len)).unwrap_or(0) as u64
}
