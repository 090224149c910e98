//! This binary as an MCP server, with a temporary store of its own.

use std::process::Stdio;
use std::time::Duration;

use rmcp::model::{CallToolRequestParams, Tool};
use rmcp::service::{RoleClient, RunningService};
use rmcp::{ServiceError, ServiceExt};
use serde_json::{Map, Value};
use tempfile::TempDir;
use tokio::process::{Child, Command};

use crate::failure::Failure;

/// How long the server may take to end when its input ends; then it is killed.
const GRACE: Duration = Duration::from_secs(3);

pub(super) struct Server {
    client: RunningService<RoleClient, ()>,
    tools: Vec<Tool>,
    /// Killed when dropped.
    process: Child,
    _folder: TempDir,
}

/// The result of a call.
pub(super) struct Answer {
    pub(super) content: Value,
    pub(super) is_error: bool,
}

impl Server {
    pub(super) async fn start() -> Result<Self, Failure> {
        let folder = TempDir::new()?;
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["--log-level", "error", "serve", "--no-watch"]);
        command.env("KENNING_INDEX_STORAGE_PATH", folder.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut process = command.spawn()?;
        let (Some(output), Some(input)) = (process.stdout.take(), process.stdin.take()) else {
            return Err(Failure::new("the server under test has no standard streams"));
        };
        let client = ().serve((output, input)).await.map_err(|e| Failure::new(e.to_string()))?;
        let tools = client.list_all_tools().await.map_err(|error| unanswered(&error))?;
        Ok(Self { client, tools, process, _folder: folder })
    }

    pub(super) fn tools(&self) -> &[Tool] {
        &self.tools
    }

    pub(super) fn offers(&self, tool: &str) -> bool {
        self.tools.iter().any(|known| known.name == tool)
    }

    pub(super) async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
    ) -> Result<Answer, Failure> {
        let request = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        match self.client.call_tool(request).await {
            Ok(result) => Ok(Answer {
                content: result.structured_content.unwrap_or_default(),
                is_error: result.is_error == Some(true),
            }),
            // Such as an unknown tool: a mistake of the model, which is scored.
            Err(ServiceError::McpError(error)) => {
                Ok(Answer { content: Value::String(error.to_string()), is_error: true })
            }
            Err(error) => Err(unanswered(&error)),
        }
    }

    pub(super) async fn stop(mut self) {
        let _ = self.client.cancel().await;
        let _ = tokio::time::timeout(GRACE, self.process.wait()).await;
    }
}

fn unanswered(error: &ServiceError) -> Failure {
    Failure::new(format!("the server under test does not answer: {error}"))
}
