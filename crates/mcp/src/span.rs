//! Trace spans of tool calls.
//!
//! A span has the tool's name and how the call ended, and nothing that a client wrote: requests and
//! answers are not for collectors.

use axum::http::request::Parts;
use rmcp::service::{RequestContext, RoleServer};
use tracing::Span;

/// The target of spans for collectors: the binary exports these and does not log them.
const TARGET: &str = "kenning::span";

/// A child of the HTTP request's span, if there is one. The SDK passes the request's extensions on
/// but handles it in another task, so that the parent has to be named.
pub(crate) fn of_call(tool: &'static str, context: &RequestContext<RoleServer>) -> Span {
    let request = context.extensions.get::<Parts>();
    let parent = request.and_then(|parts| parts.extensions.get::<Span>()).and_then(Span::id);
    tracing::info_span!(
        target: TARGET,
        parent: parent,
        "tools/call",
        "otel.name" = format!("tools/call {tool}"),
        "otel.kind" = "server",
        "otel.status_code" = tracing::field::Empty,
        "error.type" = tracing::field::Empty,
        "mcp.method.name" = "tools/call",
        "gen_ai.operation.name" = "execute_tool",
        "gen_ai.tool.name" = tool,
    )
}

pub(crate) fn failed(span: &Span) {
    span.record("otel.status_code", "ERROR");
    span.record("error.type", "tool_error");
}
