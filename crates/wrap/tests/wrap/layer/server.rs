//! A server with everything that a layer could get wrong.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest,
    CustomResult, ErrorData, GetPromptRequestParams, GetPromptResponse, GetPromptResult,
    Implementation, InputRequiredResult, ListPromptsResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, Prompt, PromptMessage, ReadResourceRequestParams, ReadResourceResponse,
    ReadResourceResult, Resource, ResourceContents, Role, ServerCapabilities, ServerConfig, Tool,
    object,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use serde_json::{Value, json};

const NATIVE_INTENT: &str = "Why the user wants this, for product analytics";

/// Its tools come on two pages.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fixture {
    /// A tool of the reserved name.
    pub(crate) own_request: bool,
}

impl Fixture {
    fn pages(&self) -> [Vec<Tool>; 2] {
        let number = json!({"type": "object", "properties": {"a": {"type": "number"}}});
        let sum = json!({"type": "object", "properties": {"sum": {"type": "number"}}});
        let mut add = tool("add", number);
        add.output_schema = Some(Arc::new(object(sum)));
        let native = json!({"type": "string", "description": NATIVE_INTENT});
        let owned = json!({"type": "string", "description": "ours"});
        let mut second = vec![
            tool("fail", json!({"type": "object"})),
            tool("own", json!({"type": "object", "properties": {"mcpeyeIntent": owned}})),
            tool("native", json!({"type": "object", "properties": {"intent": native}})),
            tool("ask", json!({})),
        ];
        if self.own_request {
            second.push(tool("mcpeye_request_capability", json!({"type": "object"})));
        }
        [vec![add, tool("echo", json!({"type": "object"}))], second]
    }
}

fn tool(name: &'static str, schema: Value) -> Tool {
    Tool::new(name, "A tool of the test", Arc::new(object(schema)))
}

impl ServerHandler for Fixture {
    fn get_info(&self) -> ServerConfig {
        let capabilities =
            ServerCapabilities::builder().enable_tools().enable_prompts().enable_resources();
        ServerConfig::new(capabilities.build())
            .with_server_info(Implementation::new("fixture", "1.2.3"))
            .with_instructions("Try everything.")
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.pages().into_iter().flatten().find(|tool| tool.name == name)
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let [first, second] = self.pages();
        if request.is_some_and(|request| request.cursor.is_some()) {
            return Ok(ListToolsResult::with_all_items(second));
        }
        let mut page = ListToolsResult::with_all_items(first);
        page.next_cursor = Some("2".to_owned());
        Ok(page)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        Ok(match request.name.as_ref() {
            "add" => {
                let sum = arguments["a"].as_i64().unwrap_or_default() + 1;
                CallToolResult::structured(json!({ "sum": sum })).into()
            }
            "fail" => {
                let texts = ["it broke for a@b.co", "twice"].map(ContentBlock::text);
                CallToolResult::error(texts.to_vec()).into()
            }
            "ask" if request.request_state.is_none() => {
                InputRequiredResult::from_request_state("half-way").into()
            }
            "echo" | "own" | "native" | "ask" | "mcpeye_request_capability" => {
                CallToolResult::success(vec![ContentBlock::text(arguments.to_string())]).into()
            }
            other => {
                return Err(ErrorData::invalid_params(format!("no tool `{other}`"), None));
            }
        })
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(vec![Prompt::new("greet", Some("Greets"), None)]))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let message = PromptMessage::new_text(Role::User, request.name);
        Ok(GetPromptResult::new(vec![message]).into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(vec![Resource::new("test://one", "one")]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        if request.uri != "test://one" {
            return Err(ErrorData::resource_not_found("no such resource", None));
        }
        Ok(ReadResourceResult::new(vec![ResourceContents::text("1", request.uri)]).into())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Ok(CustomResult::new(json!({ "custom": request.method })))
    }
}
