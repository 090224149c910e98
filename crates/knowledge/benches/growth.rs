//! Time and memory by the number of nodes:
//! `cargo bench --workspace --bench growth -- nodes 100000`.
//!
//! Each number is measured in a process of its own, so that the memory is its own. Prints a line of
//! JSON.

mod corpus;
mod workload;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kenning_knowledge::Library;
use kenning_knowledge::search::{SearchRequest, SearchType};
use kenning_knowledge::semantic::{Indexer, ModelSource};
use workload::{RandomVectors, TASKS, discover, discovery, measure, memory_mb, open, percentile};

/// Below the heading of the file: eight nodes in each file.
const SECTIONS: usize = 7;
const QUERIES: usize = 100;
const EDITS: usize = 3;
/// No further edits once they took this long.
const EDIT_TIME: Duration = Duration::from_secs(10);

fn main() {
    // `cargo test --all-targets` runs this without a number.
    let words: Vec<String> = std::env::args().skip_while(|word| word != "nodes").collect();
    let Some(nodes) = words.iter().find_map(|word| word.parse::<usize>().ok()) else { return };
    let folder = corpus::write(nodes.div_ceil(SECTIONS + 1), SECTIONS);
    let before = memory_mb("VmRSS:");
    let started = Instant::now();
    let library = Arc::new(open(folder.path()));
    let read_ms = milliseconds(started.elapsed());
    eprintln!("{nodes} nodes were read in {read_ms:.0} ms");
    let keyword_ms = median_ms(|task| search(&library, task, SearchType::Keyword));
    let keyword_mb = memory_mb("VmRSS:");
    let edit_keyword_ms = edit(folder.path(), || drop(library.sync(&|_, _| {}).expect("a sync")));

    let model = ModelSource::Bundled.load().expect("the model");
    let mut indexer = Indexer::new(library.clone(), Arc::new(RandomVectors), model.clone());
    let started = Instant::now();
    indexer.catch_up(&|_, _| {}).expect("vectors");
    let vectors_ms = milliseconds(started.elapsed());
    eprintln!("their vectors were loaded in {vectors_ms:.0} ms");
    let edit_meaning_ms = edit(folder.path(), || {
        library.sync(&|_, _| {}).expect("a sync");
        indexer.catch_up(&|_, _| {}).expect("vectors");
    });
    let embed_ms =
        median_ms(|task| drop(std::hint::black_box(model.embed(task).expect("a vector"))));
    let hybrid_ms = median_ms(|task| search(&library, task, SearchType::Hybrid));
    let discovery = discovery();
    let discover_ms = median_ms(|task| discover(&library, task, &discovery));
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

fn search(library: &Library, query: &str, search_type: SearchType) {
    let request =
        SearchRequest { query: query.to_owned(), search_type, scope: Vec::new(), max_results: 10 };
    let found = library.snapshot().search(&request).expect("a response");
    assert!(!found.results.is_empty(), "nothing was found");
}

/// The median time of a query, after each task was run once to warm up.
fn median_ms(mut query: impl FnMut(&str)) -> f64 {
    for task in TASKS {
        query(task);
    }
    percentile(measure(QUERIES, query), 50)
}

/// The median time of `apply` after an edit of one file.
fn edit(root: &Path, mut apply: impl FnMut()) -> f64 {
    let file = root.join("part-3/doc-3.md");
    let mut times: Vec<Duration> = Vec::new();
    while times.len() < EDITS && times.iter().sum::<Duration>() < EDIT_TIME {
        let text = fs::read_to_string(&file).expect("a file");
        fs::write(&file, format!("{text}\nedit number {}\n", times.len())).expect("a write");
        let started = Instant::now();
        apply();
        times.push(started.elapsed());
    }
    percentile(times, 50)
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn size_mb(folder: &Path) -> f64 {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry"));
    let sizes = entries.map(|entry| match entry.metadata().expect("an entry") {
        found if found.is_dir() => size_mb(&entry.path()),
        found => found.len() as f64 / 1024.0 / 1024.0,
    });
    sizes.sum()
}
