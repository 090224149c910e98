//! A process that is killed.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use kenning_registry::Registry;
use kenning_registry::get::GetResponse;

use crate::fixture::{Fixture, all_of, bulk, open, register};

const VARIABLE: &str = "KENNING_TEST_STORE_OF_CHILD";
const SKILLS: usize = 3_000;

/// Registers the same skills again and again, each time in a new version, and prints the version
/// before it begins and when it is done.
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

/// What a child said before it was killed: the versions that it last did, and last began.
struct LastWords {
    done: u64,
    begun: u64,
}

impl LastWords {
    fn hear(&mut self, line: &str) {
        if let Some(version) = line.strip_prefix("done ") {
            self.done = version.parse().unwrap();
        } else if let Some(version) = line.strip_prefix("begun ") {
            self.begun = version.parse().unwrap();
        }
    }
}

/// Lets a child begin `registrations`, and kills it some time into the last of them.
fn kill_in(fixture: &Fixture, registrations: usize, pause: Duration) -> LastWords {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child", "--nocapture"]).env(VARIABLE, &fixture.location);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let (mut words, mut begun) = (LastWords { done: 0, begun: 0 }, 0);
    while begun < registrations {
        let line = lines.next().expect("the child goes on until it is killed");
        begun += usize::from(line.starts_with("begun "));
        words.hear(&line);
    }
    std::thread::sleep(pause);
    child.kill().unwrap();
    child.wait().unwrap();
    // It may have got further before it was killed.
    lines.for_each(|line| words.hear(&line));
    words
}

/// Goes on until it has killed a child three times between the beginning and the end of a
/// registration: which moment it hits is not for a test to say.
pub(crate) fn killed_in_the_middle_of_a_registration(fixture: &Fixture) {
    drop(fixture.registry());
    let mut interrupted = 0;
    for round in 0.. {
        let registrations = 1 + round % 2;
        let pause = Duration::from_millis(3 * (round % 8));
        let words = kill_in(fixture, usize::try_from(registrations).unwrap(), pause);
        let got = all_of(&Registry::new(fixture.store()), 11);
        let version = version_of_all(&got);
        assert!(version >= words.done, "what was answered is kept");
        interrupted += usize::from(words.begun > version);
        if interrupted >= 3 && round >= 5 {
            return;
        }
    }
}

/// All of a registration is there, or nothing of the first one: version 0.
fn version_of_all(got: &GetResponse) -> u64 {
    let Some(one) = got.capabilities.first() else { return 0 };
    assert_eq!(got.total_count, SKILLS, "all of a registration or nothing of it");
    assert!(got.capabilities.iter().all(|other| other.version == one.version));
    one.version.split('.').next().unwrap().parse().unwrap()
}
