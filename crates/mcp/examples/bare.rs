//! The SDK with one tool that says what it is told, and nothing else: what a server costs before it
//! does anything. `cargo xtask bench protocol` measures the product beside it.
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
use serde_json::json;

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
        let tool = Tool::new("echo", "Says what it is told", object(schema));
        Ok(ListToolsResult::with_all_items(vec![tool]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let text = arguments.get("text").and_then(|text| text.as_str()).unwrap_or_default();
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
    }
}
