//! Artifacts and contents, on pages and over REST.

use reqwest::{Method, StatusCode};
use serde_json::json;

use super::Browser;

#[tokio::test]
async fn artifacts_are_previewed_and_built() {
    let mut browser = Browser::new();
    let page = "/compose/artifact/agents-md";
    let list = browser.open("/compose").await.text;
    for part in
        [page, "jinja2", "code_generation", "ANTHROPIC_API_KEY", "No texts were generated yet."]
    {
        assert!(list.contains(part), "{part}");
    }
    let preview = browser.open(&format!("{page}?preview=yes&v.title=Team+rules")).await.text;
    assert!(preview.contains("# Team rules") && preview.contains("a new file"), "{preview}");
    assert!(preview.contains(" tokens</b>"), "the preview has its size");
    let file = browser.project.root().join("AGENTS.md");
    assert!(!file.exists(), "a preview writes nothing");

    let wrong = browser.open(&format!("{page}?preview=yes&v.max_tokens=many")).await.text;
    assert!(wrong.contains("`max_tokens` must be a number"), "{wrong}");
    let forged = browser.send(Method::POST, &format!("{page}/build"), Some(String::new())).await;
    assert_eq!(forged.status, StatusCode::FORBIDDEN);
    assert!(!file.exists());

    let build = async |browser: &mut Browser, fields: &str| {
        browser.submit(page, &format!("{page}/build"), fields).await
    };
    let built = build(&mut browser, "v.title=Team+rules").await;
    assert_eq!(built.status, StatusCode::SEE_OTHER, "{}", built.text);
    assert!(built.header("location").ends_with("v.title=Team%20rules&preview=yes&done=written"));
    assert!(std::fs::read_to_string(&file).unwrap().starts_with("# Team rules"));
    let again = build(&mut browser, "v.title=Team+rules").await;
    assert!(again.header("location").ends_with("done=unchanged"), "{}", again.header("location"));

    std::fs::write(&file, "By hand.\n").unwrap();
    let refused = build(&mut browser, "v.title=Team+rules").await;
    assert_eq!(refused.status, StatusCode::CONFLICT);
    assert!(refused.text.contains("value=\"Team rules\""), "fields keep their values");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "By hand.\n");
    let forced = build(&mut browser, "v.title=Team+rules&force=yes").await;
    assert!(forced.header("location").ends_with("done=written"));
    assert_eq!(browser.open("/compose/artifact/nothing").await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn contents_are_generated_and_stored() {
    let mut browser = Browser::new();
    let page = "/compose/content/agents-md";
    let first = browser.submit(page, &format!("{page}/generate"), "").await;
    assert_eq!(first.status, StatusCode::SEE_OTHER, "{}", first.text);
    let saved = browser.open(first.header("location")).await.text;
    assert!(saved.contains("The text was generated") && saved.contains("Version of"), "{saved}");
    assert!(saved.contains(">valid</span>"), "its rules are checked");
    let again = browser.submit(page, &format!("{page}/generate"), "").await;
    assert!(
        again.header("location").ends_with("done=unchanged-text"),
        "{}",
        again.header("location")
    );
    assert!(browser.open("/compose").await.text.contains("Newest version"));

    let broken = "{\"type\": \"content\", \"id\": \"broken\"}";
    browser.project.write(".kenning/compose/content/broken.json", broken);
    assert!(browser.open("/compose").await.text.contains("class=\"problem\""));
    let broken = browser.open("/compose/content/broken").await;
    assert_eq!(broken.status, StatusCode::BAD_REQUEST);
    assert!(broken.text.matches("is a required property").count() > 1, "every problem is listed");
}

#[tokio::test]
async fn compose_over_rest() {
    let mut browser = Browser::new();
    let configs = browser.open("/api/v1/compose/configs?origin=builtin").await.text;
    assert!(configs.contains("\"agents-md\"") && configs.contains("\"contents\""));
    let config = browser.open("/api/v1/compose/configs/content/agents-md").await.text;
    assert!(config.contains("\"type\":\"jinja2\""), "{config}");
    let nothing = browser.open("/api/v1/compose/configs/content/nothing").await;
    assert_eq!(nothing.status, StatusCode::NOT_FOUND);
    let generators = browser.open("/api/v1/list_generators").await.text;
    assert!(generators.contains("\"absent\":[{\"type\":\"code_generation\""), "{generators}");
    let preview = json!({"content_config_id": "agents-md", "context": {"title": "T"}});
    assert_eq!(browser.api("/api/v1/preview_generation", &preview).await, StatusCode::OK);
    let artifact = json!({"artifact_config_id": "agents-md"});
    assert_eq!(browser.api("/api/v1/preview_artifact", &artifact).await, StatusCode::OK);
    assert!(!browser.project.root().join("AGENTS.md").exists());
    let generate = json!({"content_config_id": "agents-md"});
    assert_eq!(browser.api("/api/v1/generate_content", &generate).await, StatusCode::OK);
    assert_eq!(browser.api("/api/v1/assemble_artifact", &artifact).await, StatusCode::OK);
    assert!(browser.project.root().join("AGENTS.md").exists());
    let stored = browser.open("/api/v1/query_ephemeral_storage?content_id=agents-md&retrieval=all");
    assert!(stored.await.text.contains("\"total\":1"));
    let text = browser.open("/api/v1/compose/contents/agents-md").await.text;
    assert!(text.contains("# Working here"));
    let validate = json!({"content_or_config_id": "agents-md"});
    assert_eq!(browser.api("/api/v1/validate_content", &validate).await, StatusCode::OK);
}
