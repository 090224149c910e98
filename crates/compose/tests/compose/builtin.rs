//! The built-in configs, on sample data of every source.

use std::sync::Arc;

use kenning_compose::Parts;
use kenning_compose::config::{ConfigType, Origin};
use kenning_compose::generate::GenerationStatus;
use kenning_compose::lifecycle::ModifyRequest;
use kenning_compose::list::ListRequest;
use kenning_compose::sources::{
    CatalogDigest, CatalogParams, ClientsDigest, ClientsParams, GapsDigest, GapsParams,
    KnowledgeDigest, KnowledgeParams, SourceError, Sources,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::fixture::{Fixture, fixture_with, object};

const BUILTIN: &str =
    "agents-md capability-comparison claude-md client-config gap-report gherkin-from-plan";

/// Samples in the types that the real sources use.
struct SampleSources;

impl Sources for SampleSources {
    fn read(&self, name: &str, params: &Value) -> Result<Value, SourceError> {
        Ok(match name {
            "knowledge" => digest::<KnowledgeDigest>(knowledge(&parsed(params)?)),
            "catalog" => {
                parsed::<CatalogParams>(params)?;
                digest::<CatalogDigest>(catalog())
            }
            "clients" => digest::<ClientsDigest>(clients(&parsed(params)?)),
            "gaps" => digest::<GapsDigest>(gaps(&parsed(params)?)),
            other => return Err(SourceError(format!("no {other}"))),
        })
    }
}

fn parsed<T: DeserializeOwned>(params: &Value) -> Result<T, SourceError> {
    serde_json::from_value(params.clone()).map_err(|error| SourceError(error.to_string()))
}

fn digest<T: DeserializeOwned + Serialize>(sample: Value) -> Value {
    json!(serde_json::from_value::<T>(sample).unwrap())
}

fn knowledge(params: &KnowledgeParams) -> Value {
    let steps = "- **Given** a full basket\n- When they pay\n- Then it is empty\n\nA note.";
    let mut nodes = vec![
        ("style", "guideline", "Style", "Write short functions.\n"),
        ("plan", "plan", "Check out", "What we do next."),
        ("t1", "task", "Pay by card", steps),
        ("t2", "task", "Pay later", "No steps yet."),
    ];
    if params.types.is_empty() {
        nodes.truncate(1);
    }
    nodes.retain(|node| params.types.is_empty() || params.types.iter().any(|kind| kind == node.1));
    let nodes = nodes.iter().map(|(id, kind, title, text)| {
        json!({
            "id": id, "base": "handbook", "path": format!("{id}.md"), "title": title,
            "type": kind, "status": "active", "text": text, "tokens": 10,
        })
    });
    let nodes: Vec<Value> = nodes.collect();
    let title = format!("Deploying (beyond {})", params.max_tokens);
    json!({
        "bases": [{"name": "handbook", "files": 4, "nodes": 4}],
        "total_tokens": 10 * nodes.len(),
        "nodes": nodes,
        "omitted": [{"id": "deploy", "path": "deploy.md", "title": title, "tokens": 9_000}],
        "omitted_count": 2,
    })
}

fn catalog() -> Value {
    let agent = |id: &str| {
        let homepage = format!("https://example.com/{id}");
        json!({"id": id, "name": id.to_uppercase(), "vendor": "A vendor", "homepage": homepage})
    };
    let capability = json!({
        "name": "Pipes | filters",
        "description": "Reads from a pipe",
        "claims": [
            {"agent": "one", "available": true, "tier": "pro"},
            {"agent": "two", "available": false},
            {"agent": "three"},
        ],
    });
    json!({
        "agents": [agent("one"), agent("two"), agent("three")],
        "categories": [{"name": "command-line", "capabilities": [capability]}],
    })
}

fn clients(params: &ClientsParams) -> Value {
    let snippet = json!({params.name.as_str(): [params.command, params.args]}).to_string();
    let setup = |id: &str, files: Value| {
        json!({
            "id": id, "name": id.to_uppercase(), "files": files, "format": "json",
            "snippet": snippet, "next": format!("start {id}"),
        })
    };
    let by_system = json!([
        {"path": "~/.two", "system": "Linux"},
        {"path": "~/Library/two", "system": "macOS"},
    ]);
    let mut clients = vec![setup("one", json!([{"path": ".one.json"}])), setup("two", by_system)];
    clients.retain(|client| params.client.as_ref().is_none_or(|id| client["id"] == **id));
    json!({"clients": clients})
}

fn gaps(params: &GapsParams) -> Value {
    json!({
        "from": "2026-05-01",
        "until": format!("2026-05-{:02}", params.days),
        "sessions": 3,
        "calls": 9,
        "open": [{
            "id": "g1", "label": "Export to PDF", "asks": 4, "requests": 2,
            "last_asked": "2026-05-06", "wordings": ["save as pdf"],
        }],
        "closed": [{
            "id": "g2", "label": "Dark mode", "closed_by": "the node `theme`",
            "closed_at": "2026-05-05",
        }],
        "failed_asks": [{"ask": "List users", "count": 2, "tools": ["users"]}],
        "tools_never_called": ["purge"],
    })
}

fn sample() -> Fixture {
    fixture_with(|parts| Parts { sources: Arc::new(SampleSources), ..parts })
}

#[test]
fn lists_validates_and_generates_all_built_in_configs() {
    let fixture = sample();
    let contents = fixture.contents();
    let artifacts = fixture.compose.list_artifacts(&ListRequest::default()).unwrap().artifacts;
    assert_eq!(contents.iter().map(|one| one.id.as_str()).collect::<Vec<_>>().join(" "), BUILTIN);
    assert_eq!(artifacts.iter().map(|one| one.id.as_str()).collect::<Vec<_>>().join(" "), BUILTIN);
    assert!(contents.iter().all(|one| one.problem.is_none() && one.origin == Origin::Builtin));
    for id in BUILTIN.split(' ') {
        let assembled = fixture.assemble(id).unwrap_or_else(|error| panic!("{id}: {error}"));
        assert!(assembled.warnings.is_empty(), "{id}: {:?}", assembled.warnings);
        let valid = fixture.validate(id, vec![], None).unwrap();
        assert!(valid.valid, "{id}: {:?}", valid.findings);
        let again = fixture.generate(id, json!({})).unwrap();
        assert_eq!(again.status, GenerationStatus::Skipped, "{id}");
    }
}

#[test]
fn agents_md_contains_nodes_and_names_omitted_ones() {
    let fixture = sample();
    fixture.assemble("agents-md").unwrap();
    let expected = "# Working here\n\nWhat an agent needs to know before it works here. It comes from the \
                    knowledge bases; change it there.\n\n## Style\n\nWrite short functions.\n\n## More\n\nNot all fits: 2 more \
                    sections are found with `discover_context`, when a task needs them.\n\nAsk for these with \
                    `retrieve_knowledge`:\n\n- `deploy`: Deploying (beyond 6000)\n";
    assert_eq!(fixture.read("AGENTS.md"), expected);
}

#[test]
fn capability_comparison_is_a_table() {
    let fixture = sample();
    fixture.assemble("capability-comparison").unwrap();
    let text = fixture.read("docs/AGENT-COMPARISON.md");
    let table = "## Command line\n\n| Capability | ONE | TWO | THREE |\n|---|---|---|---|\n| Pipes \\| filters | ✓ (pro) | ✗ | ? |\n";
    assert!(text.contains(table), "{text}");
    assert!(text.starts_with("# What agents can do\n\n3 agents, capability"), "{text}");
}

#[test]
fn gap_report_lists_gaps() {
    let fixture = sample();
    fixture.assemble("gap-report").unwrap();
    let text = fixture.read("docs/GAPS.md");
    let entry = "1. **Export to PDF**: asked for 4 times, 2 of them explicitly, last on 2026-05-06 (`g1`)\n   - \"save as pdf\"\n";
    assert!(text.contains(entry), "{text}");
    assert!(text.contains("- Dark mode: by the node `theme`, on 2026-05-05\n"), "{text}");
    assert!(text.contains("- List users (2×, with `users`)\n"), "{text}");
}

#[test]
fn gherkin_from_plan_writes_scenarios() {
    let fixture = sample();
    fixture.assemble("gherkin-from-plan").unwrap();
    let text = fixture.read("features/plan.feature");
    let feature = gherkin::Feature::parse(&text, gherkin::GherkinEnv::default()).unwrap();
    assert_eq!(feature.name, "Check out");
    let steps: Vec<(&str, usize)> =
        feature.scenarios.iter().map(|one| (one.name.as_str(), one.steps.len())).collect();
    assert_eq!(steps, [("Pay by card", 3), ("Pay later", 0)]);
}

#[test]
fn client_config_has_a_snippet_for_each_client() {
    let fixture = sample();
    let text = fixture.text("client-config", json!({"args": ["serve", "--read-only"]}));
    assert!(text.contains("starts `kenning serve --read-only` itself"), "{text}");
    let snippet = "```json\n{\"kenning\":[\"kenning\",[\"serve\",\"--read-only\"]]}\n```";
    assert_eq!(text.matches(snippet).count(), 2, "{text}");
    assert!(text.contains("## ONE\n\n`.one.json`\n\n"), "{text}");
    assert!(text.contains("`~/.two` (Linux), `~/Library/two` (macOS)\n\n```"), "{text}");
    let one = fixture.text("client-config", json!({"client": "two"}));
    assert!(one.contains("Then: start two.") && !one.contains("ONE"), "{one}");
}

#[test]
fn a_workspace_config_replaces_the_built_in_one() {
    let fixture = sample();
    let request = ModifyRequest {
        config_id: "agents-md".to_owned(),
        config_type: Some(ConfigType::Content),
        updates: object(json!({"metadata": {"description": "ours"}})),
        create_backup: true,
    };
    let saved = fixture.compose.modify_config(&request).unwrap();
    assert!(saved.shadows_builtin && saved.backup.is_none());
    let listed = fixture.contents();
    let own = listed.iter().find(|one| one.id == "agents-md").unwrap();
    assert_eq!((own.origin, own.shadows_builtin), (Origin::Workspace, true));
    assert_eq!(own.description, "ours");
    std::fs::remove_file(fixture.root.path().join(saved.path)).unwrap();
    assert_eq!(fixture.contents()[0].origin, Origin::Builtin);
    fixture.generate("agents-md", json!({})).unwrap();
}
