//! Generates a thousand contents and assembles them into one file.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot be set up must fail")]

#[expect(dead_code, reason = "the tests use the rest")]
#[path = "../tests/compose/fixture.rs"]
mod fixture;

use divan::Bencher;
use kenning_compose::Limits;
use serde_json::json;

use fixture::{Fixture, artifact, content, limited};

const CONTENTS: usize = 1_000;
const TEMPLATE: &str = "## {{ n }}\n{% for i in range(20) %}- item {{ i }}\n{% endfor %}";

fn main() {
    divan::main();
}

fn with_contents() -> Fixture {
    let fixture = limited(Limits { max_artifact_components: CONTENTS, ..Limits::default() });
    for n in 0..CONTENTS {
        let variables = json!([{"name": "n", "default": n}]);
        let pattern = json!({"template": TEMPLATE, "variables": variables});
        fixture.put(&content(&format!("c{n}"), pattern));
    }
    let children: Vec<_> = (0..CONTENTS).map(|n| json!({"id": format!("c{n}")})).collect();
    fixture.put(&artifact("all", "concat", json!(children)));
    fixture
}

#[divan::bench(sample_count = 5)]
fn generate_1000(bencher: Bencher<'_, '_>) {
    bencher.with_inputs(with_contents).bench_local_values(|fixture| {
        for n in 0..CONTENTS {
            fixture.generate(&format!("c{n}"), json!({})).unwrap();
        }
        fixture
    });
}

#[divan::bench(sample_count = 5)]
fn generate_and_assemble_1000(bencher: Bencher<'_, '_>) {
    bencher.with_inputs(with_contents).bench_local_values(|fixture| {
        fixture.assemble("all").unwrap();
        fixture
    });
}

#[divan::bench(sample_count = 5)]
fn assemble_1000_that_are_unchanged(bencher: Bencher<'_, '_>) {
    let fixture = with_contents();
    fixture.assemble("all").unwrap();
    bencher.bench_local(|| fixture.assemble("all").unwrap());
}
