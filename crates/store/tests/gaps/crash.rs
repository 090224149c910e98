//! A process that is killed.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use kenning_gaps::Gaps;
use kenning_gaps::ports::{EventStore, Window};

use crate::fixture::{Fixture, HOUR, NOW, all, batch, call_ids, open, request};

const VARIABLE: &str = "KENNING_TEST_GAPS_OF_CHILD";
const SIZE: u64 = 100;

/// Ingests one batch after the other, and prints each one's number when it was accepted. It hears
/// what is asked in them in between.
pub(crate) fn child() {
    let Ok(location) = std::env::var(VARIABLE) else { return };
    let store = open(&location);
    let gaps = Gaps::new(store.clone());
    let kept = store.events(&Window::default()).unwrap().len() as u64;
    for number in kept / SIZE.. {
        let events = (number * SIZE..(number + 1) * SIZE).map(|n| request(n, "export as PDF"));
        let body = serde_json::to_vec(&batch("ann", events.collect())).unwrap();
        println!("\nbegun {number}");
        gaps.ingest(&body, NOW + HOUR).unwrap();
        println!("\ndone {number}");
        if number % 3 == 0 {
            gaps.digest(NOW + HOUR).unwrap();
        }
    }
}

/// Lets a child begin some batches, kills it, and returns how many it was told are kept.
fn kill_in(fixture: &Fixture, batches: usize, pause: Duration) -> u64 {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child", "--nocapture"]).env(VARIABLE, &fixture.location);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let (mut done, mut begun) = (0, 0);
    let mut hear = |line: &str| {
        if let Some(number) = line.strip_prefix("done ") {
            done = number.parse::<u64>().unwrap() + 1;
        }
    };
    while begun < batches {
        let line = lines.next().expect("the child goes on until it is killed");
        begun += usize::from(line.starts_with("begun "));
        hear(&line);
    }
    std::thread::sleep(pause);
    child.kill().unwrap();
    child.wait().unwrap();
    // It may have got further before it was killed.
    lines.for_each(|line| hear(&line));
    done
}

/// Which moment it hits is not for a test to say; whatever it is, nothing is lost.
pub(crate) fn killed_in_the_middle_of_ingest(fixture: &Fixture) {
    drop(fixture.store());
    for round in 0..6 {
        let done = kill_in(fixture, 3 + round, Duration::from_millis(2 * round as u64));
        let ids = call_ids(&fixture.store().events(&Window::default()).unwrap());
        let kept = ids.len() as u64;
        assert!(kept >= done * SIZE, "what was accepted is kept: {kept} of {done} batches");
        assert_eq!(kept % SIZE, 0, "all of a batch or nothing of it");
        assert_eq!(ids, (0..kept).collect::<Vec<_>>());
    }
    let gaps = fixture.gaps();
    gaps.digest(NOW + HOUR).unwrap();
    let kept = fixture.store().events(&Window::default()).unwrap().len() as u64;
    let found = all(&gaps);
    assert_eq!((found.len(), found[0].asks), (1, kept), "every ask is heard, and heard once");
}
