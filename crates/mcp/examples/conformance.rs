//! The product's server with the fixtures of the MCP conformance suite around it: tools, resources
//! and prompts that the suite expects by name. Never part of the product.
//!
//! Serves the folder named by the first argument on a free port, prints the URL, and ends when
//! standard input is closed. `recorded` as the second argument adds the layer of `kenning-wrap` that
//! records calls; `stdio` serves standard input and output instead.

use std::collections::BTreeMap;
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use kenning_app::{AppState, Capacity, Inventory, Services};
use kenning_gaps::{Batch, Identity, Redactor, contract};
use kenning_knowledge::discover::Discovery;
use kenning_knowledge::{Base, Library};
use kenning_mcp::{Server, Transport, http, protocol, stdio};
use kenning_wrap::layer::Recorded;
use kenning_wrap::{Recorder, Sink, SinkError};
use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities,
    CompleteRequestParams, CompleteResult, ContentBlock, DiscoverResult, ErrorData,
    GetPromptRequestParams, GetPromptResponse, GetPromptResult, InitializeRequestParams,
    InitializeResult, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ProgressNotificationParam, Prompt, PromptArgument,
    PromptMessage, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Reference,
    Resource, ResourceContents, ResourceTemplate, Role, ServerConfig, SubscribeRequestParams,
    SubscriptionFilter, Tool, UnsubscribeRequestParams, object,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer, SubscriptionContext};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// A PNG of one pixel and a WAV of no sound.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args_os().skip(1);
    let root = words.next().ok_or("usage: conformance FOLDER [plain|recorded|stdio]")?;
    let mode = words.next().unwrap_or_default();
    let transport = if mode == "stdio" { Transport::Stdio } else { Transport::StatelessHttp };
    let mut inventory = Inventory::full();
    if mode == "recorded" || mode == "stdio" {
        // The layer around it offers the reserved tool itself.
        inventory.operations.retain(|operation| operation.name != contract::TOOL_NAME);
    }
    let base = Base::new("fixture", root.as_ref(), &["**/*.md".to_owned()], &[])?;
    let library = Arc::new(Library::open(vec![base], &|_, _| {})?);
    let catalog = Arc::new(kenning_catalog::Catalog::bundled());
    let services = Services::new(library, Arc::new(discovery()), catalog);
    let app = AppState::new(inventory, services, Capacity::STDIO, protocol());
    let server = Server::new(app, transport);
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
    let recorded = Arc::new(AtomicUsize::new(0));
    let sink = Arc::new(Counter(recorded.clone()));
    let recorder = Recorder::start("fixture", Identity::default(), Redactor::default(), sink);
    let router = if mode == "recorded" {
        let recorder = recorder.clone();
        let around = move |server| Recorded::new(Fixtures(server), recorder.clone());
        http::router_around(server, around, reach, stop.clone())
    } else {
        http::router_around(server, Fixtures, reach, stop.clone())
    };
    let router = axum::Router::new().nest_service(http::MCP_PATH, router);
    axum::serve(listener, router).with_graceful_shutdown(stop.cancelled_owned()).await?;
    recorder.finish(Duration::from_secs(10));
    // A suite that passed without the layer would prove nothing about it.
    match recorded.load(Ordering::Relaxed) {
        0 if mode == "recorded" => Err("the layer recorded no call".into()),
        _ => Ok(()),
    }
}

/// Counts recorded calls.
struct Counter(Arc<AtomicUsize>);

impl Sink for Counter {
    fn send(&self, batch: &Batch) -> Result<(), SinkError> {
        self.0.fetch_add(batch.events.len(), Ordering::Relaxed);
        Ok(())
    }
}

fn discovery() -> Discovery {
    Discovery {
        default_max_results: 5,
        min_relevance_threshold: 0.07,
        boost_active_status: 1.2,
        boost_recent_update_days: 30,
        boost_recent_update_factor: 1.1,
        boosts: BTreeMap::new(),
    }
}

/// The suite's tools, resources and prompts in front of the product's own. They need answers that
/// operations do not have, such as images, so they are a handler around the server.
#[derive(Clone)]
struct Fixtures(Server);

type Context = RequestContext<RoleServer>;

#[expect(deprecated, reason = "older clients subscribe this way")]
impl ServerHandler for Fixtures {
    fn get_info(&self) -> ServerConfig {
        self.0.get_info()
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.0.get_tool(name)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: Context,
    ) -> Result<InitializeResult, ErrorData> {
        self.0.initialize(request, context).await
    }

    async fn discover(&self, context: Context) -> Result<DiscoverResult, ErrorData> {
        self.0.discover(context).await
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.0.on_initialized(context).await;
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut listed = self.0.list_tools(request, context).await?;
        listed.tools.splice(0..0, tools());
        Ok(listed)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: Context,
    ) -> Result<CallToolResponse, ErrorData> {
        match call(&request.name, &context).await {
            Some(outcome) => outcome.map(CallToolResponse::from),
            None => self.0.call_tool(request, context).await,
        }
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Result<ListResourcesResult, ErrorData> {
        let is_first = request.as_ref().is_none_or(|request| request.cursor.is_none());
        let mut listed = self.0.list_resources(request, context).await?;
        if is_first {
            let names = ["static-text", "static-binary"];
            let fixtures = names.map(|name| Resource::new(format!("test://{name}"), name));
            listed.resources.splice(0..0, fixtures);
        }
        Ok(listed)
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let mut listed = self.0.list_resource_templates(request, context).await?;
        let template = ResourceTemplate::new("test://template/{id}/data", "template");
        listed.resource_templates.insert(0, template.with_description("Data by id"));
        Ok(listed)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        match resource(&request.uri) {
            Some(contents) => Ok(ReadResourceResult::new(vec![contents]).into()),
            None => self.0.read_resource(request, context).await,
        }
    }

    fn accepted_subscription_filter(
        &self,
        filter: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        self.0.accepted_subscription_filter(filter)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        self.0.listen(context).await
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: Context,
    ) -> Result<(), ErrorData> {
        self.0.subscribe(request, context).await
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        context: Context,
    ) -> Result<(), ErrorData> {
        self.0.unsubscribe(request, context).await
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Result<ListPromptsResult, ErrorData> {
        let mut listed = self.0.list_prompts(request, context).await?;
        listed.prompts.splice(0..0, prompts());
        Ok(listed)
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: Context,
    ) -> Result<GetPromptResponse, ErrorData> {
        let arguments = Value::Object(request.arguments.clone().unwrap_or_default());
        match prompt(&request.name, &arguments) {
            Some(messages) => Ok(GetPromptResult::new(messages).into()),
            None => self.0.get_prompt(request, context).await,
        }
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: Context,
    ) -> Result<CompleteResult, ErrorData> {
        match &request.r#ref {
            Reference::Prompt(asked) if prompts().iter().any(|p| p.name == asked.name) => {
                Ok(CompleteResult::default())
            }
            _ => self.0.complete(request, context).await,
        }
    }
}

fn tools() -> Vec<Tool> {
    const NAMES: [&str; 10] = [
        "test_simple_text",
        "test_image_content",
        "test_audio_content",
        "test_embedded_resource",
        "test_multiple_content_types",
        "test_streaming_elicitation",
        "test_logging_tool",
        "test_error_handling",
        "test_tool_with_progress",
        "test_missing_capability",
    ];
    let tool = |name, schema| Tool::new(name, "A fixture of the conformance suite", object(schema));
    let plain = NAMES.map(|name| tool(name, json!({"type": "object"})));
    plain.into_iter().chain([tool("json_schema_2020_12_tool", json_schema())]).collect()
}

fn json_schema() -> Value {
    json!({
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
    })
}

/// The answer of a fixture; `None` for tools of the product.
async fn call(name: &str, context: &Context) -> Option<Result<CallToolResult, ErrorData>> {
    let text = |text: &str| ContentBlock::text(text);
    let png = || ContentBlock::image(PNG, "image/png");
    let resource = |uri: &str, mime: &str, text: &str| {
        ContentBlock::resource(ResourceContents::text(text, uri).with_mime_type(mime))
    };
    let content = match name {
        "test_simple_text" => vec![text("This is a simple text response for testing.")],
        "test_image_content" => vec![png()],
        "test_audio_content" => vec![ContentBlock::audio(WAV, "audio/wav")],
        "test_embedded_resource" => {
            let content = "This is an embedded resource content.";
            vec![resource("test://embedded-resource", "text/plain", content)]
        }
        "test_multiple_content_types" => {
            let (uri, data) = ("test://mixed-content-resource", r#"{"test":"data","value":123}"#);
            let mixed = resource(uri, "application/json", data);
            vec![text("Multiple content types test:"), png(), mixed]
        }
        "test_streaming_elicitation" => vec![text("Nothing to ask.")],
        "test_logging_tool" => vec![text("Nothing to log.")],
        "json_schema_2020_12_tool" => vec![text("Valid.")],
        "test_error_handling" => {
            let error = text("This tool intentionally returns an error for testing");
            return Some(Ok(CallToolResult::error(vec![error])));
        }
        "test_tool_with_progress" => return Some(with_progress(context).await),
        "test_missing_capability" => return Some(missing_capability(context)),
        _ => return None,
    };
    Some(Ok(CallToolResult::success(content)))
}

async fn with_progress(context: &Context) -> Result<CallToolResult, ErrorData> {
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

#[expect(deprecated, reason = "the suite asks for sampling")]
fn missing_capability(context: &Context) -> Result<CallToolResult, ErrorData> {
    if context.client_capabilities().is_none_or(|has| has.sampling.is_none()) {
        let required = ClientCapabilities::builder().enable_sampling().build();
        return Err(ErrorData::missing_required_client_capability(required));
    }
    Ok(CallToolResult::success(vec![ContentBlock::text("The capability is there.")]))
}

/// The contents of a fixture; `None` for resources of the product and unknown ones.
fn resource(uri: &str) -> Option<ResourceContents> {
    match uri {
        "test://static-text" => {
            let text = "This is the content of the static text resource.";
            Some(ResourceContents::text(text, uri))
        }
        "test://static-binary" => {
            Some(ResourceContents::blob(PNG, uri).with_mime_type("image/png"))
        }
        _ => {
            let id = uri.strip_prefix("test://template/")?.strip_suffix("/data")?;
            let data =
                json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")});
            let contents = ResourceContents::text(data.to_string(), uri);
            Some(contents.with_mime_type("application/json"))
        }
    }
}

fn prompts() -> Vec<Prompt> {
    let prompt = |name: &str, arguments: &[&str]| {
        let argument = |name: &&str| {
            PromptArgument::new(*name).with_description("A value").with_required(true)
        };
        let arguments = arguments.iter().map(argument).collect();
        Prompt::new(name, Some("A fixture of the conformance suite"), Some(arguments))
    };
    vec![
        prompt("test_simple_prompt", &[]),
        prompt("test_prompt_with_arguments", &["arg1", "arg2"]),
        prompt("test_prompt_with_embedded_resource", &["resourceUri"]),
        prompt("test_prompt_with_image", &[]),
    ]
}

/// The messages of a fixture; `None` for prompts of the product.
fn prompt(name: &str, given: &Value) -> Option<Vec<PromptMessage>> {
    let text = |text: &str| PromptMessage::new_text(Role::User, text);
    let argument = |name: &str| given[name].as_str().unwrap_or_default();
    Some(match name {
        "test_simple_prompt" => vec![text("This is a simple prompt for testing.")],
        "test_prompt_with_arguments" => {
            let (one, two) = (argument("arg1"), argument("arg2"));
            vec![text(&format!("Prompt with arguments: arg1='{one}', arg2='{two}'"))]
        }
        "test_prompt_with_embedded_resource" => {
            let contents = "Embedded resource content for testing.";
            let resource = ResourceContents::text(contents, argument("resourceUri"));
            let embedded = PromptMessage::new(Role::User, ContentBlock::resource(resource));
            vec![embedded, text("Please process the embedded resource above.")]
        }
        "test_prompt_with_image" => {
            let image = PromptMessage::new(Role::User, ContentBlock::image(PNG, "image/png"));
            vec![image, text("Please analyze the image above.")]
        }
        _ => return None,
    })
}
