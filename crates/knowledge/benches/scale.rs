//! 100,000 nodes: what `discover_context` takes beyond embedding the question, and the memory.
//!
//! Prints JSON. Vectors are random: computing real ones takes an hour and changes no time here.

mod corpus;

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kenning_knowledge::discover::{DiscoverRequest, Discovery, TaskType};
use kenning_knowledge::semantic::{
    CacheError, Embedded, Indexer, ModelSource, TextKey, VectorCache,
};
use kenning_knowledge::{Base, Library};
use tempfile::TempDir;

const FILES: usize = 12_500;
const SECTIONS: usize = 7;
const ROUNDS: usize = 300;
const TASKS: &[&str] = &[
    "find out why deployments do not recover from a storage failure",
    "rotate the secret key of the billing service without a restart",
    "write a runbook for rolling back a canary release",
    "add a webhook that tells carriers about new shipments",
    "make the tenant migration of the order table safe to retry",
];

fn main() {
    let folder = corpus::write(FILES, SECTIONS);
    let started = Instant::now();
    let library = Arc::new(library(&folder));
    let read = started.elapsed();
    let model = ModelSource::Bundled.load().expect("the model");
    let mut indexer = Indexer::new(library.clone(), Arc::new(RandomVectors), model.clone());
    indexer.catch_up(&|_, _| {}).expect("vectors");
    let discovery = Discovery {
        default_max_results: 5,
        min_relevance_threshold: 0.0,
        boost_active_status: 1.2,
        boost_recent_update_days: 30,
        boost_recent_update_factor: 1.1,
        boosts: BTreeMap::new(),
    };
    let (mut embedding, mut discovering) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let task = TASKS[round % TASKS.len()];
        let started = Instant::now();
        std::hint::black_box(model.embed(task).expect("a vector"));
        embedding.push(started.elapsed());
        let request = DiscoverRequest {
            task_description: task.to_owned(),
            task_type: Some(TaskType::Implement),
            current_file: None,
            max_results: None,
            token_budget: None,
        };
        let started = Instant::now();
        let found = library.snapshot().discover(&request, &discovery).expect("an answer");
        discovering.push(started.elapsed());
        assert!(!found.recommendations.is_empty());
    }
    println!(
        "{{\"nodes\": {}, \"read_s\": {:.2}, \"embed_p50_ms\": {:.2}, \"embed_p95_ms\": {:.2}, \
         \"discover_p50_ms\": {:.2}, \"discover_p95_ms\": {:.2}, \"memory_mb\": {}}}",
        library.snapshot().node_count(),
        read.as_secs_f64(),
        percentile(&mut embedding, 50),
        percentile(&mut embedding, 95),
        percentile(&mut discovering, 50),
        percentile(&mut discovering, 95),
        memory_mb()
    );
}

fn library(folder: &TempDir) -> Library {
    let base = Base::new("bench", folder.path(), &["**/*.md".to_owned()], &[]).expect("a base");
    Library::open(vec![base], &|_, _| {}).expect("a library")
}

fn percentile(times: &mut [Duration], of: usize) -> f64 {
    times.sort();
    times[(times.len() * of / 100).min(times.len() - 1)].as_secs_f64() * 1e3
}

fn memory_mb() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kb| kb.parse::<u64>().ok()).unwrap_or(0) / 1024
}

struct RandomVectors;

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
    let mut random = corpus::Random(seed);
    let vector: Vec<f32> = (0..384).map(|_| (random.next() % 2_001) as f32 - 1_000.0).collect();
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    Embedded { windows: vec![0..1], vectors: vector.iter().map(|x| x / length).collect() }
}
