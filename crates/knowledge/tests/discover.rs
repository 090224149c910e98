//! What is recommended for a task, on the example base and with the real model.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use kenning_knowledge::discover::{DiscoverRequest, DiscoverResponse, Discovery, TaskType};
use kenning_knowledge::semantic::{Indexer, ModelSource, NoCache};
use kenning_knowledge::{Base, Library};
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

/// Scores may move this much, from one processor to another, before it is a change.
const TOLERANCE: f64 = 0.08;
const WORTH_LOADING: f64 = 0.5;

fn embedded(root: &Path) -> Arc<Library> {
    let base = Base::new("kb", root, &["**/*.md".to_owned()], &[]).unwrap();
    let library = Arc::new(Library::open(vec![base], &|_, _| {}).unwrap());
    let mut indexer =
        Indexer::new(library.clone(), Arc::new(NoCache), ModelSource::Bundled.load().unwrap());
    indexer.catch_up(&|_, _| {}).unwrap();
    library
}

fn handbook() -> &'static Arc<Library> {
    static LIBRARY: OnceLock<Arc<Library>> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        embedded(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/knowledge"))
    })
}

fn settings() -> Discovery {
    let row = |factors: [f64; 4]| {
        let types = ["guideline", "protocol", "context", "agent_skill"];
        types.map(str::to_owned).into_iter().zip(factors).collect::<BTreeMap<String, f64>>()
    };
    let boosts = [
        ("implement", [1.5, 1.2, 1.3, 1.0]),
        ("debug", [1.0, 1.3, 1.5, 0.8]),
        ("refactor", [1.3, 1.1, 1.4, 0.9]),
        ("document", [1.2, 1.0, 1.5, 0.7]),
        ("review", [1.4, 1.5, 1.2, 0.8]),
        ("design", [1.3, 1.4, 1.5, 1.1]),
        ("test", [1.2, 1.3, 1.2, 1.0]),
    ];
    Discovery {
        default_max_results: 5,
        min_relevance_threshold: 0.3,
        boost_active_status: 1.2,
        // Recency depends on the day of the test; it has a test of its own.
        boost_recent_update_days: 0,
        boost_recent_update_factor: 1.1,
        boosts: boosts.map(|(task, factors)| (task.to_owned(), row(factors))).into(),
    }
}

fn ask(task: &str) -> DiscoverRequest {
    DiscoverRequest {
        task_description: task.to_owned(),
        task_type: None,
        current_file: None,
        max_results: None,
        token_budget: None,
    }
}

fn discover(request: &DiscoverRequest) -> DiscoverResponse {
    handbook().snapshot().discover(request, &settings()).unwrap()
}

fn ids(found: &DiscoverResponse) -> Vec<&str> {
    found.recommendations.iter().map(|r| r.id.as_str()).collect()
}

#[derive(Debug, Serialize, Deserialize)]
struct Golden {
    task: String,
    task_type: TaskType,
    recommendations: Vec<(String, f64)>,
}

/// `UPDATE_GOLDEN=1 cargo test -p kenning-knowledge --test discover` writes the file anew.
#[test]
fn every_task_type_has_its_golden_recommendations() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/discover.json");
    let golden: Vec<Golden> = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let found: Vec<Golden> = golden
        .iter()
        .map(|golden| {
            let request =
                DiscoverRequest { task_type: Some(golden.task_type), ..ask(&golden.task) };
            let found = discover(&request).recommendations;
            Golden {
                task: golden.task.clone(),
                task_type: golden.task_type,
                recommendations: found.into_iter().map(|r| (r.id, r.relevance_score)).collect(),
            }
        })
        .collect();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, serde_json::to_string_pretty(&found).unwrap() + "\n").unwrap();
        return;
    }
    for (golden, found) in golden.iter().zip(&found) {
        check(&golden.task, &golden.recommendations, &found.recommendations);
    }
}

/// What is worth loading is the same, with about the same scores, and in the same order unless two
/// are about as good.
fn check(task: &str, golden: &[(String, f64)], found: &[(String, f64)]) {
    let of = |all: &[(String, f64)], wanted: &str| {
        all.iter().find(|(id, _)| id == wanted).map(|(_, score)| *score)
    };
    for (id, expected) in golden.iter().filter(|(_, score)| *score >= WORTH_LOADING) {
        let score = of(found, id).unwrap_or_else(|| panic!("{task}: {id} is not found: {found:?}"));
        assert!((score - expected).abs() <= TOLERANCE, "{task}: {id}: {score}, not {expected}");
    }
    for (id, score) in found.iter().filter(|(_, score)| *score >= WORTH_LOADING + TOLERANCE) {
        assert!(of(golden, id).is_some(), "{task}: {id} ({score}) is new");
    }
    let place = |wanted: &str| found.iter().position(|(id, _)| id == wanted);
    for (n, (before, higher)) in golden.iter().enumerate() {
        for (after, lower) in &golden[n + 1..] {
            let in_order = place(before).zip(place(after)).is_none_or(|(one, other)| one < other);
            assert!(in_order || higher - lower <= TOLERANCE, "{task}: {after} is before {before}");
        }
    }
}

#[test]
fn a_clear_match_returns_the_guideline() {
    let request = DiscoverRequest {
        task_type: Some(TaskType::Implement),
        ..ask("Implement user authentication with JWT tokens")
    };
    let found = discover(&request);
    assert_eq!(ids(&found)[0], "guidelines.security.authentication");
    assert!(found.recommendations[0].relevance_score >= 0.7);
    assert!(found.recommendations[0].reason.contains("\"authentication\""), "{found:?}");
    assert!(found.recommendations[0].reason.contains("guideline for implement ×1.5"));
    assert!(found.total_available >= found.recommendations.len());
}

#[test]
fn a_task_that_matches_nothing_returns_nothing_with_a_message() {
    for task in ["Bake sourdough bread in a cast-iron pot", "Tune the carburettor of a motorcycle"]
    {
        let found = discover(&ask(task));
        assert_eq!(ids(&found), [""; 0], "{task}");
        assert_eq!(found.total_available, 0);
        assert!(found.message.unwrap().starts_with("No knowledge base entry found for"));
    }
}

#[test]
fn an_ambiguous_task_returns_diverse_recommendations() {
    let found = discover(&DiscoverRequest { max_results: Some(6), ..ask("database changes") });
    let files: std::collections::HashSet<&str> =
        found.recommendations.iter().map(|r| r.path.split('#').next().unwrap()).collect();
    assert!(files.len() >= 3, "{found:?}");
}

#[test]
fn a_budget_is_kept_and_well_spent() {
    let task = "Write and deploy a database migration without downtime";
    let all = discover(&DiscoverRequest { max_results: Some(20), ..ask(task) });
    let budget = 600;
    let fitting = discover(&DiscoverRequest {
        max_results: Some(20),
        token_budget: Some(budget),
        ..ask(task)
    });
    let cost = |found: &DiscoverResponse| {
        found.recommendations.iter().map(|r| r.estimated_tokens).sum::<usize>()
    };
    assert!(cost(&all) > budget && cost(&fitting) <= budget && !fitting.recommendations.is_empty());
    let none = discover(&DiscoverRequest { token_budget: Some(1), ..ask(task) });
    assert!(none.recommendations.is_empty() && none.total_available > 0);
    assert_eq!(none.message.as_deref(), Some("nothing relevant fits in 1 tokens"));
}

/// Nodes with the same text, told apart by what authors say about them alone.
fn twins(nodes: &[(&str, &str)]) -> (TempDir, Arc<Library>) {
    let folder = TempDir::new().unwrap();
    for (name, metadata) in nodes {
        let text = format!(
            "# Caching\n- id: {name}\n{metadata}\n<!-- content -->\nCache keys carry a version.\n"
        );
        fs::write(folder.path().join(format!("{name}.md")), text).unwrap();
    }
    let library = embedded(folder.path());
    (folder, library)
}

fn order(library: &Library, request: &DiscoverRequest, settings: &Discovery) -> Vec<String> {
    let found = library.snapshot().discover(request, settings).unwrap();
    assert!(found.recommendations.iter().all(|r| (0.0..=1.0).contains(&r.relevance_score)));
    found.recommendations.into_iter().map(|r| r.id).collect()
}

#[test]
fn with_equal_similarity_the_boost_matrix_decides() {
    let (_folder, library) = twins(&[
        ("active-guideline", "- type: guideline\n- status: active"),
        ("active-protocol", "- type: protocol\n- status: active"),
        ("draft-protocol", "- type: protocol\n- status: draft"),
        ("old-guideline", "- type: guideline\n- status: deprecated"),
    ]);
    let with =
        |task_type| DiscoverRequest { task_type: Some(task_type), ..ask("version the cache keys") };
    let debug = order(&library, &with(TaskType::Debug), &settings());
    assert_eq!(debug, ["active-protocol", "draft-protocol", "active-guideline", "old-guideline"]);
    let implement = order(&library, &with(TaskType::Implement), &settings());
    assert_eq!(implement[..2], ["active-guideline", "active-protocol"]);
}

#[test]
fn what_was_checked_lately_and_what_lies_near_comes_first() {
    let (_folder, library) = twins(&[
        ("a-old", "- last_checked: 2001-01-01"),
        ("b-new", "- last_checked: 2999-01-01"),
        ("c-billing", "- last_checked: 2001-01-01"),
    ]);
    let recent = Discovery { boost_recent_update_days: 30, ..settings() };
    let task = ask("version the cache keys");
    assert_eq!(order(&library, &task, &recent)[0], "b-new");
    let near = DiscoverRequest { current_file: Some("src/billing.rs".into()), ..task };
    assert_eq!(order(&library, &near, &settings())[0], "c-billing");
}

#[test]
fn a_boost_below_one_lowers() {
    let (_folder, library) = twins(&[("skill", "- type: agent_skill\n- status: draft")]);
    let score = |task_type| {
        // Not a perfect match: near certainty, three digits show no difference.
        let request = DiscoverRequest { task_type, ..ask("where do caches come from") };
        library.snapshot().discover(&request, &settings()).unwrap().recommendations[0]
            .relevance_score
    };
    assert!(score(Some(TaskType::Document)) < score(None));
}

#[test]
fn many_matching_sections_are_read_as_their_parent() {
    let folder = TempDir::new().unwrap();
    let text = "# Handbook\n## Retries\nOverview.\n### Retry limits\nRetry an HTTP call three times.\n\
                ### Retry backoff\nRetry an HTTP call with exponential backoff.\n\
                ### Retry budget\nRetry an HTTP call within a budget.\n";
    fs::write(folder.path().join("handbook.md"), text).unwrap();
    let library = embedded(folder.path());
    let found = library.snapshot().discover(&ask("retry a failed HTTP call"), &settings()).unwrap();
    let first = &found.recommendations[0];
    assert_eq!(first.id, "handbook.retries");
    assert_eq!(first.sections.len(), 3, "{first:?}");
    assert!(first.estimated_tokens > 20);
}

#[test]
fn keywords_answer_before_there_are_vectors() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("a.md"), "# Key rotation\nRotate signing keys every 90 days.\n")
        .unwrap();
    let base = Base::new("kb", folder.path(), &["**/*.md".to_owned()], &[]).unwrap();
    let library = Library::open(vec![base], &|_, _| {}).unwrap();
    let found = library.snapshot().discover(&ask("rotate signing keys"), &settings()).unwrap();
    assert_eq!(ids(&found), ["a"]);
    assert!(found.message.unwrap().contains("1 of 1 nodes are compared by keywords only"));
}
