//! A folder of 2,000 files: read from nothing, synced when nothing or one file changed, searched.

use std::fs;
use std::path::Path;

use divan::Bencher;
use kenning_knowledge::search::{SearchRequest, SearchType};
use kenning_knowledge::{Base, Library};
use tempfile::TempDir;

const FILES: usize = 2_000;
const SECTIONS: usize = 8;

fn main() {
    divan::main();
}

#[divan::bench(sample_count = 5, sample_size = 1)]
fn open(bencher: Bencher<'_, '_>) {
    let folder = corpus();
    bencher.bench_local(|| library(folder.path()));
}

#[divan::bench(sample_count = 10, sample_size = 1)]
fn sync_nothing(bencher: Bencher<'_, '_>) {
    let folder = corpus();
    let library = library(folder.path());
    bencher.bench_local(|| library.sync(&|_, _| {}).expect("a sync"));
}

#[divan::bench(sample_count = 10, sample_size = 1)]
fn sync_one_edit(bencher: Bencher<'_, '_>) {
    let folder = corpus();
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
    let folder = corpus();
    let snapshot = library(folder.path()).snapshot();
    let request = SearchRequest {
        query: "how do deployments recover from storage failures".to_owned(),
        search_type: SearchType::Keyword,
        scope: Vec::new(),
        max_results: 10,
    };
    bencher.bench_local(|| snapshot.search(&request).expect("an answer"));
}

fn library(root: &Path) -> Library {
    let base = Base::new("bench", root, &["**/*.md".to_owned()], &[]).expect("a base");
    Library::open(vec![base], &|_, _| {}).expect("a library")
}

/// 16,000 sections of some 120 words, drawn from a vocabulary in which words are as uneven as in
/// prose.
fn corpus() -> TempDir {
    let folder = TempDir::new().expect("a folder");
    let mut random = Random(42);
    for file in 0..FILES {
        let mut text =
            format!("# Document {file}\n- id: doc{file}\n- status: active\n<!-- content -->\n");
        for section in 0..SECTIONS {
            text += &format!("## {} {} {section}\n", random.word(), random.word());
            for n in 0..120 {
                text += random.word();
                text.push(if n % 12 == 11 { '\n' } else { ' ' });
            }
            text += "\n```sh\n# not a heading\necho done\n```\n";
        }
        let path = folder.path().join(format!("part-{}/doc-{file}.md", file % 20));
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
    folder
}

const WORDS: &str = "the of to a service request data user cluster node pod container deploy \
    deployment storage volume network policy security token secret key rotate backup restore \
    failure recover recovery retry timeout queue worker job schedule index query table column \
    migration schema tenant billing invoice order shipment carrier parcel label webhook event \
    stream log metric trace alert incident runbook release rollback canary feature flag test \
    fixture snapshot golden review comment style naming error result option trait module crate \
    binary package registry version upgrade downgrade compatibility protocol server client";

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn word(&mut self) -> &'static str {
        let words: Vec<&str> = WORDS.split_whitespace().collect();
        let spread = self.next() % words.len() as u64;
        let at = self.next() % (spread + 1);
        words[usize::try_from(at).expect("a small number")]
    }
}
