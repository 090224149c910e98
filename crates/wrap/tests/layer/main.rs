//! A server with the layer and without, over both transports and in both eras of the protocol.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]

mod clients;
mod server;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kenning_gaps::contract::{self, Offer};
use kenning_gaps::event::IntentSource;
use kenning_gaps::{Batch, Event, Identity, Redactor};
use kenning_wrap::layer::Heard;
use kenning_wrap::{Caller, Recorder, Sink, SinkError};
use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ClientRequest, CustomRequest, GetPromptRequestParams,
    PaginatedRequestParams, ReadResourceRequestParams, object,
};
use serde::Serialize;
use serde_json::{Value, json};

use clients::{Client, Era, ROADS, Road};
use server::Fixture;

/// Keeps what it is sent.
#[derive(Debug, Default)]
struct Kept {
    batches: Mutex<Vec<Batch>>,
    tools: Mutex<Vec<String>>,
}

impl Sink for Kept {
    fn send(&self, batch: &Batch) -> Result<(), SinkError> {
        self.batches.lock().unwrap().push(batch.clone());
        Ok(())
    }

    fn tools(&self, project_id: &str, tools: &[String]) {
        assert_eq!(project_id, "fixture");
        *self.tools.lock().unwrap() = tools.to_vec();
    }
}

impl Kept {
    fn events(&self) -> Vec<Event> {
        self.batches.lock().unwrap().iter().flat_map(|batch| batch.events.clone()).collect()
    }
}

fn recorder() -> (Recorder, Arc<Kept>) {
    let sink = Arc::new(Kept::default());
    let redactor = Redactor::default();
    (Recorder::start("fixture", Identity::default(), redactor, sink.clone()), sink)
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

/// Everything that a client can see of the server, lists of tools apart. `intent` is said with
/// every call.
async fn tour(client: &Client, intent: Option<&str>) -> Vec<Value> {
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

/// Runs a story with a client of each era on each road.
async fn on_every_road<S: ServerHandler + Clone, F: Future<Output = ()>>(
    server: impl Fn() -> S,
    story: impl Fn(Client, Road) -> F,
) {
    for road in ROADS {
        story(clients::connect(server(), road).await, road).await;
    }
}

#[tokio::test]
async fn answers_are_those_of_the_server_itself() {
    for road in ROADS {
        let plain = clients::connect(Fixture::default(), road).await;
        let (recorder, sink) = recorder();
        let heard = clients::connect(Heard::new(Fixture::default(), recorder.clone()), road).await;
        let expected = tour(&plain, None).await;
        assert_eq!(tour(&heard, Some("to try it")).await, expected, "{road:?}");
        finish(&recorder);
        check_tour(&sink, road);
    }
}

fn check_tour(sink: &Kept, road: Road) {
    let events = sink.events();
    // On the older protocol a server must not ask back, and the SDK makes an error of it.
    let seen: Vec<&str> = events.iter().map(|event| event.tool_name.as_str()).collect();
    assert_eq!(seen, ["add", "echo", "fail", "native", "no such"], "{road:?}");
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
        // Over HTTP without sessions, older clients do not say who they are.
        let unnamed = road == Road(clients::Way::Sessionless, Era::Older);
        let name = (!unnamed).then_some("tester");
        assert_eq!(batch.identity.client.as_deref(), name, "{road:?}");
    }
}

#[tokio::test]
async fn lists_gain_the_contract_and_nothing_else() {
    for road in ROADS {
        let plain = clients::connect(Fixture::default(), road).await;
        let (recorder, sink) = recorder();
        let heard = clients::connect(Heard::new(Fixture::default(), recorder.clone()), road).await;
        let mut expected = json!(plain.list_tools(Some(page(None))).await.unwrap());
        assert_eq!(expected["nextCursor"], "2");
        expected["nextCursor"] = Value::Null;
        let mut first = json!(heard.list_tools(Some(page(None))).await.unwrap());
        first["nextCursor"] = Value::Null;
        assert_eq!(first, contract::inject_list(&expected, Offer::default()), "{road:?}");
        let second = json!(heard.list_tools(Some(page(Some("2")))).await.unwrap());
        let expected = json!(plain.list_tools(Some(page(Some("2")))).await.unwrap());
        let intent_only = Offer { tool: false, intent: true };
        assert_eq!(second, contract::inject_list(&expected, intent_only), "{road:?}");
        finish(&recorder);
        assert_eq!(*sink.tools.lock().unwrap(), ["add", "ask", "echo", "fail", "native", "own"]);
    }
}

#[tokio::test]
async fn the_reserved_tool_is_answered_here() {
    for road in ROADS {
        let (recorder, sink) = recorder();
        let heard = clients::connect(Heard::new(Fixture::default(), recorder.clone()), road).await;
        let asked = json!({"capability": "export as PDF", "context": "a report"});
        let mut expected = contract::acknowledgement();
        if road.1 == Era::Newer {
            expected["resultType"] = json!("complete");
        }
        assert_eq!(call(&heard, contract::TOOL_NAME, asked.clone()).await, expected, "{road:?}");
        finish(&recorder);
        let events = sink.events();
        let [event] = &events[..] else { panic!("one call: {events:?}") };
        assert!(event.is_request() && !event.is_error);
        assert_eq!(event.arguments, asked);
        assert_eq!(event.result, Some(contract::acknowledgement()));
    }
}

#[tokio::test]
async fn a_server_keeps_what_it_owns() {
    let (recorder, sink) = recorder();
    let server = || Heard::new(Fixture { own_request: true }, recorder.clone());
    on_every_road(server, |client, _| async move {
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
    assert_eq!(events.len(), 2 * ROADS.len());
    assert!(events.iter().all(|event| event.intent.is_none()));
    assert!(events.iter().all(|event| event.arguments == json!({"mcpeyeIntent": "mine"})));
}

#[tokio::test]
async fn the_servers_own_intent_stands_in() {
    let (recorder, sink) = recorder();
    let server = || Heard::new(Fixture::default(), recorder.clone());
    on_every_road(server, |client, _| async move {
        let answer = call(&client, "native", json!({"intent": "to see a@b.co", "x": 1})).await;
        let seen = "{\"intent\":\"to see a@b.co\",\"x\":1}";
        assert_eq!(answer["content"][0]["text"], seen, "the server still gets its own field");
    })
    .await;
    finish(&recorder);
    let events = sink.events();
    assert_eq!(events.len(), ROADS.len());
    for event in events {
        assert_eq!(event.intent.as_deref(), Some("to see [REDACTED_EMAIL]"));
        assert_eq!(event.intent_source, Some(IntentSource::Native));
        assert_eq!(event.arguments, json!({"x": 1}));
    }
}

#[tokio::test]
async fn a_question_back_is_one_call_with_its_answer() {
    let (recorder, sink) = recorder();
    let server = Heard::new(Fixture::default(), recorder.clone());
    let client = clients::connect(server, Road(clients::Way::Stream, Era::Newer)).await;
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
async fn halves_can_be_switched_off() {
    let (recorder, sink) = recorder();
    let off = Offer { tool: false, intent: false };
    let server = Heard::new(Fixture::default(), recorder.clone()).with_offer(off);
    let road = Road(clients::Way::Stream, Era::Older);
    let (plain, heard) =
        (clients::connect(Fixture::default(), road).await, clients::connect(server, road).await);
    let (listed, expected) = (heard.list_all_tools().await, plain.list_all_tools().await);
    assert_eq!(listed.unwrap(), expected.unwrap());
    let reserved = call(&heard, contract::TOOL_NAME, json!({"capability": "x"})).await;
    assert!(reserved.get("content").is_some(), "the server's own answer: {reserved}");
    let echoed = call(&heard, "echo", json!({"mcpeyeIntent": "why"})).await;
    assert_eq!(echoed["content"][0]["text"], "{\"mcpeyeIntent\":\"why\"}");
    finish(&recorder);
    assert_eq!(sink.events().len(), 2, "calls are recorded all the same");
}

#[tokio::test]
async fn callers_are_told_apart() {
    let (recorder, sink) = recorder();
    for (number, road) in ROADS.into_iter().enumerate() {
        let server =
            Heard::new(Fixture::default(), recorder.clone()).with_caller(move |_| Caller {
                client: (number % 2 == 0).then(|| "even".to_owned()),
                user_id: Some(number.to_string()),
                user_email: None,
            });
        call(&clients::connect(server, road).await, "echo", json!({})).await;
    }
    finish(&recorder);
    let batches = sink.batches.lock().unwrap();
    let mut users: BTreeMap<Option<String>, Vec<String>> = BTreeMap::new();
    for batch in batches.iter() {
        let ids = batch.events.iter().map(|event| event.user_id.clone().unwrap());
        users.entry(batch.identity.client.clone()).or_default().extend(ids);
    }
    assert_eq!(users[&Some("even".to_owned())], ["0", "2", "4"]);
    assert_eq!(users.values().map(Vec::len).sum::<usize>(), ROADS.len());
}
