//! From a task to what should be read, whatever happens to the files meanwhile.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rmcp::ClientHandler;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, ProgressNotificationParam, object,
};
use rmcp::service::{NotificationContext, PeerRequestOptions, RoleClient};
use serde_json::{Value, json};

use crate::server::support::{
    Client, DEADLINE, Project, call, call_when_indexed, connect_as, eventually, within,
};

async fn discover(client: &Client, task: &str) -> Value {
    call_when_indexed(client, "discover_context", &json!({"task_description": task})).await
}

fn files(answer: &Value) -> Vec<&str> {
    let recommended = answer["recommendations"].as_array().unwrap().iter();
    recommended.map(|r| r["path"].as_str().unwrap().split('#').next().unwrap()).collect()
}

#[tokio::test]
async fn a_task_with_clear_matches_leads_to_the_guideline_and_its_text() {
    let client = Project::handbook().client(&[]).await;
    let answer = discover(&client, "Let users sign in with JWT access tokens").await;
    let best = &answer["recommendations"][0];
    assert_eq!(files(&answer)[0], "guidelines/SECURITY.md", "{answer}");
    assert!(best["relevance_score"].as_f64().unwrap() >= 0.7, "{answer}");
    let ids = json!({"ids": [best["id"]]});
    let read = call(&client, "retrieve_knowledge", ids).await;
    let content = read["nodes"][0]["content"].as_str().unwrap();
    assert!(content.contains("token"), "{content}");
    within(client.cancel()).await.unwrap();
}

#[tokio::test]
async fn a_task_without_a_match_is_answered_with_nothing_and_a_message() {
    let client = Project::handbook().client(&[]).await;
    let answer = discover(&client, "knit a woollen jumper for a penguin").await;
    assert_eq!(answer["recommendations"], json!([]));
    assert_eq!(answer["total_available"], 0);
    assert!(answer["message"].as_str().unwrap().contains("penguin"), "{answer}");
    within(client.cancel()).await.unwrap();
}

#[tokio::test]
async fn an_ambiguous_task_is_answered_from_several_files() {
    let client = Project::handbook().client(&[]).await;
    let answer = discover(&client, "database changes").await;
    let mut files = files(&answer);
    files.sort_unstable();
    files.dedup();
    assert!(files.len() >= 3, "{answer}");
    within(client.cancel()).await.unwrap();
}

/// Passes on how many vectors are computed.
struct Progress(tokio::sync::mpsc::UnboundedSender<ProgressNotificationParam>);

impl ClientHandler for Progress {
    async fn on_progress(
        &self,
        progress: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let _ = self.0.send(progress);
    }
}

#[tokio::test]
async fn a_large_base_answers_before_its_vectors_are_computed_and_reports_progress() {
    let project = Project::empty();
    for n in 0..3_000 {
        let text = format!("# Carrier {n}\nHow carrier {n} prints labels for parcels.\n");
        fs::write(project.root().join(format!("carrier-{n}.md")), text).unwrap();
    }
    let (sender, mut reports) = tokio::sync::mpsc::unbounded_channel();
    let client = connect_as(Progress(sender), project.serve(&[])).await;
    let arguments = json!({"task_description": "print the labels of carrier 2718"});
    let params = CallToolRequestParams::new("discover_context").with_arguments(object(arguments));
    let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
    // A progress token goes with every request that is sent this way.
    let sent = client.send_cancellable_request(request, PeerRequestOptions::no_options());
    let answer = within(within(sent).await.unwrap().await_response()).await.unwrap();
    let answer = serde_json::to_value(answer).unwrap();
    let answer = &answer["structuredContent"];
    assert_eq!(answer["recommendations"][0]["path"], "carrier-2718.md", "{answer}");
    assert!(answer["message"].as_str().unwrap().contains("vectors"), "{answer}");
    let progress = within(reports.recv()).await.unwrap();
    assert_eq!(progress.total, Some(3_000.0));
    assert!(progress.progress < 3_000.0);
    within(client.cancel()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_move_and_vanish_during_a_query_are_never_an_error() {
    let project = Project::empty();
    for n in 0..50 {
        project.write(&format!("f{n}.md"), &format!("# Note {n}\nAbout turbines.\n"));
    }
    let client = project.client(&[]).await;
    let (stop, root) = (Arc::new(AtomicBool::new(false)), project.root().to_owned());
    let until = stop.clone();
    let churning = std::thread::spawn(move || churn(&root, &until));
    for _ in 0..100 {
        let found = call(&client, "search_knowledge", json!({"query": "turbines"})).await;
        assert!(found["results"].is_array(), "{found}");
    }
    stop.store(true, Ordering::Relaxed);
    churning.join().unwrap();
    // Once the last change is indexed, so are all before it.
    project.write("last.md", "# Last\nThe sentinel.\n");
    let sentinel = json!({"query": "sentinel", "search_type": "keyword"});
    eventually(DEADLINE, async || {
        let found = call(&client, "search_knowledge", sentinel.clone()).await;
        (found["results"] != json!([])).then_some(())
    })
    .await;
    let all = json!({"query": "turbines", "search_type": "keyword", "max_results": 100});
    let found = call(&client, "search_knowledge", all).await;
    let hits = found["results"].as_array().unwrap();
    assert!(!hits.is_empty(), "every third file is only rewritten: {found}");
    for hit in hits {
        assert!(project.root().join(hit["path"].as_str().unwrap()).exists(), "stale: {hit}");
    }
    within(client.cancel()).await.unwrap();
}

/// Renames, deletes and rewrites files until `stop` is set.
fn churn(folder: &Path, stop: &AtomicBool) {
    let path = |name: String| folder.join(name);
    for round in (0..50).cycle() {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let (from, to) = (path(format!("f{round}.md")), path(format!("g{round}.md")));
        match round % 3 {
            0 if from.exists() => fs::rename(from, to).unwrap(),
            1 if from.exists() => fs::remove_file(from).unwrap(),
            _ => fs::write(from, format!("# New {round}\nMore about turbines.\n")).unwrap(),
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}
