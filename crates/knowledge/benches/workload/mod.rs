//! What the benchmarks of search and recommendations share: tasks, settings, vectors, measurements.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use kenning_knowledge::discover::{DiscoverRequest, Discovery, TaskType};
use kenning_knowledge::semantic::{CacheError, Embedded, TextKey, VectorCache};
use kenning_knowledge::{Base, Library};

use crate::corpus::Random;

pub(crate) const TASKS: &[&str] = &[
    "find out why deployments do not recover from a storage failure",
    "rotate the secret key of the billing service without a restart",
    "write a runbook for rolling back a canary release",
    "add a webhook that tells carriers about new shipments",
    "make the tenant migration of the order table safe to retry",
];

pub(crate) fn open(root: &Path) -> Library {
    let base = Base::new("bench", root, &["**/*.md".to_owned()], &[]).expect("a base");
    Library::open(vec![base], &|_, _| {}).expect("a library")
}

pub(crate) fn discovery() -> Discovery {
    Discovery {
        default_max_results: 5,
        min_relevance_threshold: 0.0,
        boost_active_status: 1.2,
        boost_recent_update_days: 30,
        boost_recent_update_factor: 1.1,
        boosts: BTreeMap::new(),
    }
}

pub(crate) fn discover(library: &Library, task: &str, discovery: &Discovery) {
    let request = DiscoverRequest {
        task_description: task.to_owned(),
        task_type: Some(TaskType::Implement),
        current_file: None,
        max_results: None,
        token_budget: None,
    };
    let found = library.snapshot().discover(&request, discovery).expect("a response");
    assert!(!found.recommendations.is_empty(), "nothing was found");
}

/// The times of `rounds` runs, each with the next of [`TASKS`].
pub(crate) fn measure(rounds: usize, mut run: impl FnMut(&str)) -> Vec<Duration> {
    let times = (0..rounds).map(|round| {
        let task = unasked(TASKS[round % TASKS.len()]);
        let started = Instant::now();
        run(&task);
        started.elapsed()
    });
    times.collect()
}

/// The same words with other white space between the last two, so that the vector of the task is not
/// that of an earlier run, which the model keeps.
fn unasked(task: &str) -> String {
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    let blanks = format!("{:b}", ASKED.fetch_add(1, Ordering::Relaxed));
    let blanks = blanks.replace('0', " ").replace('1', "\t");
    let (before, last) = task.rsplit_once(' ').expect("a task has several words");
    format!("{before} {blanks}{last}")
}

/// A percentile of the times, in milliseconds.
pub(crate) fn percentile(mut times: Vec<Duration>, percent: usize) -> f64 {
    times.sort();
    times[(times.len() * percent / 100).min(times.len() - 1)].as_secs_f64() * 1e3
}

/// A line of `/proc/self/status`, such as `VmRSS:`, in megabytes.
pub(crate) fn memory_mb(line: &str) -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|found| found.starts_with(line)).unwrap_or_default();
    let kb = line.split_whitespace().nth(1).and_then(|kb| kb.parse::<f64>().ok());
    kb.unwrap_or(0.0) / 1024.0
}

/// A cache that has a random vector for every text. Computing real ones takes hours and changes no
/// time that is measured here.
pub(crate) struct RandomVectors;

impl VectorCache for RandomVectors {
    fn load(&self, _: &str, keys: &[TextKey]) -> Result<HashMap<TextKey, Embedded>, CacheError> {
        Ok(keys.iter().map(|key| (*key, random(*key))).collect())
    }

    fn save(&self, _: &str, _: &[(TextKey, &Embedded)]) -> Result<(), CacheError> {
        Ok(())
    }
}

fn random(key: TextKey) -> Embedded {
    let seed = key.as_bytes().iter().fold(1, |seed: u64, byte| seed * 31 + u64::from(*byte) + 1);
    let mut random = Random(seed);
    let vector: Vec<f32> = (0..384).map(|_| (random.next() % 2_001) as f32 - 1_000.0).collect();
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    Embedded {
        windows: std::iter::once(0..1).collect(),
        vectors: vector.iter().map(|x| x / length).collect(),
    }
}
