//! What a number of nodes takes, in time and in memory:
//! `cargo bench --workspace --bench growth -- nodes 100000`.
//!
//! One process for each number, so that the memory is its own. Prints a line of JSON. Vectors are
//! random: computing real ones takes hours and changes no time here.

mod corpus;

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kenning_knowledge::discover::{DiscoverRequest, Discovery, TaskType};
use kenning_knowledge::search::{SearchRequest, SearchType};
use kenning_knowledge::semantic::{
    CacheError, Embedded, Indexer, ModelSource, TextKey, VectorCache,
};
use kenning_knowledge::{Base, Library};

/// Below the file's own heading: eight nodes in each file.
const SECTIONS: usize = 7;
const ASKED: usize = 100;
const EDITS: usize = 3;
/// No more edits once they took so long.
const ENOUGH: Duration = Duration::from_secs(10);
const TASKS: &[&str] = &[
    "find out why deployments do not recover from a storage failure",
    "rotate the secret key of the billing service without a restart",
    "write a runbook for rolling back a canary release",
    "add a webhook that tells carriers about new shipments",
    "make the tenant migration of the order table safe to retry",
];

fn main() {
    // Whoever runs all targets as tests names nothing.
    let words: Vec<String> = std::env::args().skip_while(|word| word != "nodes").collect();
    let Some(nodes) = words.iter().find_map(|word| word.parse::<usize>().ok()) else { return };
    let folder = corpus::write(nodes.div_ceil(SECTIONS + 1), SECTIONS);
    let before = memory_mb("VmRSS:");
    let started = Instant::now();
    let library = Arc::new(open(folder.path()));
    let read_ms = milliseconds(started.elapsed());
    eprintln!("{nodes} nodes are read after {read_ms:.0} ms");
    let keyword_ms = ask(|task| search(&library, task, SearchType::Keyword));
    let keyword_mb = memory_mb("VmRSS:");
    let edit_keyword_ms = edit(folder.path(), || drop(library.sync(&|_, _| {}).expect("a sync")));

    let model = ModelSource::Bundled.load().expect("the model");
    let mut indexer = Indexer::new(library.clone(), Arc::new(RandomVectors), model.clone());
    let started = Instant::now();
    indexer.catch_up(&|_, _| {}).expect("vectors");
    let vectors_ms = milliseconds(started.elapsed());
    eprintln!("their vectors are there after {vectors_ms:.0} ms");
    let edit_meaning_ms = edit(folder.path(), || {
        library.sync(&|_, _| {}).expect("a sync");
        indexer.catch_up(&|_, _| {}).expect("vectors");
    });
    let embed_ms = ask(|task| drop(std::hint::black_box(model.embed(task).expect("a vector"))));
    let hybrid_ms = ask(|task| search(&library, task, SearchType::Hybrid));
    let discovery = discovery();
    let discover_ms = ask(|task| discover(&library, task, &discovery));
    println!(
        "{{\"size\": {}, \"read_ms\": {read_ms:.2}, \"keyword_ms\": {keyword_ms:.3}, \
         \"edit_keyword_ms\": {edit_keyword_ms:.2}, \"vectors_ms\": {vectors_ms:.2}, \
         \"edit_meaning_ms\": {edit_meaning_ms:.2}, \"embed_ms\": {embed_ms:.3}, \
         \"hybrid_ms\": {hybrid_ms:.3}, \"discover_ms\": {discover_ms:.3}, \
         \"keyword_mb\": {:.1}, \"memory_mb\": {:.1}, \"peak_mb\": {:.1}, \"files_mb\": {:.1}}}",
        library.snapshot().node_count(),
        keyword_mb - before,
        memory_mb("VmRSS:"),
        memory_mb("VmHWM:"),
        size_mb(folder.path()),
    );
}

fn open(root: &Path) -> Library {
    let base = Base::new("bench", root, &["**/*.md".to_owned()], &[]).expect("a base");
    Library::open(vec![base], &|_, _| {}).expect("a library")
}

fn search(library: &Library, query: &str, search_type: SearchType) {
    let request =
        SearchRequest { query: query.to_owned(), search_type, scope: Vec::new(), max_results: 10 };
    let found = library.snapshot().search(&request).expect("an answer");
    assert!(!found.results.is_empty(), "nothing was found");
}

fn discovery() -> Discovery {
    Discovery {
        default_max_results: 5,
        min_relevance_threshold: 0.0,
        boost_active_status: 1.2,
        boost_recent_update_days: 30,
        boost_recent_update_factor: 1.1,
        boosts: BTreeMap::new(),
    }
}

fn discover(library: &Library, task: &str, discovery: &Discovery) {
    let request = DiscoverRequest {
        task_description: task.to_owned(),
        task_type: Some(TaskType::Implement),
        current_file: None,
        max_results: None,
        token_budget: None,
    };
    let found = library.snapshot().discover(&request, discovery).expect("an answer");
    assert!(!found.recommendations.is_empty(), "nothing was found");
}

/// Asks again and again, after each of the tasks was asked once; the median.
fn ask(mut question: impl FnMut(&str)) -> f64 {
    for task in TASKS {
        question(task);
    }
    let times = (0..ASKED).map(|round| {
        let started = Instant::now();
        question(TASKS[round % TASKS.len()]);
        started.elapsed()
    });
    median(times.collect())
}

/// Edits one file again and again; the median of what taking it in takes.
fn edit(root: &Path, mut take_in: impl FnMut()) -> f64 {
    let file = root.join("part-3/doc-3.md");
    let mut times: Vec<Duration> = Vec::new();
    while times.len() < EDITS && times.iter().sum::<Duration>() < ENOUGH {
        let text = fs::read_to_string(&file).expect("a file");
        fs::write(&file, format!("{text}\nedit number {}\n", times.len())).expect("a write");
        let started = Instant::now();
        take_in();
        times.push(started.elapsed());
    }
    median(times)
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    milliseconds(times[times.len() / 2])
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn memory_mb(line: &str) -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|found| found.starts_with(line)).unwrap_or_default();
    let kb = line.split_whitespace().nth(1).and_then(|kb| kb.parse::<f64>().ok());
    kb.unwrap_or(0.0) / 1024.0
}

fn size_mb(folder: &Path) -> f64 {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry"));
    let sizes = entries.map(|entry| match entry.metadata().expect("an entry") {
        found if found.is_dir() => size_mb(&entry.path()),
        found => found.len() as f64 / 1024.0 / 1024.0,
    });
    sizes.sum()
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
    Embedded {
        windows: std::iter::once(0..1).collect(),
        vectors: vector.iter().map(|x| x / length).collect(),
    }
}
