//! The product's server with what the MCP conformance suite looks for put in front of its own
//! tools, resources and prompts. Never part of the product.
//!
//! Serves the folder named by the first argument on a free port, prints the URL, and ends when
//! standard input is closed. `heard` as the second argument puts the layer around it that hears
//! what is missing; `stdio` serves standard input and output instead.

use std::collections::HashMap;
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use kenning_gaps::{Batch, Identity, Redactor, contract};
use kenning_knowledge::discover::Discovery;
use kenning_knowledge::{Base, Library};
use kenning_mcp::prompt::{Argument, Prompt, Render};
use kenning_mcp::resource::{Parameter, ReadError, ResourceFamily};
use kenning_mcp::tool::{Invocation, Outcome, Tool};
use kenning_mcp::{House, Inventory, Rooms, Server, Toolset, Transport, http, stdio};
use kenning_wrap::layer::Recorded;
use kenning_wrap::{Recorder, Sink, SinkError};
use rmcp::model::{
    CallToolResult, ClientCapabilities, ContentBlock, ErrorData, ProgressNotificationParam,
    PromptMessage, Resource, ResourceContents, ResourceTemplate, Role, object,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// A PNG of one pixel and a WAV of no sound.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args_os().skip(1);
    let root = words.next().ok_or("usage: conformance FOLDER [plain|heard|stdio]")?;
    let mode = words.next().unwrap_or_default();
    let base = Base::new("fixture", root.as_ref(), &["**/*.md".to_owned()], &[])?;
    let library = Arc::new(Library::open(vec![base], &|_, _| {})?);
    let transport = if mode == "stdio" { Transport::Stdio } else { Transport::StatelessHttp };
    let mut inventory = inventory();
    if mode == "heard" || mode == "stdio" {
        // What is around it is to offer its own, not the product's.
        inventory.tools.retain(|tool| tool.name != contract::TOOL_NAME);
    }
    let rooms =
        Rooms::new(library, Arc::new(discovery()), Arc::new(kenning_catalog::Catalog::bundled()));
    let server = Server::new(inventory, rooms, transport);
    let stop = CancellationToken::new();
    if mode == "stdio" {
        return Ok(stdio::serve(&server, stop).await?);
    }
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}{}", listener.local_addr()?, http::MCP_PATH);
    let stopping = stop.clone();
    std::thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        stopping.cancel();
    });
    let reach = http::Reach::Loopback { port: listener.local_addr()?.port() };
    let heard = Arc::new(AtomicUsize::new(0));
    let sink = Arc::new(Counter(heard.clone()));
    let recorder = Recorder::start("fixture", Identity::default(), Redactor::default(), sink);
    let layer = recorder.clone();
    let router = if mode == "heard" {
        let around = move |server| Recorded::new(server, layer.clone());
        http::router_around(server, around, reach, stop.clone())
    } else {
        http::router(server, reach, stop.clone())
    };
    let router = axum::Router::new().nest_service(http::MCP_PATH, router);
    axum::serve(listener, router).with_graceful_shutdown(stop.cancelled_owned()).await?;
    recorder.finish(Duration::from_secs(10));
    // A suite that passed without the layer would say nothing about it.
    match heard.load(Ordering::Relaxed) {
        0 if mode == "heard" => Err("the layer heard of no call".into()),
        _ => Ok(()),
    }
}

/// How many calls were heard of.
struct Counter(Arc<AtomicUsize>);

impl Sink for Counter {
    fn send(&self, batch: &Batch) -> Result<(), SinkError> {
        self.0.fetch_add(batch.events.len(), Ordering::Relaxed);
        Ok(())
    }
}

fn inventory() -> Inventory {
    let mut inventory = Inventory::full();
    inventory.tools.splice(0..0, tools());
    inventory.resources.insert(0, Arc::new(TestResources));
    inventory.prompts.splice(0..0, prompts());
    inventory
}

fn discovery() -> Discovery {
    Discovery {
        default_max_results: 5,
        min_relevance_threshold: 0.3,
        boost_active_status: 1.2,
        boost_recent_update_days: 30,
        boost_recent_update_factor: 1.1,
        boosts: std::collections::BTreeMap::new(),
    }
}

fn tools() -> Vec<Tool> {
    let text = |text: &str| ContentBlock::text(text);
    let png = || ContentBlock::image(PNG, "image/png");
    let resource = |uri: &str, mime: &str, text: &str| {
        ContentBlock::resource(ResourceContents::text(text, uri).with_mime_type(mime))
    };
    let mixed = vec![
        text("Multiple content types test:"),
        png(),
        resource(
            "test://mixed-content-resource",
            "application/json",
            r#"{"test":"data","value":123}"#,
        ),
    ];
    let embedded =
        resource("test://embedded-resource", "text/plain", "This is an embedded resource content.");
    let failing = text("This tool intentionally returns an error for testing");
    vec![
        fixed("test_simple_text", vec![text("This is a simple text response for testing.")]),
        fixed("test_image_content", vec![png()]),
        fixed("test_audio_content", vec![ContentBlock::audio(WAV, "audio/wav")]),
        fixed("test_embedded_resource", vec![embedded]),
        fixed("test_multiple_content_types", mixed),
        fixed("test_streaming_elicitation", vec![text("Nothing to ask.")]),
        fixed("test_logging_tool", vec![text("Nothing to log.")]),
        tool("test_error_handling", move |_| {
            let result = CallToolResult::error(vec![failing.clone()]);
            async move { Ok(result) }
        }),
        tool("test_tool_with_progress", with_progress),
        tool("test_missing_capability", missing_capability),
        json_schema_tool(),
    ]
}

fn tool<F: Future<Output = Outcome> + Send + 'static>(
    name: &'static str,
    run: impl Fn(Invocation) -> F + Send + Sync + 'static,
) -> Tool {
    let run = Arc::new(move |call| -> std::pin::Pin<Box<dyn Future<Output = Outcome> + Send>> {
        Box::pin(run(call))
    });
    Tool {
        description: "A fixture of the conformance suite",
        ..Tool::with_handler(name, Toolset::Knowledge, run)
    }
}

fn fixed(name: &'static str, content: Vec<ContentBlock>) -> Tool {
    tool(name, move |_| {
        let result = CallToolResult::success(content.clone());
        async move { Ok(result) }
    })
}

async fn with_progress(call: Invocation) -> Outcome {
    let context = call.context;
    if let Some(token) = context.meta.get_progress_token() {
        for percent in [0.0, 50.0, 100.0] {
            let progress = ProgressNotificationParam::new(token.clone(), percent).with_total(100.0);
            let sent = context.peer.notify_progress(progress).await;
            sent.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
    Ok(CallToolResult::success(vec![ContentBlock::text("Done.")]))
}

#[expect(deprecated, reason = "sampling is what the suite asks for")]
async fn missing_capability(call: Invocation) -> Outcome {
    if call.context.client_capabilities().is_none_or(|has| has.sampling.is_none()) {
        let required = ClientCapabilities::builder().enable_sampling().build();
        return Err(ErrorData::missing_required_client_capability(required));
    }
    Ok(CallToolResult::success(vec![ContentBlock::text("The capability is there.")]))
}

fn json_schema_tool() -> Tool {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"city": {"type": "string"}}}},
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"}
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false
    });
    Tool {
        input_schema: Arc::new(object(schema)),
        ..fixed("json_schema_2020_12_tool", vec![ContentBlock::text("Valid.")])
    }
}

struct TestResources;

impl ResourceFamily for TestResources {
    fn scheme(&self) -> &'static str {
        "test"
    }

    fn toolset(&self) -> Option<Toolset> {
        None
    }

    fn description(&self) -> &'static str {
        "Fixtures of the conformance suite"
    }

    fn templates(&self) -> Vec<ResourceTemplate> {
        vec![
            ResourceTemplate::new("test://template/{id}/data", "template")
                .with_description("Data by id"),
        ]
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![Parameter::new("id", "Any word")]
    }

    fn list(&self, _: &Rooms, after: Option<&str>, _: usize) -> Vec<Resource> {
        if after.is_some() {
            return Vec::new();
        }
        ["static-text", "static-binary"]
            .map(|name| Resource::new(format!("test://{name}"), name))
            .to_vec()
    }

    fn read(&self, _: &House, uri: &str) -> Result<ResourceContents, ReadError> {
        match uri {
            "test://static-text" => {
                Ok(ResourceContents::text("This is the content of the static text resource.", uri))
            }
            "test://static-binary" => {
                Ok(ResourceContents::blob(PNG, uri).with_mime_type("image/png"))
            }
            _ => {
                let id = uri
                    .strip_prefix("test://template/")
                    .and_then(|rest| rest.strip_suffix("/data"));
                let id = id.ok_or_else(|| ReadError {
                    message: format!("there is no resource `{uri}`"),
                    hint: "the suite knows which there are".to_owned(),
                })?;
                let data =
                    json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")});
                Ok(ResourceContents::text(data.to_string(), uri).with_mime_type("application/json"))
            }
        }
    }

    fn complete(&self, _: &Rooms, _: &str, _: &HashMap<String, String>) -> Vec<String> {
        Vec::new()
    }
}

fn prompts() -> Vec<Prompt> {
    let prompt = |name, arguments: &[&'static str], render: Render| Prompt {
        name,
        toolset: Toolset::Knowledge,
        title: name,
        description: "A fixture of the conformance suite",
        arguments: arguments
            .iter()
            .map(|&name| Argument { name, description: "A value", required: true, complete: None })
            .collect(),
        render,
    };
    let text = |text: &str| PromptMessage::new_text(Role::User, text);
    let image = || PromptMessage::new(Role::User, ContentBlock::image(PNG, "image/png"));
    vec![
        prompt(
            "test_simple_prompt",
            &[],
            Arc::new(move |_| vec![text("This is a simple prompt for testing.")]),
        ),
        prompt(
            "test_prompt_with_arguments",
            &["arg1", "arg2"],
            Arc::new(move |given| {
                let (one, two) = (&given["arg1"], &given["arg2"]);
                vec![text(&format!("Prompt with arguments: arg1='{one}', arg2='{two}'"))]
            }),
        ),
        prompt(
            "test_prompt_with_embedded_resource",
            &["resourceUri"],
            Arc::new(move |given| {
                let contents = "Embedded resource content for testing.";
                let resource = ResourceContents::text(contents, &given["resourceUri"]);
                let embedded = PromptMessage::new(Role::User, ContentBlock::resource(resource));
                vec![embedded, text("Please process the embedded resource above.")]
            }),
        ),
        prompt(
            "test_prompt_with_image",
            &[],
            Arc::new(move |_| vec![image(), text("Please analyze the image above.")]),
        ),
    ]
}
