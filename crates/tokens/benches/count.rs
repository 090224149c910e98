//! Measures counting tokens of prose, of many languages and of a text without a break.

use divan::Bencher;
use divan::counter::BytesCount;
use kenning_tokens::count_tokens;

fn main() {
    divan::main();
}

fn measure(bencher: Bencher<'_, '_>, text: &str) {
    count_tokens("the vocabulary is read on first use");
    bencher.counter(BytesCount::of_str(text)).bench_local(|| count_tokens(text));
}

#[divan::bench(sample_count = 20, sample_size = 1)]
fn prose(bencher: Bencher<'_, '_>) {
    measure(bencher, &include_str!("../../../ARCHITECTURE.md").repeat(20));
}

#[divan::bench(sample_count = 20, sample_size = 1)]
fn languages(bencher: Bencher<'_, '_>) {
    measure(bencher, &include_str!("../tests/languages.txt").repeat(20));
}

#[divan::bench(sample_count = 20, sample_size = 1)]
fn unbroken(bencher: Bencher<'_, '_>) {
    measure(bencher, &"unbroken".repeat(12_500));
}
