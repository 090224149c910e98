//! A process that is killed while it ingests and extracts.

use std::time::Duration;

use kenning_gaps::ports::{EventStore, Window};

use super::fixture::{HOUR, NOW, all, call_ids};
use crate::fixture::Fixture;
use crate::killed::{last, run_and_kill};

const SIZE: u64 = 100;

/// At which moment the kill hits is left to chance; at none may anything be lost.
pub(crate) fn killed_in_the_middle_of_ingest(fixture: &Fixture) {
    drop(fixture.store());
    for round in 0..6 {
        let pause = Duration::from_millis(2 * round as u64);
        let printed = run_and_kill("gaps", &fixture.location, SIZE, 3 + round, pause);
        let accepted = last(&printed, "done ").map_or(0, |number| number + 1);
        let ids = call_ids(&fixture.store().events(&Window::default()).unwrap());
        let stored = ids.len() as u64;
        assert!(stored >= accepted * SIZE, "an accepted batch is lost: {stored} of {accepted}");
        assert_eq!(stored % SIZE, 0, "a batch is stored in part");
        assert_eq!(ids, (0..stored).collect::<Vec<_>>());
    }
    let gaps = fixture.gaps();
    gaps.extract_asks(NOW + HOUR).unwrap();
    let stored = fixture.store().events(&Window::default()).unwrap().len() as u64;
    let found = all(&gaps);
    assert_eq!((found.len(), found[0].asks), (1, stored), "each ask counts once");
}
