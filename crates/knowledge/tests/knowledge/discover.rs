//! Recommendations for tasks, on the example base and with the real model.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use kenning_knowledge::discover::{DiscoverRequest, DiscoverResponse, Discovery, TaskType};
use kenning_knowledge::semantic::{Indexer, ModelSource, NoCache};
use kenning_knowledge::{Base, Library};
use serde::{Deserialize, Serialize};

use crate::{Folder, base, open};

/// Scores differ this much between processors; a larger difference is a change.
const TOLERANCE: f64 = 0.08;
const WORTH_LOADING: f64 = 0.5;

fn embedded(base: Base) -> Arc<Library> {
    let library = Arc::new(open(base));
    let mut indexer =
        Indexer::new(library.clone(), Arc::new(NoCache), ModelSource::Bundled.load().unwrap());
    indexer.catch_up(&|_, _| {}).unwrap();
    library
}

fn handbook() -> &'static Arc<Library> {
    static LIBRARY: OnceLock<Arc<Library>> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/knowledge");
        embedded(base("kb", &root))
    })
}

pub(crate) fn settings() -> Discovery {
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
        min_relevance_threshold: 0.07,
        boost_active_status: 1.2,
        // Recency depends on the day of the test; it has a test of its own.
        boost_recent_update_days: 0,
        boost_recent_update_factor: 1.1,
        boosts: boosts.map(|(task, factors)| (task.to_owned(), row(factors))).into(),
    }
}

pub(crate) fn request(task: &str) -> DiscoverRequest {
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

/// `UPDATE_GOLDEN=1 cargo test -p kenning-knowledge golden` regenerates the file.
#[test]
fn every_task_type_has_its_golden_recommendations() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/discover.json");
    let golden: Vec<Golden> = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let covers = |task_type| golden.iter().any(|golden| golden.task_type == task_type);
    assert!(TaskType::ALL.into_iter().all(covers));
    let found: Vec<Golden> = golden
        .iter()
        .map(|golden| {
            let request =
                DiscoverRequest { task_type: Some(golden.task_type), ..request(&golden.task) };
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

/// The nodes worth loading are the same, with scores within the tolerance, and in the same order
/// unless two scores are within the tolerance of each other.
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
fn a_clear_match_ranks_first_and_its_reason_names_words_and_boosts() {
    let request = DiscoverRequest {
        task_type: Some(TaskType::Implement),
        ..request("Implement user authentication with JWT tokens")
    };
    let found = discover(&request);
    let first_two = &found.recommendations[..2];
    let guideline = first_two.iter().find(|r| r.id == "guidelines.security.authentication");
    let reason = &guideline.unwrap().reason;
    assert!(reason.contains("\"authentication\""), "{reason}");
    assert!(reason.contains("guideline for implement ×1.5"), "{reason}");
    assert!(found.total_available >= found.recommendations.len());
}

#[test]
fn a_task_that_matches_nothing_returns_nothing_with_a_message() {
    for task in ["Bake sourdough bread in a cast-iron pot", "Tune the carburettor of a motorcycle"]
    {
        let found = discover(&request(task));
        assert_eq!(ids(&found), [""; 0], "{task}");
        assert_eq!(found.total_available, 0);
        assert!(found.message.unwrap().starts_with("No knowledge base entry found for"));
    }
}

#[test]
fn an_ambiguous_task_returns_diverse_recommendations() {
    let found = discover(&DiscoverRequest { max_results: Some(6), ..request("database changes") });
    let files: std::collections::HashSet<&str> =
        found.recommendations.iter().map(|r| r.path.split('#').next().unwrap()).collect();
    assert!(files.len() >= 3, "{found:?}");
}

#[test]
fn recommendations_fit_the_token_budget() {
    let task = "Write and deploy a database migration without downtime";
    let all = discover(&DiscoverRequest { max_results: Some(20), ..request(task) });
    let budget = 600;
    let fitting = discover(&DiscoverRequest {
        max_results: Some(20),
        token_budget: Some(budget),
        ..request(task)
    });
    let cost = |found: &DiscoverResponse| {
        found.recommendations.iter().map(|r| r.estimated_tokens).sum::<usize>()
    };
    assert!(cost(&all) > budget && cost(&fitting) <= budget && !fitting.recommendations.is_empty());
    let none = discover(&DiscoverRequest { token_budget: Some(1), ..request(task) });
    assert!(none.recommendations.is_empty() && none.total_available > 0);
    assert_eq!(none.message.as_deref(), Some("nothing relevant fits in 1 tokens"));
}

/// Nodes with the same text and different metadata.
fn same_text(nodes: &[(&str, &str)]) -> (Folder, Arc<Library>) {
    let folder = Folder::new(&[]);
    for (name, metadata) in nodes {
        let text = format!(
            "# Caching\n- id: {name}\n{metadata}\n<!-- content -->\nCache keys carry a version.\n"
        );
        folder.write(&format!("{name}.md"), &text);
    }
    let library = embedded(folder.base("kb"));
    (folder, library)
}

fn order(library: &Library, request: &DiscoverRequest, settings: &Discovery) -> Vec<String> {
    let found = library.snapshot().discover(request, settings).unwrap();
    assert!(found.recommendations.iter().all(|r| (0.0..=1.0).contains(&r.relevance_score)));
    found.recommendations.into_iter().map(|r| r.id).collect()
}

#[test]
fn with_equal_similarity_the_boost_matrix_decides() {
    let (_folder, library) = same_text(&[
        ("active-guideline", "- type: guideline\n- status: active"),
        ("active-protocol", "- type: protocol\n- status: active"),
        ("draft-protocol", "- type: protocol\n- status: draft"),
        ("old-guideline", "- type: guideline\n- status: deprecated"),
    ]);
    let with = |task_type| DiscoverRequest {
        task_type: Some(task_type),
        ..request("version the cache keys")
    };
    let debug = order(&library, &with(TaskType::Debug), &settings());
    assert_eq!(debug, ["active-protocol", "draft-protocol", "active-guideline", "old-guideline"]);
    let implement = order(&library, &with(TaskType::Implement), &settings());
    assert_eq!(implement[..2], ["active-guideline", "active-protocol"]);
}

#[test]
fn recently_checked_and_nearby_nodes_rank_first() {
    let (_folder, library) = same_text(&[
        ("a-old", "- last_checked: 2001-01-01"),
        ("b-new", "- last_checked: 2999-01-01"),
        ("c-billing", "- last_checked: 2001-01-01"),
    ]);
    let recent = Discovery { boost_recent_update_days: 30, ..settings() };
    let task = request("version the cache keys");
    assert_eq!(order(&library, &task, &recent)[0], "b-new");
    let near = DiscoverRequest { current_file: Some("src/billing.rs".into()), ..task };
    assert_eq!(order(&library, &near, &settings())[0], "c-billing");
}

#[test]
fn a_boost_below_one_lowers_the_score() {
    let (_folder, library) = same_text(&[("skill", "- type: agent_skill\n- status: draft")]);
    let score = |task_type| {
        // Not a perfect match: close to 1, a score of three digits would show no difference.
        let request = DiscoverRequest { task_type, ..request("where do caches come from") };
        library.snapshot().discover(&request, &settings()).unwrap().recommendations[0]
            .relevance_score
    };
    assert!(score(Some(TaskType::Document)) < score(None));
}

#[test]
fn many_matching_sections_are_merged_into_their_parent() {
    let text = "# Handbook\n## Retries\nOverview.\n### Retry limits\nRetry an HTTP call three times.\n\
                ### Retry backoff\nRetry an HTTP call with exponential backoff.\n\
                ### Retry budget\nRetry an HTTP call within a budget.\n";
    let folder = Folder::new(&[("handbook.md", text)]);
    let library = embedded(folder.base("kb"));
    let found =
        library.snapshot().discover(&request("retry a failed HTTP call"), &settings()).unwrap();
    let first = &found.recommendations[0];
    assert_eq!(first.id, "handbook.retries");
    assert_eq!(first.sections.len(), 3, "{first:?}");
    assert!(first.estimated_tokens > 20);
}

#[test]
fn keywords_are_used_until_vectors_are_computed() {
    let folder = Folder::new(&[("a.md", "# Key rotation\nRotate signing keys every 90 days.\n")]);
    let found =
        folder.library().snapshot().discover(&request("rotate signing keys"), &settings()).unwrap();
    assert_eq!(ids(&found), ["a"]);
    assert!(found.message.unwrap().contains("1 of 1 nodes are compared by keywords only"));
}

#[test]
fn copies_in_other_versions_are_one_recommendation_and_namesakes_are_not() {
    let page = "# Signing keys\n## Rotation\nRotate the signing keys every 90 days.\n";
    let folder = Folder::new(&[
        ("docs/v1/keys.md", page),
        ("docs/v2/keys.md", page),
        ("docs/v10/keys.md", page),
        (
            "docs/dev/keys.md",
            "# Keys of contributors\n## Rotation\nRotate your signing keys yourself.\n",
        ),
    ]);
    let library = embedded(folder.base("kb"));
    let found =
        library.snapshot().discover(&request("rotate the signing keys"), &settings()).unwrap();
    let paths: Vec<&str> = found.recommendations.iter().map(|r| r.path.as_str()).collect();
    let of_versions: Vec<&&str> =
        paths.iter().filter(|p| p.contains("/v") && p.contains("rotation")).collect();
    assert_eq!(of_versions.len(), 1, "{paths:?}");
    assert!(of_versions[0].starts_with("docs/v10/"), "{paths:?}");
    let kept = found.recommendations.iter().find(|r| r.path == **of_versions[0]).unwrap();
    assert!(kept.reason.contains("copied in another version or language"), "{}", kept.reason);
    assert!(paths.iter().any(|path| path.starts_with("docs/dev/")), "{paths:?}");
}

#[test]
fn a_base_of_one_page_still_says_no() {
    let folder = Folder::new(&[("keys.md", "# Signing keys\nRotate them every 90 days.\n")]);
    let library = embedded(folder.base("kb"));
    for task in ["bake sourdough bread in a pot", "configure a kubernetes ingress", "???"] {
        let found = library.snapshot().discover(&request(task), &settings()).unwrap();
        assert!(found.recommendations.is_empty(), "{task}: {found:?}");
    }
}
