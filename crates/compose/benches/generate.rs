//! A thousand contents, generated and put together.

use divan::Bencher;
use kenning_compose::assemble::AssembleRequest;
use kenning_compose::generate::GenerateRequest;
use kenning_compose::{Compose, Limits, Parts};
use serde_json::json;

const CONTENTS: usize = 1_000;

fn main() {
    divan::main();
}

struct Fixture {
    compose: Compose,
    _folders: (tempfile::TempDir, tempfile::TempDir),
}

fn fixture() -> Fixture {
    let folders = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let configs = folders.0.path().join(".kenning/compose");
    for kind in ["content", "artifact"] {
        std::fs::create_dir_all(configs.join(kind)).expect("a folder");
    }
    for n in 0..CONTENTS {
        let config = json!({
            "type": "content", "id": format!("c{n}"),
            "schemaRef": {"id": "content", "version": "1.0"},
            "metadata": {"description": "d", "version": "1", "output_format": "markdown"},
            "elements": [{"name": "body"}],
            "generation": {"patterns": [{
                "id": "p", "template": "## {{ n }}\n{% for i in range(20) %}- item {{ i }}\n{% endfor %}",
                "variables": [{"name": "n", "default": n}],
            }]},
        });
        let path = configs.join(format!("content/c{n}.json"));
        std::fs::write(path, config.to_string()).expect("a file");
    }
    let children: Vec<_> = (0..CONTENTS).map(|n| json!({"id": format!("c{n}")})).collect();
    let artifact = json!({
        "type": "artifact", "id": "all", "schemaRef": {"id": "artifact", "version": "1.0"},
        "metadata": {
            "title": "t", "purpose": "p", "outputs": [{"file": "ALL.md", "format": "markdown"}],
        },
        "content": {"children": children},
    });
    std::fs::write(configs.join("artifact/all.json"), artifact.to_string()).expect("a file");
    let limits = Limits { max_artifact_components: CONTENTS, ..Limits::default() };
    let parts = Parts { limits, ..Parts::new(folders.0.path(), folders.1.path()) };
    Fixture { compose: Compose::open(parts).expect("an open workspace"), _folders: folders }
}

#[divan::bench(sample_count = 5)]
fn generate_1000(bencher: Bencher<'_, '_>) {
    bencher.with_inputs(fixture).bench_local_values(|fixture| {
        for n in 0..CONTENTS {
            let content_config_id = format!("c{n}");
            let request = GenerateRequest { content_config_id, ..GenerateRequest::default() };
            fixture.compose.generate_content(&request).expect("a content");
        }
        fixture
    });
}

#[divan::bench(sample_count = 5)]
fn generate_and_assemble_1000(bencher: Bencher<'_, '_>) {
    bencher.with_inputs(fixture).bench_local_values(|fixture| {
        let artifact_config_id = "all".to_owned();
        let request = AssembleRequest { artifact_config_id, ..AssembleRequest::default() };
        fixture.compose.assemble_artifact(&request).expect("an artifact");
        fixture
    });
}

#[divan::bench(sample_count = 5)]
fn assemble_1000_that_are_unchanged(bencher: Bencher<'_, '_>) {
    let fixture = fixture();
    let artifact_config_id = "all".to_owned();
    let request = AssembleRequest { artifact_config_id, ..AssembleRequest::default() };
    fixture.compose.assemble_artifact(&request).expect("an artifact");
    bencher.bench_local(|| fixture.compose.assemble_artifact(&request).expect("an artifact"));
}
