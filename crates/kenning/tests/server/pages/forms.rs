//! Forms: what they change, and that only the server's own pages can submit them.

use reqwest::{Method, StatusCode};
use serde_json::json;

use super::{Browser, form_token};
use crate::server::support::{Answer, DEADLINE, batch, capability_request, eventually};

/// Reports a missing capability, and returns the id of its gap.
async fn gap(browser: &mut Browser, wanted: &str, call: u64) -> String {
    let batch = batch("shop", &[capability_request(call, wanted)]);
    assert_eq!(browser.api("/ingest", &batch).await, StatusCode::OK);
    eventually(DEADLINE, async || {
        let list = browser.open("/gaps?status=all&project=shop").await.text;
        let (before, _) = list.split_once(&format!("\">{wanted}</a>"))?;
        Some(before.rsplit("/gaps/").next().unwrap().to_owned())
    })
    .await
}

#[tokio::test]
async fn registry_forms() {
    let mut browser = Browser::new();
    let added = browser.submit("/registry", "/registry/agents", "name=deploy+bot&id=7").await;
    assert_eq!(
        (added.status, added.header("location")),
        (StatusCode::SEE_OTHER, "/registry?agent=7&done=agent")
    );
    let skill = "agent=7&skill=k8s-rollout&version=1.4.0";
    let registered = browser.submit("/registry", "/registry/skills", skill).await;
    assert_eq!(registered.status, StatusCode::SEE_OTHER);
    let page = browser.open(registered.header("location")).await.text;
    assert!(page.contains("The skill was registered.") && page.contains("k8s-rollout"));
    let deactivated =
        browser.submit("/registry?agent=7", "/registry/deactivate", "agent=7&skill=k8s-rollout");
    assert_eq!(deactivated.await.status, StatusCode::SEE_OTHER);
    assert!(browser.open("/registry?agent=7").await.text.contains("inactive"));
    let found = browser.open("/registry?query=who+can+roll+out+to+kubernetes").await.text;
    assert!(found.contains("Matching skills"));

    let wrong =
        browser.submit("/registry", "/registry/skills", "agent=7&skill=x&version=one").await;
    assert_eq!(wrong.status, StatusCode::BAD_REQUEST);
    assert!(
        wrong.text.contains("Invalid semantic version") && wrong.text.contains("value=\"one\"")
    );
    let unknown = browser.submit("/registry", "/registry/skills", "agent=99&skill=x&version=1.0.0");
    assert_eq!(unknown.await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn gap_and_proposal_forms() {
    let mut browser = Browser::new();
    let id = gap(&mut browser, "print an invoice", 1).await;
    let other = gap(&mut browser, "reserve a meeting room", 2).await;
    let page = browser.open(&format!("/gaps/{id}")).await.text;
    assert!(
        page.contains("mcpeye_request_capability") && page.contains("class=\"asked\""),
        "replay"
    );
    for (verb, fields, state) in [
        ("mute", "", "muted"),
        ("reopen", "because=still+wanted", "reopened"),
        ("close", "by=Ada&note=there+is+a+tool", "closed"),
        ("reopen", "", "reopened"),
    ] {
        let path = format!("/gaps/{id}");
        let response = browser.submit(&path, &format!("{path}/{verb}"), fields).await;
        assert_eq!(response.status, StatusCode::SEE_OTHER, "{verb}: {}", response.text);
        let page = browser.open(&path).await.text;
        assert!(page.contains(&format!("\">{state}</span>")), "{verb}");
    }
    let path = format!("/gaps/{id}");
    let unnamed = browser.submit(&path, &format!("{path}/close"), "note=kept").await;
    assert_eq!(unnamed.status, StatusCode::BAD_REQUEST);
    assert!(unnamed.text.contains("value=\"kept\""), "fields keep their values");
    let merged = browser.submit(&path, &format!("{path}/merge"), &format!("into={other}")).await;
    assert_eq!(merged.header("location"), format!("/gaps/{other}?done=merged"));

    for (title, verb, state) in
        [("Invoices", "accept", "accepted"), ("Meetings", "reject", "rejected")]
    {
        let proposal = json!({"title": title, "markdown": "Print it.", "targetPath": format!("{title}.md"),
            "gapId": other});
        assert_eq!(browser.api("/api/v1/proposals", &proposal).await, StatusCode::CREATED);
        let list = browser.open("/gaps").await.text;
        let (before, _) = list.split_once(&format!("\">{title}</a>")).unwrap();
        let path = format!("/proposals/{}", before.rsplit("/proposals/").next().unwrap());
        let response = browser.submit(&path, &format!("{path}/{verb}"), "by=Ada").await;
        assert_eq!(response.status, StatusCode::SEE_OTHER, "{}", response.text);
        assert!(browser.open(&path).await.text.contains(&format!("\">{state}</span>")));
    }
    assert_eq!(browser.project.read("Invoices.md"), "# Invoices\n\nPrint it.\n");
    assert!(!browser.project.root().join("Meetings.md").exists());
}

#[tokio::test]
async fn forms_without_our_token_cookie_and_origin_are_refused() {
    let mut browser = Browser::new();
    let token = form_token(&browser.open("/registry").await.text).unwrap();
    let post = async |browser: &mut Browser, body: String| {
        browser.send(Method::POST, "/registry/agents", Some(body)).await.status
    };
    assert_eq!(post(&mut browser, "name=a".to_owned()).await, StatusCode::FORBIDDEN);
    let wrong = format!("name=a&form_token={}", "0".repeat(64));
    assert_eq!(post(&mut browser, wrong).await, StatusCode::FORBIDDEN);
    let cookies = std::mem::replace(&mut browser.cookies, vec!["kenning_form=other".to_owned()]);
    let good = format!("name=a&form_token={token}");
    assert_eq!(
        post(&mut browser, good.clone()).await,
        StatusCode::FORBIDDEN,
        "the cookie of another session"
    );
    browser.cookies = cookies;
    let foreign = browser.http.post(browser.server.url("/registry/agents"));
    let foreign = foreign.header("Origin", "http://evil.example").body(good.clone());
    let foreign = Answer::to(foreign.header("Cookie", browser.cookies.join("; "))).await;
    assert_eq!(foreign.status, StatusCode::FORBIDDEN);
    assert!(browser.open("/registry").await.text.contains("No agents yet."));
    assert_eq!(post(&mut browser, good).await, StatusCode::SEE_OTHER);
}
