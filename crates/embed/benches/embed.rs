//! Measures loading the model, embedding a query, and embedding passages.
//!
//! `KENNING_BENCH_MODEL=FOLDER` measures another model than the built-in one.
//! `xtask/peers/query_embedding.py` embeds the same query with onnxruntime.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use divan::Bencher;
use divan::counter::ItemsCount;
use kenning_embed::{Embedder, Passage};

const QUERY: &str = "how do I rotate the keys that sign our access tokens";

fn main() {
    divan::main();
}

#[divan::bench(sample_count = 10, sample_size = 1)]
fn load() -> Embedder {
    match std::env::var_os("KENNING_BENCH_MODEL") {
        Some(folder) => Embedder::load(Path::new(&folder)).expect("the model in the folder"),
        None => Embedder::bundled().expect("the bundled model"),
    }
}

/// Each query has the same tokens and was not asked before: the white space differs.
#[divan::bench(sample_count = 300, sample_size = 1)]
fn query(bencher: Bencher<'_, '_>) {
    let embedder = load();
    let asked = AtomicUsize::new(0);
    let next = || {
        let blanks = format!("{:b}", asked.fetch_add(1, Ordering::Relaxed));
        format!("{QUERY}{}", blanks.replace('0', " ").replace('1', "\t"))
    };
    bencher.with_inputs(next).bench_local_values(|query| embedder.embed(&query));
}

#[divan::bench]
fn query_again(bencher: Bencher<'_, '_>) {
    let embedder = load();
    bencher.bench_local(|| embedder.embed(QUERY));
}

#[divan::bench(sample_count = 3, sample_size = 1)]
fn passages_of_120_tokens(bencher: Bencher<'_, '_>) {
    let embedder = load();
    let text = "Deploys go out in stages and each stage is watched for errors. ".repeat(9);
    let passages = vec![Passage { title: "Deploy", text: &text }; 128];
    bencher
        .counter(ItemsCount::new(passages.len()))
        .bench_local(|| embedder.embed_passages(&passages));
}
