//! A server with the layer and without, over both transports and in both eras of the protocol.

mod clients;
mod server;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use kenning_gaps::contract::{self, Offer};
use kenning_gaps::event::IntentSource;
use kenning_gaps::{Identity, Redactor};
use kenning_wrap::layer::Recorded;
use kenning_wrap::{Caller, Recorder};
use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ClientRequest, CustomRequest, GetPromptRequestParams,
    PaginatedRequestParams, ReadResourceRequestParams, object,
};
use serde::Serialize;
use serde_json::{Value, json};

use self::clients::{CONNECTIONS, Client, Connection, Era, Transport};
use self::server::Fixture;
use crate::sink::MemorySink;

fn recorder() -> (Recorder, Arc<MemorySink>) {
    let sink = Arc::new(MemorySink::default());
    let redactor = Redactor::default();
    (Recorder::start("p", Identity::default(), redactor, sink.clone()), sink)
}

fn finish(recorder: &Recorder) {
    recorder.finish(Duration::from_mins(1));
}

async fn call(client: &Client, tool: &'static str, arguments: Value) -> Value {
    let params = CallToolRequestParams::new(tool).with_arguments(object(arguments));
    answer(client.call_tool_once(params).await.map(|response| match response {
        CallToolResponse::Complete(result) => json!(result),
        CallToolResponse::InputRequired(result) => json!(result),
        other => panic!("unexpected: {other:?}"),
    }))
}

fn answer<T: Serialize, E: std::fmt::Display>(answer: Result<T, E>) -> Value {
    answer.map_or_else(|error| json!({ "error": error.to_string() }), |result| json!(result))
}

fn page(cursor: Option<&str>) -> PaginatedRequestParams {
    PaginatedRequestParams::default().with_cursor(cursor.map(str::to_owned))
}

/// All answers of the server, lists of tools apart. Every call has the `intent`.
async fn all_answers(client: &Client, intent: Option<&str>) -> Vec<Value> {
    let with = |mut arguments: Value| {
        if let Some(intent) = intent {
            arguments["mcpeyeIntent"] = json!(intent);
        }
        arguments
    };
    let custom = ClientRequest::CustomRequest(CustomRequest::new("test/custom", None));
    vec![
        json!(client.peer_info().map(|info| json!(*info))),
        call(client, "add", with(json!({"a": 41}))).await,
        call(client, "echo", with(json!({"x": [1, 2.5, null], "é": "ü"}))).await,
        call(client, "fail", with(json!({}))).await,
        call(client, "native", with(json!({"intent": "to see"}))).await,
        call(client, "ask", with(json!({"n": 1}))).await,
        call(client, "no such", with(json!({}))).await,
        answer(client.list_prompts(None).await),
        answer(client.get_prompt(GetPromptRequestParams::new("greet")).await),
        answer(client.list_resources(None).await),
        answer(client.read_resource(ReadResourceRequestParams::new("test://one")).await),
        answer(client.read_resource(ReadResourceRequestParams::new("test://no")).await),
        answer(client.list_resource_templates(None).await),
        answer(client.send_request(custom).await),
    ]
}

/// Runs a test with a client of each era over each transport.
async fn on_every_connection<S: ServerHandler + Clone, F: Future<Output = ()>>(
    server: impl Fn() -> S,
    check_client: impl Fn(Client, Connection) -> F,
) {
    for connection in CONNECTIONS {
        check_client(clients::connect(server(), connection).await, connection).await;
    }
}

#[tokio::test]
async fn answers_are_those_of_the_server() {
    for connection in CONNECTIONS {
        let plain = clients::connect(Fixture::default(), connection).await;
        let (recorder, sink) = recorder();
        let recorded =
            clients::connect(Recorded::new(Fixture::default(), recorder.clone()), connection).await;
        let expected = all_answers(&plain, None).await;
        assert_eq!(all_answers(&recorded, Some("to try it")).await, expected, "{connection:?}");
        finish(&recorder);
        check_events(&sink, connection);
    }
}

fn check_events(sink: &MemorySink, connection: Connection) {
    let events = sink.events();
    // On the older protocol a server must not ask for input, and the SDK makes an error of it.
    let tools: Vec<&str> = events.iter().map(|event| event.tool_name.as_str()).collect();
    assert_eq!(tools, ["add", "echo", "fail", "native", "no such"], "{connection:?}");
    assert!(events.iter().all(|event| event.intent.as_deref() == Some("to try it")));
    assert!(events.iter().all(|event| event.intent_source == Some(IntentSource::Mcpeye)));
    assert_eq!(events[0].arguments, json!({"a": 41}));
    assert_eq!(events[0].result.as_ref().unwrap()["structuredContent"], json!({"sum": 42}));
    assert_eq!(events[2].error_message.as_deref(), Some("it broke for [REDACTED_EMAIL]\ntwice"));
    assert_eq!(events[4].error_message.as_deref(), Some("no tool `no such`"));
    let ends: Vec<bool> = events.iter().map(|event| event.is_error).collect();
    assert_eq!(ends, [false, false, true, false, true]);
    let batches = sink.batches.lock().unwrap();
    for batch in batches.iter() {
        assert_eq!(batch.identity.server_version.as_deref(), Some("1.2.3"));
        // Over HTTP without sessions, older clients send no name.
        let unnamed = connection == Connection(Transport::Sessionless, Era::Older);
        let name = (!unnamed).then_some("tester");
        assert_eq!(batch.identity.client.as_deref(), name, "{connection:?}");
    }
}

#[tokio::test]
async fn lists_gain_the_contract_and_nothing_else() {
    for connection in CONNECTIONS {
        let plain = clients::connect(Fixture::default(), connection).await;
        let (recorder, sink) = recorder();
        let recorded =
            clients::connect(Recorded::new(Fixture::default(), recorder.clone()), connection).await;
        let mut expected = json!(plain.list_tools(Some(page(None))).await.unwrap());
        assert_eq!(expected["nextCursor"], "2");
        expected["nextCursor"] = Value::Null;
        let mut first = json!(recorded.list_tools(Some(page(None))).await.unwrap());
        first["nextCursor"] = Value::Null;
        assert_eq!(first, contract::inject_list(&expected, Offer::default()), "{connection:?}");
        let second = json!(recorded.list_tools(Some(page(Some("2")))).await.unwrap());
        let expected = json!(plain.list_tools(Some(page(Some("2")))).await.unwrap());
        let intent_only = Offer { tool: false, intent: true };
        assert_eq!(second, contract::inject_list(&expected, intent_only), "{connection:?}");
        finish(&recorder);
        assert_eq!(*sink.tools.lock().unwrap(), ["add", "ask", "echo", "fail", "native", "own"]);
    }
}

#[tokio::test]
async fn the_reserved_tool_is_answered_by_the_layer() {
    for connection in CONNECTIONS {
        let (recorder, sink) = recorder();
        let recorded =
            clients::connect(Recorded::new(Fixture::default(), recorder.clone()), connection).await;
        let asked = json!({"capability": "export as PDF", "context": "a report"});
        let mut expected = contract::acknowledgement();
        if connection.1 == Era::Newer {
            expected["resultType"] = json!("complete");
        }
        assert_eq!(
            call(&recorded, contract::TOOL_NAME, asked.clone()).await,
            expected,
            "{connection:?}"
        );
        finish(&recorder);
        let events = sink.events();
        let [event] = &events[..] else { panic!("one call: {events:?}") };
        assert!(event.is_request() && !event.is_error);
        assert_eq!(event.arguments, asked);
        assert_eq!(event.result, Some(contract::acknowledgement()));
    }
}

#[tokio::test]
async fn a_servers_own_tool_and_parameter_of_the_reserved_names_win() {
    let (recorder, sink) = recorder();
    let server = || Recorded::new(Fixture { own_request: true }, recorder.clone());
    on_every_connection(server, |client, _| async move {
        let tools = client.list_all_tools().await.unwrap();
        let reserved = tools.iter().filter(|tool| tool.name == contract::TOOL_NAME);
        let reserved: Vec<_> = reserved.collect();
        assert_eq!(reserved.len(), 1, "only the server's");
        assert_eq!(json!(reserved[0].input_schema), json!({"type": "object"}));
        for tool in ["own", contract::TOOL_NAME] {
            let answer = call(&client, tool, json!({"mcpeyeIntent": "mine"})).await;
            assert_eq!(answer["content"][0]["text"], "{\"mcpeyeIntent\":\"mine\"}");
        }
    })
    .await;
    finish(&recorder);
    let events = sink.events();
    assert_eq!(events.len(), 2 * CONNECTIONS.len());
    assert!(events.iter().all(|event| event.intent.is_none()));
    assert!(events.iter().all(|event| event.arguments == json!({"mcpeyeIntent": "mine"})));
}

#[tokio::test]
async fn a_native_intent_field_is_recorded_as_the_intent() {
    let (recorder, sink) = recorder();
    let server = || Recorded::new(Fixture::default(), recorder.clone());
    on_every_connection(server, |client, _| async move {
        let answer = call(&client, "native", json!({"intent": "to see a@b.co", "x": 1})).await;
        let expected = "{\"intent\":\"to see a@b.co\",\"x\":1}";
        assert_eq!(answer["content"][0]["text"], expected, "the server still gets its own field");
    })
    .await;
    finish(&recorder);
    let events = sink.events();
    assert_eq!(events.len(), CONNECTIONS.len());
    for event in events {
        assert_eq!(event.intent.as_deref(), Some("to see [REDACTED_EMAIL]"));
        assert_eq!(event.intent_source, Some(IntentSource::Native));
        assert_eq!(event.arguments, json!({"x": 1}));
    }
}

#[tokio::test]
async fn a_call_that_asks_for_input_is_recorded_once() {
    let (recorder, sink) = recorder();
    let server = Recorded::new(Fixture::default(), recorder.clone());
    let client = clients::connect(server, Connection(Transport::Stream, Era::Newer)).await;
    let arguments = json!({"n": 1, "mcpeyeIntent": "why"});
    let question = call(&client, "ask", arguments.clone()).await;
    assert_eq!(question["requestState"], "half-way");
    let mut again = CallToolRequestParams::new("ask").with_arguments(object(arguments));
    again.request_state = Some("half-way".to_owned());
    let answer = json!(client.call_tool(again).await.unwrap());
    assert_eq!(answer["content"][0]["text"], "{\"n\":1}");
    finish(&recorder);
    let events = sink.events();
    let [event] = &events[..] else { panic!("one call: {events:?}") };
    assert_eq!(event.intent.as_deref(), Some("why"));
}

#[tokio::test]
async fn both_parts_of_the_contract_can_be_switched_off() {
    let (recorder, sink) = recorder();
    let off = Offer { tool: false, intent: false };
    let server = Recorded::new(Fixture::default(), recorder.clone()).with_offer(off);
    let connection = Connection(Transport::Stream, Era::Older);
    let (plain, recorded) = (
        clients::connect(Fixture::default(), connection).await,
        clients::connect(server, connection).await,
    );
    let (listed, expected) = (recorded.list_all_tools().await, plain.list_all_tools().await);
    assert_eq!(listed.unwrap(), expected.unwrap());
    let reserved = call(&recorded, contract::TOOL_NAME, json!({"capability": "x"})).await;
    assert!(reserved.get("content").is_some(), "the server's own answer: {reserved}");
    let echoed = call(&recorded, "echo", json!({"mcpeyeIntent": "why"})).await;
    assert_eq!(echoed["content"][0]["text"], "{\"mcpeyeIntent\":\"why\"}");
    finish(&recorder);
    assert_eq!(sink.events().len(), 2, "calls are recorded all the same");
}

#[tokio::test]
async fn calls_are_recorded_with_their_caller() {
    let (recorder, sink) = recorder();
    for (number, connection) in CONNECTIONS.into_iter().enumerate() {
        let server =
            Recorded::new(Fixture::default(), recorder.clone()).with_caller(move |_| Caller {
                client: (number % 2 == 0).then(|| "even".to_owned()),
                user_id: Some(number.to_string()),
                user_email: None,
            });
        call(&clients::connect(server, connection).await, "echo", json!({})).await;
    }
    finish(&recorder);
    let batches = sink.batches.lock().unwrap();
    let mut users: BTreeMap<Option<String>, Vec<String>> = BTreeMap::new();
    for batch in batches.iter() {
        let ids = batch.events.iter().map(|event| event.user_id.clone().unwrap());
        users.entry(batch.identity.client.clone()).or_default().extend(ids);
    }
    assert_eq!(users[&Some("even".to_owned())], ["0", "2", "4"]);
    assert_eq!(users.values().map(Vec::len).sum::<usize>(), CONNECTIONS.len());
}
