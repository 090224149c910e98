//! The database goes away and comes back.

use std::sync::Mutex;
use std::time::Duration;

use kenning_testkit::Postgres;

use super::Field;
use super::shelf::Span;

/// How long it stays away.
const AWAY: Duration = Duration::from_secs(3);
/// The longest time between two outages.
const APART: Duration = Duration::from_mins(1);
/// Whoever waited for the database may be told so a moment after it is back.
const MARGIN: Duration = Duration::from_secs(2);

#[derive(Debug, Default)]
pub(super) struct Outages(Mutex<Vec<(Duration, Option<Duration>)>>);

const WHOLE: &str = "no one panics while noting an outage";

impl Outages {
    /// Stops the database now and then, by turns in order and as a crash.
    pub(super) fn cause(&self, field: &Field, postgres: &Postgres, length: Duration) {
        let apart = APART.min(length.mul_f64(0.4));
        for round in 0.. {
            field.pause(apart);
            // There has to be time to come back.
            if field.is_over() || field.now() + 2 * AWAY > length {
                return;
            }
            self.0.lock().expect(WHOLE).push((field.now(), None));
            if round % 2 == 0 {
                postgres.stop();
            } else {
                postgres.crash();
            }
            field.pause(AWAY);
            postgres.start_again();
            if let Some(last) = self.0.lock().expect(WHOLE).last_mut() {
                last.1 = Some(field.now());
            }
        }
    }

    /// Whether the database may have been away during some of it.
    pub(super) fn touch(&self, span: Span) -> bool {
        let outages = self.0.lock().expect(WHOLE);
        outages.iter().any(|(from, until)| {
            *from <= span.until && until.is_none_or(|until| span.from <= until + MARGIN)
        })
    }

    /// Whether it was away all the time.
    pub(super) fn cover(&self, span: Span) -> bool {
        let outages = self.0.lock().expect(WHOLE);
        outages.iter().any(|(from, until)| {
            *from <= span.from && until.is_none_or(|until| span.until <= until)
        })
    }

    /// How often, and for how long in all.
    pub(super) fn count(&self) -> (usize, Duration) {
        let outages = self.0.lock().expect(WHOLE);
        let away = outages.iter().filter_map(|(from, until)| Some((*until)?.saturating_sub(*from)));
        (outages.len(), away.sum())
    }
}
