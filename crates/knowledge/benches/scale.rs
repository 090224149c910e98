//! 100,000 nodes: the time of `discover_context` beyond embedding the query, and the memory.
//!
//! Prints JSON.

mod corpus;
mod workload;

use std::sync::Arc;
use std::time::Instant;

use kenning_knowledge::semantic::{Indexer, ModelSource};
use workload::{RandomVectors, discover, discovery, measure, memory_mb, open, percentile};

const FILES: usize = 12_500;
const SECTIONS: usize = 7;
const ROUNDS: usize = 300;

fn main() {
    let folder = corpus::write(FILES, SECTIONS);
    let started = Instant::now();
    let library = Arc::new(open(folder.path()));
    let read = started.elapsed();
    let model = ModelSource::Bundled.load().expect("the model");
    let mut indexer = Indexer::new(library.clone(), Arc::new(RandomVectors), model.clone());
    indexer.catch_up(&|_, _| {}).expect("vectors");
    let discovery = discovery();
    let embedding = measure(ROUNDS, |task| {
        std::hint::black_box(model.embed(task).expect("a vector"));
    });
    let discovering = measure(ROUNDS, |task| discover(&library, task, &discovery));
    println!(
        "{{\"nodes\": {}, \"read_s\": {:.2}, \"embed_p50_ms\": {:.2}, \"embed_p95_ms\": {:.2}, \
         \"discover_p50_ms\": {:.2}, \"discover_p95_ms\": {:.2}, \"memory_mb\": {:.0}}}",
        library.snapshot().node_count(),
        read.as_secs_f64(),
        percentile(embedding.clone(), 50),
        percentile(embedding, 95),
        percentile(discovering.clone(), 50),
        percentile(discovering, 95),
        memory_mb("VmRSS:").floor(),
    );
}
