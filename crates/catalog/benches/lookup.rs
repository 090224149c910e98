//! Loads the catalog and looks up by name, by alias, and by a ranked match without a model.

use divan::Bencher;
use kenning_catalog::Catalog;
use kenning_catalog::lookup::LookupRequest;

fn main() {
    divan::main();
}

#[divan::bench]
fn load(bencher: Bencher<'_, '_>) {
    bencher.bench_local(Catalog::bundled);
}

#[divan::bench(args = ["MCP Support", "model context protocol", "undo what it did"])]
fn lookup(bencher: Bencher<'_, '_>, capability: &str) {
    let catalog = Catalog::bundled();
    let request =
        LookupRequest { agent: "claude-code".to_owned(), capability: capability.to_owned() };
    bencher.bench_local(|| catalog.lookup(&request, &|_| None).expect("an answer"));
}
