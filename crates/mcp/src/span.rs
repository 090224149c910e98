//! A call of a tool as those see it who trace requests through several servers.
//!
//! What was asked and answered is nobody's business but the client's: a span has the tool's name
//! and how it ended, and nothing that a client wrote.

use axum::http::request::Parts;
use rmcp::service::{RequestContext, RoleServer};
use tracing::Span;

/// Spans for collectors; `kenning` exports those of this target, and none of them is logged.
const TARGET: &str = "kenning::span";

/// Below the span of the HTTP request that brought the call, if there is one: the SDK carries the
/// request's extensions, but works on it elsewhere.
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
