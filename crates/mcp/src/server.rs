//! One client's requests, answered from the inventory.

use std::collections::HashMap;
use std::sync::Arc;

use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, CompletionInfo,
    DiscoverResult, ErrorCode, ErrorData, GetPromptRequestParams, GetPromptResponse,
    Implementation, InitializeRequestParams, InitializeResult, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ProgressNotificationParam, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult,
    Reference, ServerCapabilities, ServerConfig, SubscribeRequestMethod, SubscribeRequestParams,
    SubscriptionFilter, UnsubscribeRequestMethod, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer, SubscriptionContext};

use crate::gate::Gate;
use crate::inventory::Inventory;
use crate::prompt::Prompt;
use crate::rooms::Rooms;
use crate::session::{ChangeFeed, Subscriptions};
use crate::tool::{Invocation, ToolError};

const INSTRUCTIONS: &str = "Kenning serves this team's Markdown knowledge bases. Before a \
    non-trivial task call `discover_context`, and read what it recommends with \
    `retrieve_knowledge`; `search_knowledge` finds details, `list_knowledge_bases` shows what \
    there is, `get_dependencies` what blocks what. Cite what you use by its path, as in \
    [SECURITY.md#authentication].";

const PAGE: usize = 100;
/// Tools, prompts and templates are fixed while the server runs.
const FIXED_TTL_MS: u64 = 3_600_000;
/// Files change when somebody saves one.
const FILES_TTL_MS: u64 = 2_000;

/// How a client is connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    Stdio,
    /// Every request stands for itself, so clients of the `initialize` eras, who need a session
    /// for it, cannot be told of changes.
    StatelessHttp,
}

/// The MCP server. Clones share everything but what is one client's own.
#[derive(Debug, Clone)]
pub struct Server {
    inventory: Arc<Inventory>,
    rooms: Arc<Rooms>,
    gate: Gate,
    changes: ChangeFeed,
    transport: Transport,
    subscriptions: Subscriptions,
}

impl Server {
    pub fn new(inventory: Inventory, rooms: Rooms, transport: Transport) -> Self {
        Self {
            inventory: Arc::new(inventory),
            rooms: Arc::new(rooms),
            gate: Gate::new(),
            changes: ChangeFeed::default(),
            transport,
            subscriptions: Subscriptions::default(),
        }
    }

    /// The same server for another client.
    pub(crate) fn for_client(&self) -> Self {
        Self { subscriptions: Subscriptions::default(), ..self.clone() }
    }

    /// The same server for clients that may change nothing.
    #[must_use]
    pub fn reading(&self) -> Self {
        let inventory = Inventory::clone(&self.inventory).only_reading();
        Self { inventory: Arc::new(inventory), ..self.for_client() }
    }

    /// What this server offers.
    pub fn inventory(&self) -> &Inventory {
        &self.inventory
    }

    /// Where to announce changes.
    pub fn changes(&self) -> ChangeFeed {
        self.changes.clone()
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Inventory, &Rooms) -> T + Send + 'static,
    ) -> Result<T, ErrorData> {
        let (inventory, rooms) = (self.inventory.clone(), self.rooms.clone());
        let task = tokio::task::spawn_blocking(move || work(&inventory, &rooms));
        let done = self.gate.run(task).await?;
        done.map_err(|error| ErrorData::internal_error(error.to_string(), None))
    }

    /// Tells a client that asked for progress how far the vectors are, until all are computed.
    async fn report_progress(&self, context: &RequestContext<RoleServer>) {
        let Some(token) = context.meta.get_progress_token() else { return };
        let coverage = self.rooms.library.snapshot().coverage();
        if !coverage.is_complete() {
            let progress = ProgressNotificationParam::new(token, coverage.embedded as f64)
                .with_total(coverage.total as f64)
                .with_message("vectors computed; until then, search is by keywords");
            if let Err(error) = context.peer.notify_progress(progress).await {
                tracing::debug!(%error, "a client does not take progress");
            }
        }
    }

    fn known_prompt(&self, name: &str) -> Result<&Prompt, ErrorData> {
        self.inventory.prompt(name).ok_or_else(|| {
            let known: Vec<&str> = self.inventory.prompts.iter().map(|p| p.name).collect();
            let message = format!("there is no prompt `{name}`; there is {}", known.join(", "));
            ErrorData::invalid_params(message, None)
        })
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_resources_subscribe()
            .enable_prompts()
            .enable_completions()
            .build();
        let name = Implementation::new("kenning", env!("CARGO_PKG_VERSION"))
            .with_title("Kenning")
            .with_description("What agents can do, what is known, and what is missing");
        ServerConfig::new(capabilities).with_server_info(name).with_instructions(INSTRUCTIONS)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        context.peer.set_peer_info(request.clone());
        let mut info = self.negotiate_initialize(&request)?;
        if self.transport == Transport::StatelessHttp
            && let Some(resources) = info.capabilities.resources.as_mut()
        {
            resources.subscribe = None;
            resources.list_changed = None;
        }
        Ok(info)
    }

    async fn discover(&self, _: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        let versions = self.supported_protocol_versions().into_owned();
        Ok(DiscoverResult::from_server_info(versions, self.get_info()).with_ttl_ms(FIXED_TTL_MS))
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        if self.transport == Transport::Stdio {
            let (changes, subscriptions) = (self.changes(), self.subscriptions.clone());
            tokio::spawn(async move { changes.tell(context.peer, subscriptions).await });
        }
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.inventory.tools.iter().map(crate::tool::Tool::definition).collect();
        Ok(ListToolsResult::with_all_items(tools).with_ttl_ms(FIXED_TTL_MS))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = self.inventory.tool(&request.name) else {
            let message = format!("there is no tool `{}`", request.name);
            return Err(ErrorData::invalid_params(message, None));
        };
        self.report_progress(&context).await;
        let call = Invocation {
            rooms: self.rooms.clone(),
            arguments: request.arguments.unwrap_or_default(),
            context,
        };
        match self.gate.run((tool.run)(call)).await {
            Ok(outcome) => outcome.map(CallToolResponse::from),
            Err(refused) => {
                let message = refused.to_string();
                let error = ToolError { error: "UNAVAILABLE", message, ..ToolError::default() };
                Ok(error.into_result().into())
            }
        }
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let cursor = request.and_then(|request| request.cursor);
        if let Some(cursor) = &cursor
            && self.inventory.family(cursor).is_none()
        {
            let message = format!("`{cursor}` is not a cursor; start again without one");
            return Err(ErrorData::invalid_params(message, None));
        }
        let page = self
            .blocking(move |inventory, rooms| page(inventory, rooms, cursor.as_deref()))
            .await?;
        Ok(page.with_ttl_ms(FILES_TTL_MS))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let templates = self.inventory.resources.iter().flat_map(|family| family.templates());
        let all = ListResourceTemplatesResult::with_all_items(templates.collect());
        Ok(all.with_ttl_ms(FIXED_TTL_MS))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri;
        let contents =
            self.blocking(move |inventory, rooms| read(inventory, rooms, &uri)).await??;
        Ok(ReadResourceResult::new(vec![contents]).with_ttl_ms(FILES_TTL_MS).into())
    }

    fn accepted_subscription_filter(
        &self,
        filter: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(filter.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        self.changes.stream(&context).await;
        Ok(())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if self.transport == Transport::StatelessHttp {
            return Err(ErrorData::method_not_found::<SubscribeRequestMethod>());
        }
        let uri = request.uri.clone();
        self.blocking(move |inventory, rooms| read(inventory, rooms, &uri)).await??;
        self.subscriptions.add(request.uri);
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if self.transport == Transport::StatelessHttp {
            return Err(ErrorData::method_not_found::<UnsubscribeRequestMethod>());
        }
        self.subscriptions.remove(&request.uri);
        Ok(())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let prompts = self.inventory.prompts.iter().map(Prompt::definition).collect();
        Ok(ListPromptsResult::with_all_items(prompts).with_ttl_ms(FIXED_TTL_MS))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let prompt = self.known_prompt(&request.name)?;
        let given = request.arguments.unwrap_or_default().into_iter().map(|(key, value)| {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            (key, text)
        });
        prompt.get(&given.collect()).map(GetPromptResponse::from)
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        if let Reference::Prompt(prompt) = &request.r#ref {
            self.known_prompt(&prompt.name)?;
        }
        let values = self.blocking(move |inventory, rooms| complete(inventory, rooms, &request));
        let mut values = values.await?;
        let total = u32::try_from(values.len()).ok();
        let has_more = values.len() > CompletionInfo::MAX_VALUES;
        values.truncate(CompletionInfo::MAX_VALUES);
        let completion = CompletionInfo::with_pagination(values, total, has_more)
            .map_err(|message| ErrorData::new(ErrorCode::INTERNAL_ERROR, message, None))?;
        Ok(CompleteResult::new(completion))
    }
}

/// A page of the resources of all families, one after the other. The cursor is the last URI seen.
fn page(inventory: &Inventory, rooms: &Rooms, cursor: Option<&str>) -> ListResourcesResult {
    let mut resources = Vec::new();
    let families = inventory.resources.iter();
    let at_cursor = |scheme: &str| cursor.is_none_or(|uri| uri.split("://").next() == Some(scheme));
    for (i, family) in families.skip_while(|family| !at_cursor(family.scheme())).enumerate() {
        let after = cursor.filter(|_| i == 0);
        resources.extend(family.list(rooms, after, PAGE + 1 - resources.len()));
        if resources.len() > PAGE {
            break;
        }
    }
    let more = resources.len() > PAGE;
    resources.truncate(PAGE);
    let next_cursor = resources.last().filter(|_| more).map(|last| last.uri.clone());
    ListResourcesResult { next_cursor, ..ListResourcesResult::with_all_items(resources) }
}

fn read(
    inventory: &Inventory,
    rooms: &Rooms,
    uri: &str,
) -> Result<rmcp::model::ResourceContents, ErrorData> {
    let Some(family) = inventory.family(uri) else {
        let known: Vec<String> =
            inventory.resources.iter().map(|family| format!("`{}://`", family.scheme())).collect();
        let message =
            format!("no resource is called `{uri}`; URIs start with {}", known.join(", "));
        return Err(ErrorData::resource_not_found(
            message,
            Some(serde_json::json!({ "uri": uri })),
        ));
    };
    family.read(rooms, uri).map_err(|error| error.into_error_data(uri))
}

fn complete(inventory: &Inventory, rooms: &Rooms, request: &CompleteRequestParams) -> Vec<String> {
    let argument = &request.argument;
    match &request.r#ref {
        Reference::Resource(resource) => {
            let chosen: HashMap<String, String> = request
                .context
                .as_ref()
                .and_then(|context| context.arguments.clone())
                .unwrap_or_default();
            let family = inventory.family(&resource.uri);
            let all = family.map(|family| family.complete(rooms, &argument.name, &chosen));
            matching(all.unwrap_or_default(), &argument.value)
        }
        Reference::Prompt(prompt) => {
            let values = inventory
                .prompt(&prompt.name)
                .and_then(|prompt| prompt.arguments.iter().find(|a| a.name == argument.name))
                .and_then(|argument| argument.complete);
            matching(values.map(|values| values(rooms)).unwrap_or_default(), &argument.value)
        }
        _ => Vec::new(),
    }
}

/// Values that contain what was typed, those that start with it first.
fn matching(values: Vec<String>, typed: &str) -> Vec<String> {
    let typed = typed.to_lowercase();
    let (starting, rest): (Vec<_>, Vec<_>) =
        values.into_iter().partition(|value| value.to_lowercase().starts_with(&typed));
    let containing = rest.into_iter().filter(|value| value.to_lowercase().contains(&typed));
    starting.into_iter().chain(containing).collect()
}
