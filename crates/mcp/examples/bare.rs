//! The SDK with a tool that says what it is told, and one that answers in so many fields: what a
//! server costs before it does anything. `cargo xtask bench protocol` measures the product beside it.
//!
//! Serves standard input and output; with `http`, a free port, whose URL it prints.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool, object,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{RoleServer, ServerHandler, ServiceExt};
use serde_json::{Value, json};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    if std::env::args().nth(1).is_none() {
        Echo.serve(rmcp::transport::io::stdio_pipes()).await?.waiting().await?;
        return Ok(());
    }
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true);
    let manager = Arc::new(NeverSessionManager::default());
    let service = StreamableHttpService::new(|| Ok(Echo), manager, config);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    eprintln!("http://{}/mcp", listener.local_addr()?);
    Ok(axum::serve(listener, axum::Router::new().nest_service("/mcp", service)).await?)
}

#[derive(Clone, Copy)]
struct Echo;

impl ServerHandler for Echo {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let schema = json!({"type": "object", "properties": {"text": {"type": "string"}}});
        let echo = Tool::new("echo", "Says what it is told", object(schema));
        let schema = json!({"type": "object", "properties": {"fields": {"type": "integer"}}});
        let answer = Tool::new("answer", "Says much, as text and as data", object(schema));
        Ok(ListToolsResult::with_all_items(vec![echo, answer]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        if let Some(fields) = arguments.get("fields").and_then(Value::as_u64) {
            let field = |number| (format!("field{number}"), Value::from("something ".repeat(4)));
            let answer: Value = (0..fields).map(field).collect();
            return Ok(CallToolResult::structured(answer).into());
        }
        let text = arguments.get("text").and_then(|text| text.as_str()).unwrap_or_default();
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
    }
}
