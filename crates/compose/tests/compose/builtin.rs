//! What comes with us works on what the sources say.

use std::sync::Arc;

use kenning_compose::Parts;
use kenning_compose::config::{ConfigType, Origin};
use kenning_compose::generate::{GenerateRequest, GenerationStatus};
use kenning_compose::lifecycle::ModifyRequest;
use kenning_compose::list::ListRequest;
use kenning_compose::sources::{
    CatalogAgent, CatalogCapability, CatalogCategory, CatalogClaim, CatalogDigest, CatalogParams,
    ClientFile, ClientSetup, ClientsDigest, ClientsParams, ClosedGap, CountedAsk, GapsDigest,
    GapsParams, KnowledgeBase, KnowledgeDigest, KnowledgeNode, KnowledgeParams, OmittedNode,
    OpenGap, SourceError, Sources,
};
use kenning_compose::validate::ValidateRequest;
use serde_json::{Value, json};

use crate::fixture::{Fixture, bed_with, object};

const BUILTIN: [&str; 6] = [
    "agents-md",
    "capability-comparison",
    "claude-md",
    "client-config",
    "gap-report",
    "gherkin-from-plan",
];

/// A small world, told through the types that the real sources use.
struct World;

impl Sources for World {
    fn read(&self, name: &str, params: &Value) -> Result<Value, SourceError> {
        let parsed = |error: serde_json::Error| SourceError(error.to_string());
        let digest = match name {
            "knowledge" => {
                json!(knowledge(&serde_json::from_value(params.clone()).map_err(parsed)?))
            }
            "catalog" => json!(catalog(&serde_json::from_value(params.clone()).map_err(parsed)?)),
            "clients" => json!(clients(&serde_json::from_value(params.clone()).map_err(parsed)?)),
            "gaps" => json!(gaps(&serde_json::from_value(params.clone()).map_err(parsed)?)),
            other => return Err(SourceError(format!("no {other}"))),
        };
        Ok(digest)
    }
}

fn node(id: &str, kind: &str, title: &str, text: &str) -> KnowledgeNode {
    KnowledgeNode {
        id: id.to_owned(),
        base: "handbook".to_owned(),
        path: format!("{id}.md"),
        title: title.to_owned(),
        kind: kind.to_owned(),
        status: "active".to_owned(),
        text: text.to_owned(),
        tokens: 10,
    }
}

fn knowledge(params: &KnowledgeParams) -> KnowledgeDigest {
    let mut nodes = vec![
        node("style", "guideline", "Style", "Write short functions.\n"),
        node("plan", "plan", "Check out", "What we do next."),
        node(
            "t1",
            "task",
            "Pay by card",
            "- **Given** a full basket\n- When they pay\n- Then it is empty\n\nA note.",
        ),
        node("t2", "task", "Pay later", "No steps yet."),
    ];
    if params.types.is_empty() {
        nodes.truncate(1);
    } else {
        nodes.retain(|node| params.types.contains(&node.kind));
    }
    KnowledgeDigest {
        bases: vec![KnowledgeBase { name: "handbook".to_owned(), files: 4, nodes: 4 }],
        total_tokens: nodes.iter().map(|node| node.tokens).sum(),
        nodes,
        omitted: vec![OmittedNode {
            id: "deploy".to_owned(),
            path: "deploy.md".to_owned(),
            title: format!("Deploying (beyond {})", params.max_tokens),
            tokens: 9_000,
        }],
        omitted_count: 2,
    }
}

fn catalog(_: &CatalogParams) -> CatalogDigest {
    let agent = |id: &str| CatalogAgent {
        id: id.to_owned(),
        name: id.to_uppercase(),
        vendor: "Somebody".to_owned(),
        homepage: format!("https://example.com/{id}"),
    };
    let claim = |id: &str, available, tier: Option<&str>| CatalogClaim {
        agent: id.to_owned(),
        available,
        tier: tier.map(str::to_owned),
        ..CatalogClaim::default()
    };
    CatalogDigest {
        agents: vec![agent("one"), agent("two"), agent("three")],
        categories: vec![CatalogCategory {
            name: "command-line".to_owned(),
            capabilities: vec![CatalogCapability {
                name: "Pipes | filters".to_owned(),
                description: "Reads from a pipe".to_owned(),
                claims: vec![
                    claim("one", Some(true), Some("pro")),
                    claim("two", Some(false), None),
                    claim("three", None, None),
                ],
            }],
        }],
    }
}

fn clients(params: &ClientsParams) -> ClientsDigest {
    let file = |path: &str, system: Option<&str>| ClientFile {
        path: path.to_owned(),
        system: system.map(str::to_owned),
    };
    let setup = |id: &str, files| ClientSetup {
        id: id.to_owned(),
        name: id.to_uppercase(),
        files,
        format: "json".to_owned(),
        snippet: json!({params.name.as_str(): [params.command, params.args]}).to_string(),
        next: format!("start {id}"),
    };
    let anywhere = vec![file(".one.json", None)];
    let by_system = vec![file("~/.two", Some("Linux")), file("~/Library/two", Some("macOS"))];
    let mut clients = vec![setup("one", anywhere), setup("two", by_system)];
    clients.retain(|client| params.client.as_ref().is_none_or(|wanted| *wanted == client.id));
    ClientsDigest { clients }
}

fn gaps(params: &GapsParams) -> GapsDigest {
    GapsDigest {
        from: "2026-05-01".to_owned(),
        until: format!("2026-05-{:02}", params.days),
        sessions: 3,
        calls: 9,
        open: vec![OpenGap {
            id: "g1".to_owned(),
            label: "Export to PDF".to_owned(),
            asks: 4,
            requests: 2,
            last_asked: "2026-05-06".to_owned(),
            wordings: vec!["save as pdf".to_owned()],
        }],
        closed: vec![ClosedGap {
            id: "g2".to_owned(),
            label: "Dark mode".to_owned(),
            closed_by: "the node `theme`".to_owned(),
            closed_at: "2026-05-05".to_owned(),
        }],
        failed_asks: vec![CountedAsk {
            ask: "List users".to_owned(),
            count: 2,
            tools: vec!["users".to_owned()],
        }],
        tools_never_called: vec!["purge".to_owned()],
    }
}

fn world() -> Fixture {
    bed_with(|parts| Parts { sources: Arc::new(World), ..parts })
}

#[test]
fn all_are_listed_valid_and_can_be_made() {
    let fixture = world();
    let contents = fixture.compose.list_content(&ListRequest::default()).unwrap();
    let artifacts = fixture.compose.list_artifacts(&ListRequest::default()).unwrap();
    assert_eq!(contents.content.iter().map(|one| one.id.as_str()).collect::<Vec<_>>(), BUILTIN);
    assert_eq!(artifacts.artifacts.iter().map(|one| one.id.as_str()).collect::<Vec<_>>(), BUILTIN);
    assert!(
        contents.content.iter().all(|one| one.problem.is_none() && one.origin == Origin::Builtin)
    );
    for id in BUILTIN {
        let made = fixture.assemble(id).unwrap_or_else(|error| panic!("{id}: {error}"));
        assert!(made.warnings.is_empty(), "{id}: {:?}", made.warnings);
        let request =
            ValidateRequest { content_or_config_id: id.to_owned(), ..ValidateRequest::default() };
        let valid = fixture.compose.validate_content(&request).unwrap();
        assert!(valid.valid, "{id}: {:?}", valid.findings);
        let again = fixture.generate(id, json!({})).unwrap();
        assert_eq!(again.status, GenerationStatus::Skipped, "{id}");
    }
}

#[test]
fn agents_md_has_the_knowledge_and_names_the_rest() {
    let fixture = world();
    fixture.assemble("agents-md").unwrap();
    let expected = "# Working here\n\nWhat an agent needs to know before it works here. It comes from the \
                    knowledge bases; change it there.\n\n## Style\n\nWrite short functions.\n\n## More\n\nNot all fits: 2 more \
                    sections are found with `discover_context`, when a task needs them.\n\nAsk for these with \
                    `retrieve_knowledge`:\n\n- `deploy`: Deploying (beyond 6000)\n";
    assert_eq!(fixture.read("AGENTS.md"), expected);
}

#[test]
fn the_comparison_is_a_table() {
    let fixture = world();
    fixture.assemble("capability-comparison").unwrap();
    let text = fixture.read("docs/AGENT-COMPARISON.md");
    let table = "## Command line\n\n| Capability | ONE | TWO | THREE |\n|---|---|---|---|\n| Pipes \\| filters | ✓ (pro) | ✗ | ? |\n";
    assert!(text.contains(table), "{text}");
    assert!(text.starts_with("# What agents can do\n\n3 agents, capability"), "{text}");
}

#[test]
fn the_report_says_what_is_missing() {
    let fixture = world();
    fixture.assemble("gap-report").unwrap();
    let text = fixture.read("docs/GAPS.md");
    let entry = "1. **Export to PDF**: asked for 4 times, 2 of them in so many words, last on 2026-05-06 (`g1`)\n   - \"save as pdf\"\n";
    assert!(text.contains(entry), "{text}");
    assert!(text.contains("- Dark mode: by the node `theme`, on 2026-05-05\n"), "{text}");
    assert!(text.contains("- List users (2×, with `users`)\n"), "{text}");
}

#[test]
fn a_plan_becomes_scenarios() {
    let fixture = world();
    fixture.assemble("gherkin-from-plan").unwrap();
    let text = fixture.read("features/plan.feature");
    let feature = gherkin::Feature::parse(&text, gherkin::GherkinEnv::default()).unwrap();
    assert_eq!(feature.name, "Check out");
    let steps: Vec<(&str, usize)> =
        feature.scenarios.iter().map(|one| (one.name.as_str(), one.steps.len())).collect();
    assert_eq!(steps, [("Pay by card", 3), ("Pay later", 0)]);
}

#[test]
fn every_client_has_its_snippet() {
    let fixture = world();
    let made =
        fixture.generate("client-config", json!({"args": ["serve", "--read-only"]})).unwrap();
    let text = made.shown.content;
    assert!(text.contains("starts `kenning serve --read-only` itself"), "{text}");
    let snippet = "```json\n{\"kenning\":[\"kenning\",[\"serve\",\"--read-only\"]]}\n```";
    assert_eq!(text.matches(snippet).count(), 2, "{text}");
    assert!(text.contains("## ONE\n\n`.one.json`\n\n"), "{text}");
    assert!(text.contains("`~/.two` (Linux), `~/Library/two` (macOS)\n\n```"), "{text}");
    let one = fixture.generate("client-config", json!({"client": "two"})).unwrap().shown.content;
    assert!(one.contains("Then: start two.") && !one.contains("ONE"), "{one}");
}

#[test]
fn a_config_of_the_workspace_stands_before_the_built_in_one() {
    let fixture = world();
    let request = ModifyRequest {
        config_id: "agents-md".to_owned(),
        config_type: Some(ConfigType::Content),
        updates: object(json!({"metadata": {"description": "ours"}})),
        create_backup: true,
    };
    let saved = fixture.compose.modify_config(&request).unwrap();
    assert!(saved.shadows_builtin && saved.backup.is_none());
    let listed = fixture.compose.list_content(&ListRequest::default()).unwrap();
    let own = listed.content.iter().find(|one| one.id == "agents-md").unwrap();
    assert_eq!((own.origin, own.shadows_builtin), (Origin::Workspace, true));
    assert_eq!(own.description, "ours");
    std::fs::remove_file(fixture.root.path().join(saved.path)).unwrap();
    let listed = fixture.compose.list_content(&ListRequest::default()).unwrap();
    assert_eq!(listed.content[0].origin, Origin::Builtin);
    let request =
        GenerateRequest { content_config_id: "agents-md".to_owned(), ..GenerateRequest::default() };
    fixture.compose.generate_content(&request).unwrap();
}
