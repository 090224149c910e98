//! The current time, which the domain crates are given and never read themselves.

use std::time::Duration;

use chrono::{NaiveDate, Utc};

/// Milliseconds since 1970.
pub(super) fn now() -> u64 {
    u64::try_from(Utc::now().timestamp_millis()).unwrap_or_default()
}

/// The moment that was `age` ago, in milliseconds since 1970.
pub(super) fn before(age: Duration) -> u64 {
    now().saturating_sub(u64::try_from(age.as_millis()).unwrap_or(u64::MAX))
}

pub(super) fn today() -> NaiveDate {
    Utc::now().date_naive()
}
