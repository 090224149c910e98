//! Resolution of natural queries, on a set that was written separately from aliases and phrases.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use kenning_catalog::Catalog;
use kenning_catalog::resolve::{CONFIDENT, Match, Resolved};
use kenning_embed::Embedder;
use serde::Deserialize;

#[derive(Deserialize)]
struct Set {
    queries: Vec<Asked>,
    unknown: Vec<String>,
}

#[derive(Deserialize)]
struct Asked {
    query: String,
    capability: String,
}

static MODEL: LazyLock<Embedder> = LazyLock::new(|| Embedder::bundled().unwrap());

fn embed(text: &str) -> Option<Vec<f32>> {
    MODEL.embed(text).ok()
}

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data").join(name)
}

fn set() -> Set {
    serde_json::from_str(&std::fs::read_to_string(data("eval/resolution.json")).unwrap()).unwrap()
}

fn matches(resolved: Resolved) -> Vec<Match> {
    match resolved {
        Resolved::One(found, others) => [vec![found], others].concat(),
        Resolved::Ambiguous(matches) | Resolved::Nothing(matches) => matches,
    }
}

#[test]
fn resolves_natural_queries() {
    let (catalog, set) = (Catalog::bundled(), set());
    assert!(set.queries.len() >= 200);
    let (mut first, mut third, mut missed) = (0, 0, Vec::new());
    for asked in &set.queries {
        let found = matches(catalog.resolve(&asked.query, &embed).unwrap());
        let names: Vec<&str> = found.iter().map(|found| found.name.as_str()).collect();
        first += usize::from(names[0] == asked.capability);
        third += usize::from(names.contains(&asked.capability.as_str()));
        if names[0] != asked.capability {
            missed.push(format!("{} → {found:?}, not {}", asked.query, asked.capability));
        }
    }
    let share = |hits: usize| hits as f64 / set.queries.len() as f64;
    println!("top-1 {:.3}, top-3 {:.3} of {}", share(first), share(third), set.queries.len());
    assert!(share(first) >= 0.95, "{:.3}\n{}", share(first), missed.join("\n"));
    assert!(share(third) >= 0.99, "{:.3}\n{}", share(third), missed.join("\n"));
}

#[test]
fn unknown_capabilities_are_never_confident() {
    let (catalog, set) = (Catalog::bundled(), set());
    assert!(set.unknown.len() >= 50);
    for asked in &set.unknown {
        let found = matches(catalog.resolve(asked, &embed).unwrap());
        assert!(found[0].confidence < CONFIDENT, "{asked}: {found:?}");
    }
}

#[test]
fn the_set_does_not_occur_in_the_phrases() {
    let known: Vec<String> =
        Catalog::bundled_texts().iter().map(|text| text.trim().to_lowercase()).collect();
    for asked in set().queries.iter().map(|asked| &asked.query).chain(&set().unknown) {
        assert!(!known.contains(&asked.trim().to_lowercase()), "`{asked}` is among the phrases");
    }
}

#[test]
fn without_a_model_only_names_aliases_and_typos_are_confident() {
    let catalog = Catalog::bundled();
    let resolve = |asked: &str| catalog.resolve(asked, &|_| None).unwrap();
    for (asked, meant, sure) in [
        ("mcp support", "MCP Support", 1.0),
        ("Model Context Protocol", "MCP Support", 1.0),
        ("mpc suport", "MCP Support", 0.9),
        ("sub_agents", "Sub-agents", 1.0),
        ("intellisense", "Code Completion", 1.0),
    ] {
        let Resolved::One(found, _) = resolve(asked) else { panic!("{asked} is not clear") };
        assert_eq!((found.name.as_str(), found.confidence), (meant, sure), "{asked}");
    }
    let found = matches(resolve("undo what it did to my files"));
    assert!(found.len() == 3 && found[0].confidence < CONFIDENT, "{found:?}");
}

#[test]
fn resolves_agents() {
    let catalog = Catalog::bundled();
    for (asked, meant) in [
        ("Claude", "claude-code"),
        ("claude code", "claude-code"),
        ("copilot in vscode", "vscode-copilot"),
        ("gemini", "gemini-cli"),
        ("GitHub Copilot CLI", "copilot-cli"),
        ("codx", "codex-cli"),
        ("the zed editor", "zed"),
    ] {
        assert_eq!(catalog.resolve_agent(asked).unwrap().agent, meant, "{asked}");
    }
    for asked in ["copilot", "emacs", "", "claude or codex"] {
        let error = catalog.resolve_agent(asked).unwrap_err();
        assert!(!error.hint().is_empty(), "{asked}: {error}");
    }
}

/// The bundled model computes the vectors; `cargo xtask docs` updates them.
#[test]
fn bundled_vectors_match_the_phrases() {
    let texts = Catalog::bundled_texts();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        let bytes = kenning_catalog::meaning::vectors_file(&texts, |text| embed(text).unwrap());
        std::fs::write(data("phrases.vectors"), bytes).unwrap();
        return;
    }
    assert!(
        kenning_catalog::meaning::is_current(&texts),
        "data/phrases.vectors is stale: run `cargo xtask docs`, then build again"
    );
}
