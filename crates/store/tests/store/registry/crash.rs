//! A process that is killed while it registers skills.

use std::time::Duration;

use kenning_registry::Registry;
use kenning_registry::get::GetResponse;

use super::fixture::{all_of, bulk, register};
use crate::fixture::{Fixture, open};
use crate::killed::{last, run_and_kill};

const VARIABLE: &str = "KENNING_TEST_STORE_OF_CHILD";
const SKILLS: usize = 3_000;

/// Registers the same skills in one version after the other, and prints the version before and
/// after.
pub(crate) fn child() {
    let Ok(location) = std::env::var(VARIABLE) else { return };
    let registry = Registry::new(open(&location));
    let first = all_of(&registry, 11).revision.0;
    for version in first + 1.. {
        println!("\nbegun {version}");
        register(&registry, bulk(SKILLS, &format!("{version}.0.0"))).unwrap();
        println!("\ndone {version}");
    }
}

/// Repeats until it has killed a child three times between the beginning and the end of a
/// registration: which moment a kill hits is left to chance.
pub(crate) fn killed_in_the_middle_of_a_registration(fixture: &Fixture) {
    drop(fixture.registry());
    let mut interrupted = 0;
    for round in 0.. {
        let registrations = 1 + usize::try_from(round % 2).unwrap();
        let pause = Duration::from_millis(3 * (round % 8));
        let printed = run_and_kill(VARIABLE, &fixture.location, registrations, pause);
        let got = all_of(&Registry::new(fixture.store()), 11);
        let version = version_of_all(&got);
        let done = last(&printed, "done ").unwrap_or(0);
        assert!(version >= done, "an acknowledged registration is lost");
        interrupted += usize::from(last(&printed, "begun ").unwrap_or(0) > version);
        if interrupted >= 3 && round >= 5 {
            return;
        }
    }
}

/// The version that all skills have; 0 before the first registration.
fn version_of_all(got: &GetResponse) -> u64 {
    let Some(one) = got.capabilities.first() else { return 0 };
    assert_eq!(got.total_count, SKILLS, "a registration is stored in part");
    assert!(got.capabilities.iter().all(|other| other.version == one.version));
    one.version.split('.').next().unwrap().parse().unwrap()
}
