//! A small MCP server whose calls are recorded and whose agents can request missing capabilities.
//!
//! ```text
//! recorded-server                         prints calls to standard error
//! recorded-server http://127.0.0.1:3001   sends calls to a Kenning or mcpeye server
//! ```
//!
//! The line that matters is the one with [`Recorded::new`]. It adds one tool to the server's list,
//! `mcpeye_request_capability`, and to each of the server's own tools an optional parameter in which
//! the agent states its intent. The tools themselves see neither.

use std::sync::Arc;

use kenning_gaps::{Batch, Identity, Redactor};
use kenning_wrap::layer::Recorded;
use kenning_wrap::{IngestSink, Recorder, Sink, SinkError};
use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{Implementation, ServerCapabilities, ServerConfig};
use rmcp::{ServerHandler, ServiceExt, tool, tool_handler, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let sink: Arc<dyn Sink> = match std::env::args().nth(1) {
        Some(address) => Arc::new(IngestSink::new(&address, std::env::var("KENNING_SECRET").ok())),
        None => Arc::new(Printed),
    };
    let recorder =
        Recorder::start("recorded-server", Identity::default(), Redactor::default(), sink);

    let server = Recorded::new(Texts::new(), recorder);

    // The recorder is dropped with the server, and ships what is left before that.
    server.serve(rmcp::transport::stdio_pipes()).await?.waiting().await?;
    Ok(())
}

/// Prints calls to the terminal. Secrets have been redacted by now.
struct Printed;

impl Sink for Printed {
    fn send(&self, batch: &Batch) -> Result<(), SinkError> {
        for event in &batch.events {
            let line = serde_json::to_string(event);
            eprintln!("{}", line.map_err(|error| SinkError::Refused(error.to_string()))?);
        }
        Ok(())
    }
}

/// The server: two tools for texts.
#[derive(Clone)]
struct Texts {
    tools: ToolRouter<Self>,
}

#[derive(Deserialize, JsonSchema)]
struct Text {
    /// The text
    text: String,
}

#[tool_router]
impl Texts {
    fn new() -> Self {
        Self { tools: Self::tool_router() }
    }

    #[tool(description = "Counts the words of a text")]
    fn count_words(Parameters(Text { text }): Parameters<Text>) -> String {
        text.split_whitespace().count().to_string()
    }

    #[tool(description = "Writes a text in capital letters")]
    fn shout(Parameters(Text { text }): Parameters<Text>) -> String {
        text.to_uppercase()
    }
}

#[tool_handler(router = self.tools)]
impl ServerHandler for Texts {
    fn get_info(&self) -> ServerConfig {
        let version = env!("CARGO_PKG_VERSION");
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("recorded-server", version))
    }
}
