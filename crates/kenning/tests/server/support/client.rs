//! Clients of the SDK.

use std::borrow::Cow;
use std::process::Command;

use rmcp::ClientHandler;
use rmcp::model::{
    CallToolRequestParams, ProtocolVersion, ReadResourceRequestParams, ResourceContents,
    ResourceUpdatedNotificationParam, object,
};
use rmcp::service::{
    ClientLifecycleMode, NotificationContext, RoleClient, RunningService, ServiceError,
};
use rmcp::transport::TokioChildProcess;
use serde_json::Value;
use tokio::sync::mpsc::UnboundedSender;

use super::{DEADLINE, eventually, within};

pub(crate) type Client<H = ()> = RunningService<RoleClient, H>;

/// A client of the server that this command starts on standard input and output.
pub(crate) async fn connect(command: Command) -> Client {
    connect_with((), command, ClientLifecycleMode::Initialize).await
}

/// The same, with a handler for notifications.
pub(crate) async fn connect_as<H: ClientHandler>(handler: H, command: Command) -> Client<H> {
    connect_with(handler, command, ClientLifecycleMode::Initialize).await
}

pub(crate) async fn connect_with<H: ClientHandler>(
    handler: H,
    command: Command,
    lifecycle: ClientLifecycleMode,
) -> Client<H> {
    let transport = TokioChildProcess::new(tokio::process::Command::from(command)).unwrap();
    let client = rmcp::service::serve_client_with_lifecycle(handler, transport, lifecycle);
    within(client).await.unwrap()
}

/// The lifecycle of clients that know 2026-07-28.
pub(crate) fn modern() -> ClientLifecycleMode {
    ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: None,
    }
}

/// The answer of a tool, or its error, both of which are JSON objects.
pub(crate) async fn call<H: ClientHandler>(
    client: &Client<H>,
    tool: impl Into<Cow<'static, str>>,
    arguments: Value,
) -> Value {
    let request = CallToolRequestParams::new(tool).with_arguments(object(arguments));
    let result = within(client.call_tool(request)).await.unwrap();
    let text = serde_json::from_str::<Value>(&result.content[0].as_text().unwrap().text).unwrap();
    if result.is_error == Some(true) {
        assert_eq!(result.structured_content, None, "it would not fit the output schema");
        return text;
    }
    assert_eq!(result.structured_content, Some(text.clone()), "text and data agree");
    text
}

/// The answer once all vectors are computed: until then answers carry a message that says so.
pub(crate) async fn call_when_indexed(client: &Client, tool: &str, arguments: &Value) -> Value {
    eventually(DEADLINE, async || {
        let answer = call(client, tool.to_owned(), arguments.clone()).await;
        let message = answer["message"].as_str().unwrap_or_default();
        (!message.contains("vectors")).then_some(answer)
    })
    .await
}

pub(crate) async fn read_text(client: &Client, uri: &str) -> Result<String, ServiceError> {
    let read = within(client.read_resource(ReadResourceRequestParams::new(uri))).await?;
    match read.contents.into_iter().next().unwrap() {
        ResourceContents::TextResourceContents { text, .. } => Ok(text),
        other => panic!("{uri} is not text: {other:?}"),
    }
}

pub(crate) async fn read_json(client: &Client, uri: &str) -> Value {
    serde_json::from_str(&read_text(client, uri).await.unwrap()).unwrap()
}

/// All tools of `capabilities://tools`, whatever their category.
pub(crate) async fn described_tools(client: &Client) -> Vec<Value> {
    let described = read_json(client, "capabilities://tools").await;
    let categories = described["tools_by_category"].as_object().unwrap().values();
    categories.flat_map(|tools| tools.as_array().unwrap().clone()).collect()
}

/// A client that passes on the URIs of updated resources, and `list` when the list has changed.
/// This is how servers notify clients that open with `initialize`.
pub(crate) struct ResourceUpdates(pub(crate) UnboundedSender<String>);

impl ClientHandler for ResourceUpdates {
    async fn on_resource_updated(
        &self,
        update: ResourceUpdatedNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let _ = self.0.send(update.uri);
    }

    async fn on_resource_list_changed(&self, _: NotificationContext<RoleClient>) {
        let _ = self.0.send("list".to_owned());
    }
}
