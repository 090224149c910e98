//! Measures redacting an argument of 10 KB: prose, JSON in a text, and a text full of secrets.

use divan::Bencher;
use divan::counter::BytesCount;
use kenning_gaps::Redactor;

fn main() {
    divan::main();
}

fn measure(bencher: Bencher<'_, '_>, unit: &str) {
    let text: String = unit.chars().cycle().take(10_000).collect();
    let redactor = Redactor::default();
    redactor.text("the rules are compiled on first use: a@b.co");
    bencher.counter(BytesCount::of_str(&text)).bench_local(|| redactor.text(&text));
}

#[divan::bench(sample_count = 50, sample_size = 4)]
fn prose(bencher: Bencher<'_, '_>) {
    measure(bencher, include_str!("../../../ARCHITECTURE.md"));
}

#[divan::bench(sample_count = 50, sample_size = 4)]
fn arguments(bencher: Bencher<'_, '_>) {
    measure(bencher, include_str!("../tests/gaps/tool_arguments.txt"));
}

#[divan::bench(sample_count = 50, sample_size = 4)]
fn secrets(bencher: Bencher<'_, '_>) {
    measure(bencher, "password=hunter2 jane@example.com {\"token\": \"abc\"} 555-010-9999\n");
}
