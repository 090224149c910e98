//! One client's requests, answered from the application.

use kenning_app::resource::MAX_COMPLETIONS;
use kenning_app::{
    AppState, Call, Inventory, Operation, Progress, Prompt, Protocol, Surface, Workload,
};
use kenning_gaps::contract;
use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult,
    CompletionInfo, DiscoverResult, ErrorCode, ErrorData, GetPromptRequestParams,
    GetPromptResponse, GetPromptResult, Implementation, InitializeRequestParams, InitializeResult,
    JsonObject, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ProgressNotificationParam, PromptMessage,
    ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult,
    Reference, Role, ServerCapabilities, ServerConfig, SubscribeRequestMethod,
    SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestMethod, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer, SubscriptionContext};
use tokio::sync::mpsc::unbounded_channel;
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::Instrument;

use crate::notifications::{ChangeFeed, Subscriptions};
use crate::{render, span};

const NAME: &str = "kenning";

/// Tools, prompts and templates are fixed while the server runs.
const FIXED_TTL_MS: u64 = 3_600_000;
/// Files may change at any time; clients read them again after this.
const FILES_TTL_MS: u64 = 2_000;

/// How a client is connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    Stdio,
    /// Every request stands alone. Clients of the `initialize` eras need a session for
    /// notifications, so they get none.
    StatelessHttp,
}

/// What the self-description tells of the protocol.
pub fn protocol() -> Protocol {
    Protocol {
        mcp_version: ProtocolVersion::LATEST.to_string(),
        sdk_version: Implementation::from_build_env().version,
    }
}

/// The MCP server. Clones share everything but what belongs to one client.
#[derive(Debug, Clone)]
pub struct Server {
    app: AppState,
    changes: ChangeFeed,
    transport: Transport,
    subscriptions: Subscriptions,
    /// Cancelled when the client disconnects.
    disconnected: CancellationToken,
}

impl Server {
    pub fn new(app: AppState, transport: Transport) -> Self {
        Self {
            app,
            changes: ChangeFeed::default(),
            transport,
            subscriptions: Subscriptions::default(),
            disconnected: CancellationToken::new(),
        }
    }

    /// The same server for another client.
    pub(crate) fn for_client(&self) -> Self {
        let (subscriptions, disconnected) = (Subscriptions::default(), CancellationToken::new());
        Self { subscriptions, disconnected, ..self.clone() }
    }

    /// The same server with another inventory, over another transport.
    #[must_use]
    pub fn offering(&self, inventory: Inventory, transport: Transport) -> Self {
        Self { app: self.app.offering(inventory), transport, ..self.for_client() }
    }

    /// The same server for clients that may change nothing.
    #[must_use]
    pub fn read_only(&self) -> Self {
        Self { app: self.app.read_only(), ..self.for_client() }
    }

    /// Ends what is done for this client alone, as soon as it is dropped.
    pub(crate) fn disconnect_on_drop(&self) -> DropGuard {
        self.disconnected.clone().drop_guard()
    }

    pub fn app(&self) -> &AppState {
        &self.app
    }

    /// Where to announce changes.
    pub fn changes(&self) -> ChangeFeed {
        self.changes.clone()
    }

    /// Runs work under the application's limits.
    async fn work<T: Send + 'static>(
        &self,
        workload: Workload,
        work: impl FnOnce(&AppState) -> T + Send + 'static,
    ) -> Result<T, ErrorData> {
        let done = self.app.work(workload, work).await;
        done.map_err(|refused| ErrorData::internal_error(refused.to_string(), None))
    }

    async fn read(&self, uri: String) -> Result<rmcp::model::ResourceContents, ErrorData> {
        let workload = self.app.workload_of(&uri);
        let read =
            move |app: &AppState| app.read(&uri).map_err(|error| render::read_error(&error, &uri));
        self.work(workload, read).await?.map(render::contents)
    }

    async fn call(
        &self,
        operation: &Operation,
        call: Call,
        context: &RequestContext<RoleServer>,
    ) -> CallToolResult {
        self.report_coverage(context).await;
        let span = span::of_call(operation.name, context);
        let (sender, mut progress) = unbounded_channel();
        let call = Call { progress: Some(sender), ..call };
        let call = self.app.call(operation, call).instrument(span.clone());
        tokio::pin!(call);
        let outcome = loop {
            tokio::select! {
                biased;
                Some(progress) = progress.recv() => notify_progress(context, progress).await,
                outcome = &mut call => break outcome,
            }
        };
        while let Ok(progress) = progress.try_recv() {
            notify_progress(context, progress).await;
        }
        let result = render::outcome(operation, outcome);
        if result.is_error == Some(true) {
            span::failed(&span);
        }
        result
    }

    /// Tells a client that asked for progress how many vectors are computed, unless all are.
    async fn report_coverage(&self, context: &RequestContext<RoleServer>) {
        if context.meta.get_progress_token().is_none() {
            return;
        }
        let coverage = self.app.services.library.snapshot().coverage();
        if !coverage.is_complete() {
            let message = "vectors computed; until then, search is by keywords".to_owned();
            let (done, total) = (coverage.embedded, coverage.total);
            notify_progress(context, Progress { done, total, message }).await;
        }
    }

    fn known_prompt(&self, name: &str) -> Result<&Prompt, ErrorData> {
        self.app.inventory.prompt(name).ok_or_else(|| {
            let known: Vec<&str> = self.app.inventory.prompts.iter().map(|p| p.name).collect();
            let message = format!("there is no prompt `{name}`; there is {}", known.join(", "));
            ErrorData::invalid_params(message, None)
        })
    }
}

async fn notify_progress(context: &RequestContext<RoleServer>, progress: Progress) {
    let Some(token) = context.meta.get_progress_token() else { return };
    let notification = ProgressNotificationParam::new(token, progress.done as f64)
        .with_total(progress.total as f64)
        .with_message(progress.message);
    if let Err(error) = context.peer.notify_progress(notification).await {
        tracing::debug!(%error, "a progress notification could not be sent");
    }
}

/// Name and version of the client, if it introduced itself.
fn client(context: &RequestContext<RoleServer>) -> Option<String> {
    let info = context.peer.peer_info()?;
    Some(format!("{} {}", info.client_info.name, info.client_info.version))
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
        let name = Implementation::new(NAME, kenning_app::VERSION)
            .with_title("Kenning")
            .with_description("What agents can do, what is known, and what is missing");
        let instructions = self.app.inventory.instructions();
        ServerConfig::new(capabilities).with_server_info(name).with_instructions(instructions)
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
            let disconnected = self.disconnected.clone();
            tokio::spawn(async move {
                let notify = changes.notify(context.peer, subscriptions);
                disconnected.run_until_cancelled(notify).await
            });
        }
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = render::tools(&self.app.inventory);
        Ok(ListToolsResult::with_all_items(tools).with_ttl_ms(FIXED_TTL_MS))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let mut arguments: JsonObject = request.arguments.unwrap_or_default();
        let intent = contract::strip(&mut arguments);
        let call = Call { intent, client: client(&context), ..Call::new(Surface::Mcp, arguments) };
        let Some(operation) = self.app.inventory.tool(&request.name) else {
            let message = format!("there is no tool `{}`", request.name);
            self.app.record_unknown(&request.name, &call, &message);
            return Err(ErrorData::invalid_params(message, None));
        };
        Ok(self.call(operation, call, &context).await.into())
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let cursor = request.and_then(|request| request.cursor);
        if let Some(cursor) = &cursor
            && self.app.inventory.family(cursor).is_none()
        {
            let message = format!("`{cursor}` is not a cursor; start again without one");
            return Err(ErrorData::invalid_params(message, None));
        }
        let list = move |app: &AppState| app.page(cursor.as_deref());
        let page = self.work(Workload::External, list).await?;
        Ok(render::page(page).with_ttl_ms(FILES_TTL_MS))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let templates = render::templates(&self.app.inventory);
        let all = ListResourceTemplatesResult::with_all_items(templates);
        Ok(all.with_ttl_ms(FIXED_TTL_MS))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri;
        let is_live = self.app.inventory.family(&uri).is_some_and(|one| one.family().is_live);
        let ttl_ms = if is_live { 0 } else { FILES_TTL_MS };
        let contents = self.read(uri).await?;
        Ok(ReadResourceResult::new(vec![contents]).with_ttl_ms(ttl_ms).into())
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
        self.read(request.uri.clone()).await?;
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
        let prompts = self.app.inventory.prompts.iter().map(render::prompt).collect();
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
        let text = prompt.fill(&given.collect());
        let text = text.map_err(|error| ErrorData::invalid_params(error.to_string(), None))?;
        let message = PromptMessage::new_text(Role::User, text);
        Ok(GetPromptResult::new(vec![message]).with_description(prompt.description).into())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        if let Reference::Prompt(prompt) = &request.r#ref {
            self.known_prompt(&prompt.name)?;
        }
        let workload = match &request.r#ref {
            Reference::Resource(resource) => self.app.workload_of(&resource.uri),
            _ => Workload::Local,
        };
        let mut values = self.work(workload, move |app| complete(app, &request)).await?;
        let total = u32::try_from(values.len()).ok();
        let has_more = values.len() > MAX_COMPLETIONS;
        values.truncate(MAX_COMPLETIONS);
        let completion = CompletionInfo::with_pagination(values, total, has_more)
            .map_err(|message| ErrorData::new(ErrorCode::INTERNAL_ERROR, message, None))?;
        Ok(CompleteResult::new(completion))
    }
}

fn complete(app: &AppState, request: &CompleteRequestParams) -> Vec<String> {
    let (argument, typed) = (request.argument.name.as_str(), request.argument.value.as_str());
    match &request.r#ref {
        Reference::Resource(resource) => {
            let context = request.context.as_ref();
            let chosen = context.and_then(|context| context.arguments.clone()).unwrap_or_default();
            app.complete_resource(&resource.uri, argument, typed, &chosen)
        }
        Reference::Prompt(prompt) => app.complete_prompt(&prompt.name, argument, typed),
        _ => Vec::new(),
    }
}
