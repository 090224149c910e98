//! A folder of 2,000 files: first read, sync without changes, sync after one edit, search.

mod corpus;

use std::fs;
use std::path::Path;

use divan::Bencher;
use kenning_knowledge::search::{SearchRequest, SearchType};
use kenning_knowledge::{Base, Library};

const FILES: usize = 2_000;
const SECTIONS: usize = 8;

fn main() {
    divan::main();
}

#[divan::bench(sample_count = 5, sample_size = 1)]
fn open(bencher: Bencher<'_, '_>) {
    let folder = corpus::write(FILES, SECTIONS);
    bencher.bench_local(|| library(folder.path()));
}

#[divan::bench(sample_count = 10, sample_size = 1)]
fn sync_nothing(bencher: Bencher<'_, '_>) {
    let folder = corpus::write(FILES, SECTIONS);
    let library = library(folder.path());
    bencher.bench_local(|| library.sync(&|_, _| {}).expect("a sync"));
}

#[divan::bench(sample_count = 10, sample_size = 1)]
fn sync_one_edit(bencher: Bencher<'_, '_>) {
    let folder = corpus::write(FILES, SECTIONS);
    let library = library(folder.path());
    let file = folder.path().join("part-3/doc-3.md");
    let mut edits = 0;
    bencher
        .with_inputs(|| {
            edits += 1;
            fs::write(&file, format!("# Edited\nedit number {edits}\n")).expect("a write");
        })
        .bench_local_values(|()| library.sync(&|_, _| {}).expect("a sync"));
}

#[divan::bench]
fn search_keyword(bencher: Bencher<'_, '_>) {
    let folder = corpus::write(FILES, SECTIONS);
    let snapshot = library(folder.path()).snapshot();
    let request = SearchRequest {
        query: "how do deployments recover from storage failures".to_owned(),
        search_type: SearchType::Keyword,
        scope: Vec::new(),
        max_results: 10,
    };
    bencher.bench_local(|| snapshot.search(&request).expect("a response"));
}

fn library(root: &Path) -> Library {
    let base = Base::new("bench", root, &["**/*.md".to_owned()], &[]).expect("a base");
    Library::open(vec![base], &|_, _| {}).expect("a library")
}
