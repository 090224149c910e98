//! A small MCP server whose agents can say what they miss.
//!
//! ```text
//! heard-server                            calls are told on standard error
//! heard-server http://127.0.0.1:3001      calls are sent to a Kenning or mcpeye server
//! ```
//!
//! The line that matters is the one with [`Heard::new`]. With it, the server's list has one tool
//! more, `mcpeye_request_capability`, and each of its own tools an optional parameter in which the
//! agent says why it calls. The tools themselves see neither.

use std::sync::Arc;

use kenning_gaps::{Batch, Identity, Redactor};
use kenning_wrap::layer::Heard;
use kenning_wrap::{Ingest, Recorder, Sink, SinkError};
use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{Implementation, ServerCapabilities, ServerConfig};
use rmcp::{ServerHandler, ServiceExt, tool, tool_handler, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let sink: Arc<dyn Sink> = match std::env::args().nth(1) {
        Some(address) => Arc::new(Ingest::new(&address, std::env::var("KENNING_SECRET").ok())),
        None => Arc::new(Aloud),
    };
    let recorder = Recorder::start("heard-server", Identity::default(), Redactor::default(), sink);

    let server = Heard::new(Texts::new(), recorder);

    // The recorder goes with the server, and ships what is left before it does.
    server.serve(rmcp::transport::stdio_pipes()).await?.waiting().await?;
    Ok(())
}

/// Tells people at the terminal what was called. Secrets are gone by now.
struct Aloud;

impl Sink for Aloud {
    fn send(&self, batch: &Batch) -> Result<(), SinkError> {
        for event in &batch.events {
            let told = serde_json::to_string(event);
            eprintln!("{}", told.map_err(|error| SinkError::Refused(error.to_string()))?);
        }
        Ok(())
    }
}

/// The server: it knows two things about texts.
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
            .with_server_info(Implementation::new("heard-server", version))
    }
}
