//! Stops the database now and then, and knows when it was away.

use std::sync::Mutex;
use std::time::Duration;

use kenning_testkit::Postgres;

use super::{Interval, LOCK, Scenario};

const LENGTH: Duration = Duration::from_secs(3);
/// The longest time between two outages.
const EVERY: Duration = Duration::from_mins(1);
/// A request that waited for the database may fail a moment after it is back.
const MARGIN: Duration = Duration::from_secs(2);

/// When the database went away, and when it was back, if it is.
#[derive(Debug, Default)]
pub(super) struct Outages(Mutex<Vec<(Duration, Option<Duration>)>>);

impl Outages {
    /// Stops the database once a minute, in turns by an orderly shutdown and by a crash.
    pub(super) fn cause(&self, scenario: &Scenario, postgres: &Postgres, run: Duration) {
        let every = EVERY.min(run.mul_f64(0.4));
        for round in 0.. {
            scenario.pause(every);
            // Not so late that the servers could not recover before the end.
            if scenario.is_finished() || scenario.now() + 2 * LENGTH > run {
                return;
            }
            self.0.lock().expect(LOCK).push((scenario.now(), None));
            if round % 2 == 0 {
                postgres.stop();
            } else {
                postgres.crash();
            }
            scenario.pause(LENGTH);
            postgres.start_again();
            if let Some(last) = self.0.lock().expect(LOCK).last_mut() {
                last.1 = Some(scenario.now());
            }
        }
    }

    /// Whether the database was away at some moment of the interval, or shortly before it.
    pub(super) fn touch(&self, interval: Interval) -> bool {
        self.0.lock().expect(LOCK).iter().any(|(from, until)| {
            *from <= interval.until && until.is_none_or(|until| interval.from <= until + MARGIN)
        })
    }

    /// Whether the database was away during the whole interval.
    pub(super) fn cover(&self, interval: Interval) -> bool {
        self.0.lock().expect(LOCK).iter().any(|(from, until)| {
            *from <= interval.from && until.is_none_or(|until| interval.until <= until)
        })
    }

    /// How many there were, and how long they took together.
    pub(super) fn total(&self) -> (usize, Duration) {
        let outages = self.0.lock().expect(LOCK);
        let lengths =
            outages.iter().filter_map(|(from, until)| Some((*until)?.saturating_sub(*from)));
        (outages.len(), lengths.sum())
    }
}
