//! Every advertised limit holds: input at the limit is accepted, and input beyond it is refused.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use kenning_app::{Capacity, Inventory, Services};
use kenning_compose::Timestamp;
use rmcp::model::{ArgumentInfo, CompleteRequestParams, Reference};
use serde_json::{Value, json};

use crate::fixture::{Client, Fixture, Hold, call, connect, connect_with, describe, read, within};
use crate::workspace;

#[tokio::test]
async fn every_advertised_limit_holds() {
    let client = Fixture::handbook().client().await;
    let server = describe(&client, "server").await;
    let limits = server["limits"].as_object().unwrap();
    assert!(!limits.is_empty());
    for (name, value) in limits {
        provoke(&client, name, usize::try_from(value.as_u64().unwrap()).unwrap()).await;
    }
}

/// Tests input at the limit and beyond it.
async fn provoke(client: &Client, name: &str, limit: usize) {
    match name {
        "max_concurrent_requests" => concurrent(limit).await,
        "max_waiting_requests" => waiting(limit).await,
        // Tested by `a_call_that_takes_too_long_is_given_up_and_keeps_its_permit`, with less time.
        "request_timeout_ms" => {}
        "resource_page_size" => page(limit).await,
        "max_completion_values" => completions(limit).await,
        "max_file_bytes" => file_bytes(limit).await,
        "max_nodes_per_file" => nodes_per_file(limit).await,
        "max_source_claims" => source_claims(client, limit).await,
        "max_agent_id" => agent_id(client, limit).await,
        "max_catalog_name_chars" => catalog_names(client, limit).await,
        "max_content_size_bytes" => content_size(client, limit).await,
        "max_artifact_components" => components(client, limit).await,
        "ephemeral_retention_days" => retention(limit).await,
        "max_batch_size" => batch_size(client, limit).await,
        "max_version_chars" => {
            let version = |length: usize| format!("1.0.0-{}", "a".repeat(length - 6));
            let arguments = |length| register(1, "x", &version(length), &json!({}));
            let refused = call(client, REGISTER, arguments(limit + 1)).await;
            assert_eq!(refused["error"], "INVALID_SEMVER", "{refused}");
            accepted(client, REGISTER, arguments(limit)).await;
        }
        _ => {
            for (tool, arguments) in asking_for(name) {
                accepted(client, tool, arguments(limit)).await;
                refused(client, tool, arguments(limit + 1)).await;
            }
        }
    }
}

const REGISTER: &str = "register_agent_capabilities";

type Arguments = fn(usize) -> Value;

/// Calls that are refused as soon as they ask for more than the limit.
fn asking_for(limit: &str) -> Vec<(&'static str, Arguments)> {
    match limit {
        "max_query_chars" => vec![
            ("search_knowledge", |n| json!({"query": "x".repeat(n), "search_type": "keyword"})),
            ("discover_context", |n| json!({"task_description": "x".repeat(n)})),
        ],
        "max_search_results" => vec![
            ("search_knowledge", |n| json!({"query": "tests", "max_results": n})),
            ("discover_context", |n| json!({"task_description": "tests", "max_results": n})),
        ],
        "max_retrieve_ids" => {
            vec![("retrieve_knowledge", |n| json!({"ids": vec!["README.md"; n]}))]
        }
        "max_retrieve_tokens" => {
            vec![("retrieve_knowledge", |n| json!({"ids": ["README.md"], "max_tokens": n}))]
        }
        "max_list_results" => vec![("list_knowledge_bases", |n| json!({"max_results": n}))],
        "max_dependency_depth" => {
            vec![("get_dependencies", |n| json!({"node_id": "README.md", "depth": n}))]
        }
        "max_capabilities_per_call" => {
            vec![(REGISTER, |n| register(n, "many", "1.0.0", &json!({})))]
        }
        "max_skill_name_chars" => {
            // The name of the first ends in its number.
            vec![(REGISTER, |n| register(1, &"x".repeat(n - 1), "1.0.0", &json!({})))]
        }
        "max_metadata_bytes" => vec![(REGISTER, |n| {
            let rest = "a".repeat(n - r#"{"a":""}"#.len());
            register(1, "heavy", "1.0.0", &json!({"a": rest}))
        })],
        "max_listed_groups" => vec![("list_all_capabilities", |n| json!({"max_results": n}))],
        "max_skill_query_chars" => {
            vec![("list_all_capabilities", |n| json!({"query": "x".repeat(n)}))]
        }
        "max_batch_parallel" => vec![(
            "batch_generate_content",
            |n| json!({"content_ids": ["referenced"], "max_parallel": n}),
        )],
        "max_listed_configs" => vec![
            ("list_content", |n| json!({"limit": n})),
            ("list_artifacts", |n| json!({"limit": n})),
            ("query_ephemeral_storage", |n| json!({"limit": n})),
        ],
        unknown => panic!("`{unknown}` is advertised, and nothing here provokes it"),
    }
}

fn register(count: usize, name: &str, version: &str, metadata: &Value) -> Value {
    let skill = |n: usize| json!({"skill_name": format!("{name}{n}"), "version": version, "metadata": metadata});
    json!({"agent_id": 11, "capabilities": (0..count).map(skill).collect::<Vec<_>>()})
}

async fn accepted(client: &Client, tool: &'static str, arguments: Value) {
    let answer = call(client, tool, arguments).await;
    assert_eq!(answer.get("error"), None, "{tool}: {answer}");
}

async fn refused(client: &Client, tool: &'static str, arguments: Value) {
    let answer = call(client, tool, arguments).await;
    assert_eq!(answer["error"], "INVALID_ARGUMENT", "{tool}: {answer}");
}

async fn exceeded(client: &Client, tool: &'static str, arguments: Value) {
    let answer = call(client, tool, arguments).await;
    assert_eq!(answer["error"], "LIMIT_EXCEEDED", "{tool}: {answer}");
}

async fn content_size(client: &Client, limit: usize) {
    let arguments = |length: usize| {
        let rest = "x".repeat(length - r#"{"name":""}"#.len());
        json!({"content_config_id": "needs-name", "context": {"name": rest}})
    };
    exceeded(client, "preview_generation", arguments(limit + 1)).await;
    accepted(client, "preview_generation", arguments(limit)).await;
}

async fn components(client: &Client, limit: usize) {
    let draft = |children| json!({"config_type": "artifact", "config_data": workspace::artifact("x", children)});
    accepted(client, "draft_config", draft(limit)).await;
    exceeded(client, "draft_config", draft(limit + 1)).await;
}

async fn batch_size(client: &Client, limit: usize) {
    let ids = |count: usize| (0..count).map(|n| format!("c{n}")).collect::<Vec<_>>();
    let answer = call(client, "batch_generate_content", json!({"content_ids": ids(limit)})).await;
    assert_eq!(answer["failed"], limit, "there are no such configs: {answer}");
    exceeded(client, "batch_generate_content", json!({"content_ids": ids(limit + 1)})).await;
}

/// Uses a clock that the test sets.
async fn retention(days: usize) {
    const DAY: i64 = 86_400_000;
    let now = Arc::new(AtomicI64::new(1_766_829_600_000));
    let (clock, fixture) = (now.clone(), Fixture::handbook());
    let compose = workspace::open_at(move || Timestamp(clock.load(Ordering::SeqCst)));
    let client =
        connect(Inventory::full(), Services { compose: Some(compose), ..fixture.services() }).await;
    let generate = json!({"content_config_id": "referenced", "force": true});
    let versions = async || {
        let all = json!({"content_id": "referenced", "retrieval": "all"});
        call(&client, "query_ephemeral_storage", all).await["total"].clone()
    };
    now.fetch_add(i64::try_from(days).unwrap() * DAY, Ordering::SeqCst);
    accepted(&client, "generate_content", generate.clone()).await;
    assert_eq!(versions().await, 2);
    now.fetch_add(DAY, Ordering::SeqCst);
    accepted(&client, "generate_content", generate).await;
    assert_eq!(versions().await, 2, "the first was too old");
}

async fn holding() -> (Hold, Client) {
    let hold = Hold::default();
    let client = connect(hold.added_to(Inventory::full()), Fixture::handbook().services()).await;
    (hold, client)
}

async fn concurrent(limit: usize) {
    let (hold, client) = holding().await;
    let held = hold.start(&client, limit + 1, limit).await;
    // Long enough for one call more to start, if the limit did not hold.
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(hold.started(), limit);
    hold.release(limit + 1);
    for call in held {
        within(call).await.unwrap().unwrap();
    }
    assert_eq!(hold.started(), limit + 1, "the call that waited ran, too");
}

async fn waiting(limit: usize) {
    let (hold, client) = holding().await;
    let server = describe(&client, "server").await;
    let concurrent = &server["limits"]["max_concurrent_requests"];
    let concurrent = usize::try_from(concurrent.as_u64().unwrap()).unwrap();
    let permits = concurrent + limit;
    let held = hold.start(&client, permits, concurrent).await;
    let refused = call(&client, Hold::NAME, json!({})).await;
    assert_eq!(refused["error"], "UNAVAILABLE");
    hold.release(permits);
    for call in held {
        assert_ne!(within(call).await.unwrap().unwrap().is_error, Some(true));
    }
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_given_up_and_keeps_its_permit() {
    let hold = Hold::default();
    let timeout = Duration::from_secs(3);
    let capacity = Capacity { concurrent: 1, waiting: 0, timeout };
    let services = Fixture::handbook().services();
    let client = connect_with(hold.added_to(Inventory::full()), services, capacity).await;
    let limits = describe(&client, "server").await["limits"].clone();
    assert_eq!(limits["request_timeout_ms"], 3_000);
    let began = Instant::now();
    let timed_out = call(&client, Hold::NAME, json!({})).await;
    assert!(began.elapsed() >= timeout);
    assert_eq!(timed_out["error"], "UNAVAILABLE");
    assert!(timed_out["message"].as_str().unwrap().contains("longer than 3s"), "{timed_out}");
    // The work still runs, so that there is no permit for another call or a resource.
    let busy = call(&client, "list_knowledge_bases", json!({})).await;
    assert!(busy["message"].as_str().unwrap().contains("busy"), "{busy}");
    read(&client, "capabilities://server").await.unwrap_err();
    hold.release(1);
    let listed = async {
        while call(&client, "list_knowledge_bases", json!({})).await.get("error").is_some() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    within(Box::pin(listed)).await;
}

async fn many_files(count: usize) -> Client {
    let names: Vec<String> = (0..count).map(|n| format!("f{n:04}.md")).collect();
    let file = |name| ("many", name, "# x\n".to_owned());
    let files: Vec<_> = names.iter().map(|name| file(name.as_str())).collect();
    Fixture::with_files(&files).client().await
}

async fn page(limit: usize) {
    let client = many_files(limit + 1).await;
    let first = within(client.list_resources(None)).await.unwrap();
    assert_eq!(first.resources.len(), limit);
    assert!(first.next_cursor.is_some());
    assert!(within(client.list_all_resources()).await.unwrap().len() > limit);
}

async fn completions(limit: usize) {
    let client = many_files(limit + 1).await;
    let reference = Reference::for_resource("knowledge://{base}/{+path}");
    let request = CompleteRequestParams::new(reference, ArgumentInfo::new("path", "f"));
    let completion = within(client.complete(request)).await.unwrap().completion;
    assert_eq!(completion.values.len(), limit);
    assert_eq!(completion.has_more, Some(true));
}

async fn file_bytes(limit: usize) {
    let text = |length: usize| format!("# x\n{}", "y".repeat(length - 4));
    let fixture = Fixture::with_files(&[
        ("a", "fits.md", text(limit)),
        ("a", "too-long.md", text(limit + 1)),
    ]);
    let list = call(&fixture.client().await, "list_knowledge_bases", json!({})).await;
    assert_eq!(list["knowledge_bases"][0]["path"], "fits.md");
    assert_eq!(list["total_available"], 1);
}

async fn nodes_per_file(limit: usize) {
    let text = |nodes: usize| format!("# x\n{}", "## y\n".repeat(nodes - 1));
    let fixture =
        Fixture::with_files(&[("a", "fits.md", text(limit)), ("a", "more.md", text(limit + 1))]);
    let list = call(&fixture.client().await, "list_knowledge_bases", json!({})).await;
    for file in list["knowledge_bases"].as_array().unwrap() {
        assert_eq!(file["node_count"], limit, "{file}");
    }
}

async fn source_claims(client: &Client, limit: usize) {
    let sources = call(client, "get_sources", json!({})).await;
    assert!(sources["total_available"].as_u64().unwrap() > limit as u64);
    assert_eq!(sources["claims"].as_array().unwrap().len(), limit);
}

async fn agent_id(client: &Client, limit: usize) {
    let unknown = call(client, "get_agent_capabilities", json!({"agent_id": limit})).await;
    assert_eq!(unknown["error"], "AGENT_NOT_FOUND");
    refused(client, "get_agent_capabilities", json!({"agent_id": limit + 1})).await;
}

async fn catalog_names(client: &Client, limit: usize) {
    let (longest, longer) = ("x".repeat(limit), "x".repeat(limit + 1));
    for tool in ["lookup_capability", "get_sources"] {
        let arguments = |agent: &str| json!({"agent": agent, "capability": "hooks"});
        let unknown = call(client, tool, arguments(&longest)).await;
        assert_eq!(unknown["error"], "AGENT_NOT_FOUND", "{tool}: {unknown}");
        refused(client, tool, arguments(&longer)).await;
    }
    refused(client, "compare_capability", json!({"capability": longer})).await;
}
