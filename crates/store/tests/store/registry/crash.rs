//! A process that is killed while it registers skills.

use std::time::Duration;

use kenning_registry::Registry;
use kenning_registry::get::GetResponse;

use super::fixture::all_of;
use crate::fixture::Fixture;
use crate::killed::{last, run_and_kill};

const SKILLS: u64 = 3_000;
/// Far more than it takes.
const MAX_ROUNDS: u64 = 100;

/// Repeats until it has killed a child three times between the beginning and the end of a
/// registration: which moment a kill hits is left to chance.
pub(crate) fn killed_in_the_middle_of_a_registration(fixture: &Fixture) {
    drop(fixture.registry());
    let mut interrupted = 0;
    for round in 0..MAX_ROUNDS {
        let registrations = 1 + usize::try_from(round % 2).unwrap();
        let pause = Duration::from_millis(3 * (round % 8));
        let printed = run_and_kill("registry", &fixture.location, SKILLS, registrations, pause);
        let got = all_of(&Registry::new(fixture.store()), 11);
        let version = version_of_all(&got);
        let done = last(&printed, "done ").unwrap_or(0);
        assert!(version >= done, "an acknowledged registration is lost");
        interrupted += usize::from(last(&printed, "begun ").unwrap_or(0) > version);
        if interrupted >= 3 && round >= 5 {
            return;
        }
    }
    panic!("only {interrupted} of {MAX_ROUNDS} kills hit a registration");
}

/// The version that all skills have; 0 before the first registration.
fn version_of_all(got: &GetResponse) -> u64 {
    let Some(one) = got.capabilities.first() else { return 0 };
    assert_eq!(got.total_count as u64, SKILLS, "a registration is stored in part");
    assert!(got.capabilities.iter().all(|other| other.version == one.version));
    one.version.split('.').next().unwrap().parse().unwrap()
}
