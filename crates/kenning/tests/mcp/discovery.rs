//! From a task to what should be read, whatever happens to the files meanwhile.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rmcp::ClientHandler;
use rmcp::ServiceExt;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, ProgressNotificationParam, object,
};
use rmcp::service::{NotificationContext, PeerRequestOptions, RoleClient};
use rmcp::transport::TokioChildProcess;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::client::{Client, call, handbook, kenning, stdio_client};

/// Asks until all vectors are there.
async fn discover(client: &Client, task: &str) -> Value {
    loop {
        let answer = call(client, "discover_context", json!({"task_description": task})).await;
        if !answer["message"].as_str().is_some_and(|message| message.contains("vectors")) {
            return answer;
        }
    }
}

fn files(answer: &Value) -> Vec<&str> {
    let recommended = answer["recommendations"].as_array().unwrap().iter();
    recommended.map(|r| r["path"].as_str().unwrap().split('#').next().unwrap()).collect()
}

#[tokio::test]
async fn a_task_with_clear_matches_leads_to_the_guideline_and_its_text() {
    let client = stdio_client(&handbook()).await;
    let answer = discover(&client, "Let users sign in with JWT access tokens").await;
    let best = &answer["recommendations"][0];
    assert_eq!(files(&answer)[0], "guidelines/SECURITY.md", "{answer}");
    assert!(best["relevance_score"].as_f64().unwrap() >= 0.7, "{answer}");
    let ids = json!({"ids": [best["id"]]});
    let read = call(&client, "retrieve_knowledge", ids).await;
    let content = read["nodes"][0]["content"].as_str().unwrap();
    assert!(content.contains("token"), "{content}");
    client.cancel().await.unwrap();
}

#[tokio::test]
async fn a_task_nobody_wrote_about_is_answered_with_nothing_and_a_message() {
    let client = stdio_client(&handbook()).await;
    let answer = discover(&client, "knit a woollen jumper for a penguin").await;
    assert_eq!(answer["recommendations"], json!([]));
    assert_eq!(answer["total_available"], 0);
    assert!(answer["message"].as_str().unwrap().contains("penguin"), "{answer}");
    client.cancel().await.unwrap();
}

#[tokio::test]
async fn an_ambiguous_task_is_answered_from_several_files() {
    let client = stdio_client(&handbook()).await;
    let answer = discover(&client, "database changes").await;
    let mut files = files(&answer);
    files.sort_unstable();
    files.dedup();
    assert!(files.len() >= 3, "{answer}");
    client.cancel().await.unwrap();
}

/// Hears how far the vectors are.
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
async fn a_large_base_answers_at_once_and_says_how_far_it_is() {
    let folder = TempDir::new().unwrap();
    for n in 0..3_000 {
        let text = format!("# Carrier {n}\nHow carrier {n} prints labels for parcels.\n");
        fs::write(folder.path().join(format!("carrier-{n}.md")), text).unwrap();
    }
    let (tell, mut heard) = tokio::sync::mpsc::unbounded_channel();
    let command = tokio::process::Command::from(kenning(folder.path(), &[]));
    let client = Progress(tell).serve(TokioChildProcess::new(command).unwrap()).await.unwrap();
    let arguments = json!({"task_description": "print the labels of carrier 2718"});
    let params = CallToolRequestParams::new("discover_context").with_arguments(object(arguments));
    let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
    // A progress token goes with every request that is sent this way.
    let sent = client.send_cancellable_request(request, PeerRequestOptions::no_options());
    let answer = serde_json::to_value(sent.await.unwrap().await_response().await.unwrap()).unwrap();
    let answer = &answer["structuredContent"];
    assert_eq!(answer["recommendations"][0]["path"], "carrier-2718.md", "{answer}");
    assert!(answer["message"].as_str().unwrap().contains("vectors"), "{answer}");
    let progress = heard.recv().await.unwrap();
    assert_eq!(progress.total, Some(3_000.0));
    assert!(progress.progress < 3_000.0);
    client.cancel().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_move_and_vanish_under_a_query_are_never_an_error() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name);
    for n in 0..50 {
        fs::write(path(&format!("f{n}.md")), format!("# Note {n}\nAbout turbines.\n")).unwrap();
    }
    let client = stdio_client(folder.path()).await;
    let (stop, root) = (Arc::new(AtomicBool::new(false)), folder.path().to_owned());
    let until = stop.clone();
    let churning = std::thread::spawn(move || churn(&root, &until));
    for _ in 0..100 {
        let found = call(&client, "search_knowledge", json!({"query": "turbines"})).await;
        assert!(found["results"].is_array(), "{found}");
    }
    stop.store(true, Ordering::Relaxed);
    churning.join().unwrap();
    fs::write(path("last.md"), "# Last\nThe sentinel.\n").unwrap();
    let sentinel = json!({"query": "sentinel", "search_type": "keyword"});
    while call(&client, "search_knowledge", sentinel.clone()).await["results"] == json!([]) {}
    let all = json!({"query": "turbines", "search_type": "keyword", "max_results": 100});
    let found = call(&client, "search_knowledge", all).await;
    for hit in found["results"].as_array().unwrap() {
        assert!(path(hit["path"].as_str().unwrap()).exists(), "stale: {hit}");
    }
    client.cancel().await.unwrap();
}

/// Renames, deletes and rewrites files until told to stop.
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
