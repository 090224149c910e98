//! Every kind of provider, played by a script.

use std::sync::Arc;

use kenning_testkit::{Request, Scripted};
use serde_json::json;

use super::*;

fn tool() -> Tool {
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    let Value::Object(schema) = schema else { unreachable!() };
    Tool::new("weather", "Tells the weather", Arc::new(schema))
}

/// Asks a provider that checks the request and gives this answer.
fn asked(wire: Wire, check: fn(&Request), status: u16, answer: &Value) -> Result<Reply, NoReply> {
    let answer = answer.clone();
    let endpoint = Scripted::serve(move |request| {
        check(request);
        (status, answer.clone())
    });
    let base = Url::parse(&endpoint.url()).unwrap();
    let key = Key::Set(HeaderValue::from_static("secret"));
    let model = Model::at("some-model", wire, base, key).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(model.ask("What is the weather in Zürich?", &[tool()]))
}

fn has_line(request: &Request, line: &str) {
    let found = request.head.iter().any(|known| known.eq_ignore_ascii_case(line));
    assert!(found, "{line}: {:?}", request.head);
}

fn expect_call(reply: &Reply) {
    let call = reply.call.as_ref().unwrap();
    assert_eq!(call.tool, "weather");
    assert_eq!(Value::Object(call.arguments.clone()), json!({"city": "Zürich"}));
}

#[test]
fn completions() {
    let check = |request: &Request| {
        has_line(request, "POST /v1/chat/completions HTTP/1.1");
        has_line(request, "authorization: Bearer secret");
        assert_eq!(request.body["model"], "some-model");
        assert_eq!(request.body["messages"][0]["content"], "What is the weather in Zürich?");
        let function = &request.body["tools"][0]["function"];
        assert_eq!(function["name"], "weather");
        assert_eq!(function["parameters"]["properties"]["city"]["type"], "string");
    };
    let function = json!({"name": "weather", "arguments": "{\"city\": \"Zürich\"}"});
    let message = json!({"content": null, "tool_calls": [{"id": "1", "function": function}]});
    let reply = asked(Wire::Completions, check, 200, &json!({"choices": [{"message": message}]}));
    expect_call(&reply.unwrap());
    let message = json!({"role": "assistant", "content": "Föhn ☀"});
    let reply = asked(Wire::Completions, check, 200, &json!({"choices": [{"message": message}]}));
    assert_eq!(reply.unwrap(), Reply { text: "Föhn ☀".to_owned(), call: None });
}

#[test]
fn responses() {
    let check = |request: &Request| {
        has_line(request, "POST /v1/responses HTTP/1.1");
        has_line(request, "authorization: Bearer secret");
        assert_eq!(request.body["input"][0]["content"], "What is the weather in Zürich?");
        assert_eq!(request.body["tools"][0]["type"], "function");
        assert_eq!(request.body["tools"][0]["name"], "weather");
    };
    let call = json!({
        "type": "function_call", "name": "weather", "arguments": "{\"city\": \"Zürich\"}",
    });
    let answer = json!({"output": [{"type": "reasoning", "summary": []}, call]});
    expect_call(&asked(Wire::Responses, check, 200, &answer).unwrap());
    let said =
        json!([{"type": "output_text", "text": "Föhn "}, {"type": "output_text", "text": "☀"}]);
    let answer = json!({"output": [{"type": "message", "content": said}]});
    let reply = asked(Wire::Responses, check, 200, &answer).unwrap();
    assert_eq!(reply, Reply { text: "Föhn ☀".to_owned(), call: None });
}

#[test]
fn messages() {
    let check = |request: &Request| {
        has_line(request, "POST /v1/messages HTTP/1.1");
        has_line(request, "x-api-key: secret");
        has_line(request, "anthropic-version: 2023-06-01");
        assert!(request.body["max_tokens"].as_u64().unwrap() > 4_000);
        assert_eq!(request.body["messages"][0]["role"], "user");
        assert_eq!(request.body["tools"][0]["name"], "weather");
        assert_eq!(request.body["tools"][0]["input_schema"]["type"], "object");
    };
    let call =
        json!({"type": "tool_use", "id": "1", "name": "weather", "input": {"city": "Zürich"}});
    let answer = json!({"content": [{"type": "text", "text": "I look."}, call]});
    let reply = asked(Wire::Messages, check, 200, &answer).unwrap();
    assert_eq!(reply.text, "I look.");
    expect_call(&reply);
}

#[test]
fn contents() {
    let check = |request: &Request| {
        has_line(request, "POST /v1/models/some-model:generateContent HTTP/1.1");
        has_line(request, "x-goog-api-key: secret");
        let contents = &request.body["contents"];
        assert_eq!(contents[0]["parts"][0]["text"], "What is the weather in Zürich?");
        let function = &request.body["tools"][0]["functionDeclarations"][0];
        assert_eq!(function["name"], "weather");
        assert_eq!(function["parametersJsonSchema"]["type"], "object");
    };
    let answer = |parts: Value| json!({"candidates": [{"content": {"parts": parts}}]});
    let call = json!({"functionCall": {"name": "weather", "args": {"city": "Zürich"}}});
    expect_call(&asked(Wire::Contents, check, 200, &answer(json!([call]))).unwrap());
    let said = json!([{"text": "Hm.", "thought": true}, {"text": "Föhn "}, {"text": "☀"}]);
    let reply = asked(Wire::Contents, check, 200, &answer(said)).unwrap();
    assert_eq!(reply, Reply { text: "Föhn ☀".to_owned(), call: None });
}

#[test]
fn what_is_no_reply_is_an_error_with_the_providers_words() {
    let wires = [Wire::Completions, Wire::Responses, Wire::Messages, Wire::Contents];
    for wire in wires {
        let answer = json!({"error": {"message": "the quota is used up", "code": 429}});
        let error = asked(wire, |_| {}, 429, &answer).unwrap_err().to_string();
        assert!(error.starts_with("some-model does not answer: 429"), "{error}");
        assert!(error.ends_with("the quota is used up") && !error.contains("secret"), "{error}");
        let error = asked(wire, |_| {}, 200, &json!({"unrelated": 1})).unwrap_err().to_string();
        assert!(error.contains("does not answer"), "{wire:?}: {error}");
    }
}

#[test]
fn a_problem_never_shows_the_key() {
    let words = "the key secret is wrong, as is AIza";
    let echo = json!({"error": {"message": format!("{words}{}", "0aB1cD2eF3".repeat(4))}});
    let problem = asked(Wire::Completions, |_| {}, 401, &echo).unwrap_err().to_string();
    assert!(problem.contains("the key [key] is wrong, as is [REDACTED_KEY]"), "{problem}");
}

#[test]
fn a_missing_key_is_named() {
    let base = Url::parse("http://127.0.0.1:9/").unwrap();
    let model = Model::at("m", Wire::Messages, base, Key::Missing("ANTHROPIC_API_KEY")).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let error = runtime.block_on(model.ask("?", &[])).unwrap_err().to_string();
    assert_eq!(error, "m does not answer: `ANTHROPIC_API_KEY` is not set");
}
