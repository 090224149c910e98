//! The four operations on the bundled data.

use std::fs;
use std::path::Path;

use chrono::NaiveDate;
use kenning_catalog::catalog::Overlay;
use kenning_catalog::check::{Severity, check_folder};
use kenning_catalog::compare::CompareRequest;
use kenning_catalog::list::ListRequest;
use kenning_catalog::lookup::LookupRequest;
use kenning_catalog::sources::SourcesRequest;
use kenning_catalog::{Catalog, Error};
use serde_json::{Value, json};
use tempfile::TempDir;

fn lookup(catalog: &Catalog, agent: &str, capability: &str) -> Result<Value, Error> {
    let request = LookupRequest { agent: agent.to_owned(), capability: capability.to_owned() };
    Ok(serde_json::to_value(catalog.lookup(&request, &|_| None)?).unwrap())
}

fn day(date: &str) -> NaiveDate {
    date.parse().unwrap()
}

#[test]
fn lookup_has_the_fields_of_the_contract() {
    let answer = lookup(&Catalog::bundled(), "claude-code", "mcp").unwrap();
    let capability = &answer["capability"];
    assert_eq!(answer["agent"], "claude-code");
    assert_eq!(capability["name"], "MCP Support");
    assert_eq!(capability["category"], "api-integration");
    assert_eq!(capability["available"], true);
    assert_eq!(capability["maturityLevel"], "stable");
    assert!(capability["tier"].is_string() && capability["description"].is_string());
    assert!(
        capability["implementationNotes"]["setup"].as_str().unwrap().contains("claude mcp add")
    );
    assert!(capability["implementationNotes"]["startUrl"].is_string());
    let source = &capability["sources"][0];
    assert!(source["url"].is_string() && source["verifiedDate"].is_string());
    assert_eq!(source.as_object().unwrap().len(), 2);
    assert_eq!(capability.get("matchConfidence"), None, "an alias resolves with certainty");
}

#[test]
fn distinguishes_unavailable_from_unknown() {
    let catalog = Catalog::bundled();
    let no = lookup(&catalog, "aider", "MCP Support").unwrap();
    assert_eq!(no["capability"]["available"], false);
    assert!(
        !no["capability"]["sources"].as_array().unwrap().is_empty(),
        "a negative claim has a source"
    );
    let agent = catalog.agent("vscode-copilot").unwrap();
    let unknown = catalog.definitions().iter().find(|d| agent.claim(&d.name).is_none()).unwrap();
    let answer = lookup(&catalog, "vscode-copilot", &unknown.name).unwrap();
    assert_eq!(answer["capability"]["available"], Value::Null);
    assert!(answer["message"].as_str().unwrap().contains("not known"));
}

#[test]
fn ambiguous_capabilities_return_candidates_and_unknown_agents_an_error() {
    let catalog = Catalog::bundled();
    let choice = lookup(&catalog, "zed", "undo what it did").unwrap();
    assert_eq!(choice["matches"].as_array().unwrap().len(), 3);
    assert!(choice.get("capability").is_none() && choice["message"].is_string());
    let error = lookup(&catalog, "emacs", "mcp").unwrap_err();
    assert_eq!(error.code(), "AGENT_NOT_FOUND");
    assert!(error.hint().contains("claude-code"), "{}", error.hint());
    assert_eq!(lookup(&catalog, "zed", " ").unwrap_err().code(), "INVALID_ARGUMENT");
    assert_eq!(lookup(&catalog, "zed", &"x".repeat(301)).unwrap_err().code(), "INVALID_ARGUMENT");
}

#[test]
fn comparison_rows_without_the_capability_carry_only_available() {
    let request = CompareRequest { capability: "mcp".to_owned(), agents: Vec::new() };
    let answer = Catalog::bundled().compare(&request, &|_| None).unwrap();
    let answer = serde_json::to_value(answer).unwrap();
    assert_eq!(answer["capability"], "MCP Support");
    let rows = answer["comparison"].as_array().unwrap();
    assert_eq!(rows.len(), 10);
    let aider = rows.iter().find(|row| row["agent"] == "aider").unwrap();
    assert_eq!(*aider, json!({"agent": "aider", "available": false}));
    let claude = &rows[0];
    assert!(claude["implementationNotes"].get("gotchas").is_none());
    let two = CompareRequest {
        capability: "hooks".to_owned(),
        agents: vec!["Claude".to_owned(), "cursor".to_owned(), "claude-code".to_owned()],
    };
    let answer = Catalog::bundled().compare(&two, &|_| None).unwrap();
    let agents: Vec<&str> = answer.comparison.iter().map(|row| row.agent.as_str()).collect();
    assert_eq!(agents, ["claude-code", "cursor"]);
}

#[test]
fn lists_need_a_filter_and_are_compact() {
    let catalog = Catalog::bundled();
    let ask = |agent: Option<&str>, category: Option<&str>| {
        let request =
            ListRequest { agent: agent.map(str::to_owned), category: category.map(str::to_owned) };
        catalog.list(&request).map(|list| serde_json::to_value(list).unwrap())
    };
    assert_eq!(ask(None, None).unwrap_err().code(), "INVALID_ARGUMENT");
    let of_agent = ask(Some("gemini"), None).unwrap();
    assert_eq!(of_agent["agent"], "gemini-cli");
    assert_eq!(of_agent["capabilities"].as_array().unwrap().len(), catalog.definitions().len());
    assert!(of_agent["capabilities"][0].get("implementationNotes").is_none());
    let both = ask(Some("zed"), Some("Security")).unwrap();
    assert_eq!(both["capabilities"].as_array().unwrap().len(), 3);
    let of_category = ask(None, Some("security")).unwrap();
    assert!(of_category["capabilities"][0]["availableIn"].as_array().unwrap().len() > 3);
    let error = ask(None, Some("cooking")).unwrap_err();
    assert!(error.hint().contains("security"), "{}", error.hint());
}

#[test]
fn sources_have_a_freshness() {
    let ask = |today: &str, capability: Option<&str>| {
        let request = SourcesRequest {
            agent: Some("gemini-cli".to_owned()),
            capability: capability.map(str::to_owned),
        };
        let found = Catalog::bundled().sources(&request, day(today), &|_| None).unwrap();
        serde_json::to_value(found).unwrap()
    };
    let one = ask("2026-11-20", Some("hooks"));
    assert_eq!(one["total_available"], 1);
    let source = &one["claims"][0]["sources"][0];
    assert_eq!(source["freshness"], "fresh");
    assert!(source["granularity"].is_string(), "sources of one capability are detailed");
    let all = ask("2026-12-31", None);
    assert!(all["claims"].as_array().unwrap().len() > 25);
    assert_eq!(all["claims"][0]["sources"][0]["freshness"], "aging");
    assert_eq!(
        all["claims"][0]["sources"][0].get("evidence"),
        None,
        "sources of many capabilities are brief"
    );
    assert_eq!(ask("2027-06-01", None)["claims"][0]["sources"][0]["freshness"], "stale");
}

#[test]
fn bundled_data_is_valid() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/agents");
    assert_eq!(check_folder(&folder).unwrap(), []);
    let catalog = Catalog::bundled();
    let latest = catalog.agents().iter().flat_map(|agent| &agent.capabilities);
    let latest = latest.flat_map(|c| &c.sources).map(|s| s.verified_date).max().unwrap();
    let faults = catalog.check(latest);
    assert!(faults.iter().all(|fault| fault.severity == Severity::Warning), "{faults:#?}");
    assert_eq!(catalog.agents().len(), 10);
    for agent in catalog.agents() {
        assert!(agent.capabilities.len() >= 26, "{} has too few claims", agent.agent);
    }
    let no = catalog.agents().iter().flat_map(|a| &a.capabilities).filter(|c| !c.available).count();
    assert!(no >= 20, "too few claims are negative: {no}");
}

#[test]
fn old_sources_warn_then_fail_the_check() {
    let catalog = Catalog::bundled();
    let worst = |today: &str| catalog.check(day(today)).first().map(|fault| fault.severity);
    assert_eq!(worst("2026-12-31"), Some(Severity::Warning));
    assert_eq!(worst("2027-06-01"), Some(Severity::Error));
}

fn own_agent(folder: &Path, name: &str, capability: &str) {
    let agent = json!({
        "agent": name, "name": "Our Bot", "vendor": "Us", "homepage": "https://bot.example",
        "aliases": ["robbie"],
        "capabilities": [{
            "name": capability, "available": true, "tier": "free", "maturityLevel": "beta",
            "description": "Answers the telephone in the office.",
            "implementationNotes": {"setup": "ring twice"},
            "sources": [{
                "url": "https://bot.example/docs", "description": "The manual",
                "granularity": "dedicated", "verifiedDate": "2026-11-01"
            }]
        }]
    });
    fs::create_dir_all(folder.join(name)).unwrap();
    fs::write(folder.join(name).join("capabilities.json"), agent.to_string()).unwrap();
}

#[test]
fn own_catalogs_extend_or_replace_the_bundled_one() {
    let folder = TempDir::new().unwrap();
    own_agent(folder.path(), "our-bot", "Telephone");
    let undefined = Catalog::with_folder(folder.path(), Overlay::Extend).unwrap_err();
    assert!(undefined.to_string().contains("`Telephone` is not a capability"), "{undefined}");
    let definitions = json!({"capabilities": [{
        "name": "Telephone", "category": "office", "description": "Answer calls",
        "aliases": ["phone calls"]
    }]});
    fs::write(folder.path().join("capabilities.json"), definitions.to_string()).unwrap();
    let both = Catalog::with_folder(folder.path(), Overlay::Extend).unwrap();
    assert_eq!(both.agents().len(), 11);
    let answer = lookup(&both, "Robbie", "phone calls").unwrap();
    assert_eq!(answer["capability"]["implementationNotes"]["setup"], "ring twice");
    assert!(lookup(&both, "claude", "hooks").is_ok());
    let only = Catalog::with_folder(folder.path(), Overlay::Replace).unwrap();
    assert_eq!(only.agents().len(), 1);
    assert_eq!(lookup(&only, "claude", "hooks").unwrap_err().code(), "AGENT_NOT_FOUND");
}

#[test]
fn invalid_folders_are_rejected_with_a_reason() {
    let folder = TempDir::new().unwrap();
    let problem =
        |folder: &Path| Catalog::with_folder(folder, Overlay::Extend).unwrap_err().to_string();
    assert!(problem(folder.path()).contains("there is no <agent>/capabilities.json"));
    assert!(problem(&folder.path().join("nowhere")).contains("nowhere"));
    fs::create_dir(folder.path().join("x")).unwrap();
    fs::write(folder.path().join("x/capabilities.json"), "{\"agent\": 1}").unwrap();
    assert!(problem(folder.path()).contains("capabilities.json"));
    let faults = check_folder(folder.path()).unwrap();
    assert!(faults.iter().any(|fault| fault.problem.contains("vendor")), "{faults:?}");
}
