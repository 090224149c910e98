//! Measures loading the model, embedding a query, and embedding passages.

use divan::Bencher;
use divan::counter::ItemsCount;
use kenning_embed::{Embedder, Passage};

fn main() {
    divan::main();
}

#[divan::bench(sample_count = 10, sample_size = 1)]
fn load() -> Embedder {
    Embedder::bundled().expect("the bundled model")
}

#[divan::bench(sample_count = 100, sample_size = 1)]
fn query(bencher: Bencher<'_, '_>) {
    let embedder = load();
    bencher.bench_local(|| embedder.embed("how do I rotate the keys that sign our access tokens"));
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
