//! The REST API as any HTTP client sees it.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::server::support::{Answer, Project, Server};

/// A server with agent 11 and a store of its own.
struct Site {
    server: Server,
    _project: Project,
}

impl Site {
    async fn new() -> Self {
        let project = Project::private_handbook();
        let server = project.http(&[], &[]);
        server.add_agent("Lambda", 11).await;
        Self { server, _project: project }
    }

    async fn get(&self, path: &str) -> Answer {
        self.server.get(path).await
    }

    async fn post(&self, path: &str, body: &Value) -> Answer {
        self.server.post(path, body).await
    }

    async fn send(&self, method: Method, path: &str, body: impl Into<reqwest::Body>) -> Answer {
        let request = self.server.request(method, path).header("Content-Type", "application/json");
        Answer::to(request.body(body)).await
    }

    async fn register(&self, skills: &[&str]) -> Answer {
        let skills: Vec<Value> =
            skills.iter().map(|name| json!({"skill_name": name, "version": "1.2.0"})).collect();
        self.post(REGISTER, &json!({"agent_id": 11, "capabilities": skills})).await
    }

    async fn count(&self) -> u64 {
        let found = self.get(&format!("{GET}?agent_id=11&active_only=false")).await;
        found.json()["total_count"].as_u64().unwrap()
    }
}

const REGISTER: &str = "/api/v1/register_agent_capabilities";
const GET: &str = "/api/v1/get_agent_capabilities";
const LIST: &str = "/api/v1/list_all_capabilities";
const DEACTIVATE: &str = "/api/v1/deactivate_capability";

#[tokio::test]
async fn the_four_registry_operations_follow_the_contract() {
    let site = Site::new().await;
    let registered = site.register(&["payload-cms-setup", "tdd-workflow"]).await;
    assert_eq!(registered.status, StatusCode::OK);
    assert_eq!(registered.json()["capabilities_registered"], 2);
    assert_eq!(registered.json()["message"], "Registered 2 capabilities for agent 11");
    let off = json!({"agent_id": 11, "skill_name": "tdd-workflow"}).to_string();
    let off = site.send(Method::PATCH, DEACTIVATE, off).await;
    assert_eq!((off.status, &off.json()["success"]), (StatusCode::OK, &json!(true)));
    let found = site.get(&format!("{GET}?agent_id=11")).await;
    assert_eq!(found.json()["capabilities"][0]["skill_name"], "payload-cms-setup");
    assert_eq!(found.json()["total_count"], 2);
    assert_eq!(found.json()["active_count"], 1);
    let human = site.get(&format!("{GET}?agent_id=11&format=human&active_only=false")).await;
    assert!(human.json()["text"].as_str().unwrap().contains("✗ tdd-workflow v1.2.0"));
    let listed = site.get(&format!("{LIST}?group_by=agent&active_only=false")).await;
    assert_eq!(listed.json()["capabilities"][0]["skill_count"], 2);
    assert_eq!(listed.json()["total_skills"], 2);
    let page = site.get(&format!("{LIST}?max_results=1&active_only=false")).await;
    let next = page.json()["next_cursor"].as_str().unwrap().to_owned();
    let rest = site.get(&format!("{LIST}?max_results=1&active_only=false&cursor={next}")).await;
    assert_eq!(rest.json()["capabilities"][0]["skill_name"], "tdd-workflow");
    assert_eq!(rest.json()["next_cursor"], Value::Null);
}

#[tokio::test]
async fn errors_have_the_shape_and_status_of_the_contract() {
    let site = Site::new().await;
    site.register(&["tdd-workflow"]).await;
    let one = |agent: i64, version: &str, upsert: bool| {
        json!({"agent_id": agent, "upsert": upsert,
            "capabilities": [{"skill_name": "tdd-workflow", "version": version}]})
    };
    let wrong = site.post(REGISTER, &one(11, "1.2", true)).await;
    assert_eq!(wrong.status, StatusCode::BAD_REQUEST);
    let contract = json!({
        "success": false,
        "error": "INVALID_SEMVER",
        "message": "Invalid semantic version format: '1.2'. Expected format: 'MAJOR.MINOR.PATCH'",
        "details": {"provided": "1.2", "expected": "1.2.0"}
    });
    assert_eq!(wrong.json(), contract);
    for (status, code, given) in [
        (StatusCode::NOT_FOUND, "AGENT_NOT_FOUND", one(99, "1.0.0", true)),
        (StatusCode::CONFLICT, "DUPLICATE_CAPABILITY", one(11, "1.0.0", false)),
        (StatusCode::BAD_REQUEST, "INVALID_ARGUMENT", json!({"agent_id": 11})),
        (StatusCode::BAD_REQUEST, "INVALID_ARGUMENT", json!({"agent_id": "eleven"})),
    ] {
        let refused = site.post(REGISTER, &given).await;
        assert_eq!((refused.status, refused.json()["error"].as_str()), (status, Some(code)));
        assert_eq!(refused.header("content-type"), "application/json");
    }
    let duplicate = site.post("/api/v1/agents", &json!({"name": "Lambda"})).await;
    assert_eq!(
        (duplicate.status, duplicate.json()["error"].as_str().unwrap()),
        (StatusCode::CONFLICT, "AGENT_EXISTS")
    );
    let unknown = site.get(&format!("{GET}?agent_id=11&verbose=1")).await;
    assert!(unknown.json()["message"].as_str().unwrap().contains("verbose"), "{}", unknown.json());
}

#[tokio::test]
async fn a_filter_with_an_unknown_value_is_refused_with_the_values() {
    let site = Site::new().await;
    let path = "/api/v1/list_knowledge_bases?filter_type";
    let refused = site.get(&format!("{path}=bogus")).await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{}", refused.text);
    assert!(refused.text.contains("it can be guideline, protocol, "), "{}", refused.text);
    assert_eq!(site.get(&format!("{path}=guideline")).await.status, StatusCode::OK);
}

#[tokio::test]
async fn etags_guard_against_lost_updates() {
    let site = Site::new().await;
    site.register(&["a"]).await;
    let tag = site.get(&format!("{GET}?agent_id=11")).await.header("etag").to_owned();
    let again = site.server.request(Method::GET, &format!("{GET}?agent_id=11"));
    let again = Answer::to(again.header("If-None-Match", &tag)).await;
    assert_eq!((again.status, again.json()), (StatusCode::NOT_MODIFIED, Value::Null));
    let rename = |tag: &str, name: &str| {
        let request =
            site.server.request(Method::PATCH, "/api/v1/agents/11").header("If-Match", tag);
        let request = request.header("Content-Type", "application/json");
        Answer::to(request.body(json!({ "name": name }).to_string()))
    };
    let renamed = rename(&tag, "Lambda 2").await;
    assert_eq!((renamed.status, renamed.header("etag").is_empty()), (StatusCode::OK, false));
    let late = rename(&tag, "Lambda 3").await;
    assert_eq!(late.status, StatusCode::PRECONDITION_FAILED);
    assert_eq!(late.json()["error"], "PRECONDITION_FAILED");
    for foreign in ["\"x\"", "3", ""] {
        assert_eq!(rename(foreign, "Lambda 4").await.status, StatusCode::PRECONDITION_FAILED);
    }
    assert_eq!(rename("*", "Lambda 5").await.status, StatusCode::OK);
    let late = site.server.request(Method::DELETE, "/api/v1/agents/11").header("If-Match", &tag);
    assert_eq!(Answer::to(late).await.status, StatusCode::PRECONDITION_FAILED);
    let removed = Answer::to(site.server.request(Method::DELETE, "/api/v1/agents/11")).await;
    assert_eq!(removed.json()["capabilities_removed"], 1);
    assert_eq!(site.get("/api/v1/agents/11").await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn hostile_input_is_refused_not_stored_and_not_logged() {
    let site = Site::new().await;
    let injection = "x'); DROP TABLE agents; --";
    assert_eq!(site.register(&[injection]).await.status, StatusCode::OK, "it is only a name");
    let query = "x%27%29%3B%20DROP%20TABLE%20agents%3B%20--";
    let found = site.get(&format!("{GET}?agent_id=11&skill_name={query}")).await;
    assert_eq!(found.json()["capabilities"][0]["skill_name"], injection);
    let before = site.count().await;

    let deep = format!("{}{}", "{\"a\":".repeat(100_000), "}".repeat(100_000));
    let deep_metadata = format!(
        r#"{{"agent_id":11,"capabilities":[{{"skill_name":"deep","version":"1.0.0","metadata":{deep}}}]}}"#
    );
    let large = json!({"agent_id": 11, "capabilities": [
        {"skill_name": "large", "version": "1.0.0", "metadata": {"x": "x".repeat(10_000_000)}}]});
    let invalid =
        [&b"{\"agent_id\":11,\"capabilities\":[{\"skill_name\":\""[..], b"\xff\xfe", b"\"}]}"];
    let cases: Vec<(StatusCode, Vec<u8>)> = vec![
        (StatusCode::PAYLOAD_TOO_LARGE, large.to_string().into()),
        (StatusCode::BAD_REQUEST, deep_metadata.into()),
        (StatusCode::BAD_REQUEST, invalid.concat()),
        (StatusCode::BAD_REQUEST, b"[]".to_vec()),
        (StatusCode::BAD_REQUEST, b"{\"agent_id\": 11,".to_vec()),
        (StatusCode::BAD_REQUEST, Vec::new()),
    ];
    for (status, body) in cases {
        let start = String::from_utf8_lossy(&body[..body.len().min(60)]).into_owned();
        let refused = site.send(Method::POST, REGISTER, body).await;
        assert_eq!(refused.status, status, "{start}");
        assert_eq!(refused.header("content-type"), "application/problem+json", "{start}");
        assert_eq!(refused.json()["status"], status.as_u16(), "{start}");
    }
    for id in ["-1", "0", "9007199254740992", "99999999999999999999999", "1e3", "1;--", "%00"] {
        for path in [format!("{GET}?agent_id={id}"), format!("/api/v1/agents/{id}")] {
            let refused = site.get(&path).await;
            assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{path}: {}", refused.json());
        }
    }
    let secret = "hunter2-of-this-test";
    let named = json!({"agent_id": 11, "capabilities": [
        {"skill_name": format!("{secret}\u{0}"), "version": secret}]});
    assert_eq!(site.post(REGISTER, &named).await.status, StatusCode::BAD_REQUEST);
    assert_eq!(site.get(&format!("{LIST}?query=%ff")).await.status, StatusCode::BAD_REQUEST);
    assert_eq!(site.count().await, before, "nothing was stored");
    let log = site.server.kill().await;
    assert!(!log.contains(secret), "{log}");
}

#[tokio::test]
async fn unknown_routes_methods_and_media_types_are_refused() {
    let site = Site::new().await;
    let nothing = site.get("/api/v2/agents").await;
    assert_eq!(
        (nothing.status, nothing.header("content-type")),
        (StatusCode::NOT_FOUND, "application/problem+json")
    );
    let method = Answer::to(site.server.request(Method::PUT, "/api/v1/agents")).await;
    assert_eq!(method.status, StatusCode::METHOD_NOT_ALLOWED);
    assert!(method.header("allow").contains("POST"));
    let form = site.server.request(Method::POST, "/api/v1/agents").body("name=x");
    assert_eq!(Answer::to(form).await.status, StatusCode::UNSUPPORTED_MEDIA_TYPE);
    assert_eq!(site.get("/healthz").await.status, StatusCode::OK);
}

#[tokio::test]
async fn the_openapi_document_has_every_operation() {
    let site = Site::new().await;
    let document = site.get("/api/openapi.json").await.json();
    assert_eq!(document["openapi"], "3.1.0");
    for (path, method) in [
        (REGISTER, "post"),
        (GET, "get"),
        (LIST, "get"),
        (DEACTIVATE, "patch"),
        ("/api/v1/agents", "post"),
    ] {
        let operation = &document["paths"][path][method];
        assert!(operation["summary"].is_string(), "{path}");
        assert!(operation["responses"]["400"].is_object(), "{path}");
    }
    assert!(site.get("/api").await.text.contains("PATCH /api/v1/deactivate_capability"));
}
