//! One client's requests, answered from the inventory.

use std::sync::Arc;
use std::time::Instant;

use kenning_gaps::contract;
use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, CompletionInfo,
    DiscoverResult, ErrorCode, ErrorData, GetPromptRequestParams, GetPromptResponse,
    Implementation, InitializeRequestParams, InitializeResult, JsonObject, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ProgressNotificationParam, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult,
    Reference, ServerCapabilities, ServerConfig, SubscribeRequestMethod, SubscribeRequestParams,
    SubscriptionFilter, UnsubscribeRequestMethod, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer, SubscriptionContext};
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::Instrument;

use crate::gaps::{Called, Tally};
use crate::house::House;
use crate::inventory::Inventory;
use crate::meter::ToolFigures;
use crate::prompt::Prompt;
use crate::resource::ResourceFamily;
use crate::rooms::Rooms;
use crate::session::{ChangeFeed, Subscriptions};
use crate::span;
use crate::tool::{Invocation, Outcome, Tool, ToolError, UNAVAILABLE};

pub(crate) const NAME: &str = "kenning";
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

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
    house: Arc<House>,
    changes: ChangeFeed,
    transport: Transport,
    subscriptions: Subscriptions,
    /// Cancelled when the client is gone.
    gone: CancellationToken,
}

impl Server {
    pub fn new(inventory: Inventory, rooms: Rooms, transport: Transport) -> Self {
        Self {
            house: Arc::new(House::new(inventory, rooms)),
            changes: ChangeFeed::default(),
            transport,
            subscriptions: Subscriptions::default(),
            gone: CancellationToken::new(),
        }
    }

    /// The same server for another client.
    pub(crate) fn for_client(&self) -> Self {
        let (subscriptions, gone) = (Subscriptions::default(), CancellationToken::new());
        Self { subscriptions, gone, ..self.clone() }
    }

    /// The same rooms for clients that are offered something else, over another transport.
    #[must_use]
    pub fn offering(&self, inventory: Inventory, transport: Transport) -> Self {
        Self { house: Arc::new(self.house.offering(inventory)), transport, ..self.for_client() }
    }

    /// Ends what is done for this client alone, as soon as it is dropped.
    pub(crate) fn until_gone(&self) -> DropGuard {
        self.gone.clone().drop_guard()
    }

    /// The same server for clients that may change nothing.
    #[must_use]
    pub fn reading(&self) -> Self {
        Self { house: Arc::new(self.house.reading()), ..self.for_client() }
    }

    /// What this server offers.
    pub fn inventory(&self) -> &Inventory {
        &self.house.inventory
    }

    /// Where to announce changes.
    pub fn changes(&self) -> ChangeFeed {
        self.changes.clone()
    }

    /// How its tools fared so far.
    pub fn figures(&self) -> Vec<ToolFigures> {
        self.house.meter.figures()
    }

    /// What became of the calls that were heard; `None` if nobody listens.
    pub fn heard(&self) -> Option<Tally> {
        self.house.rooms.ear.as_ref().map(|ear| ear.tally())
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&House) -> T + Send + 'static,
    ) -> Result<T, ErrorData> {
        let house = self.house.clone();
        let task = tokio::task::spawn_blocking(move || work(&house));
        let done = self.house.gate.run(task).await?;
        done.map_err(|error| ErrorData::internal_error(error.to_string(), None))
    }

    /// Tells a client that asked for progress how far the vectors are, until all are computed.
    async fn report_progress(&self, context: &RequestContext<RoleServer>) {
        let Some(token) = context.meta.get_progress_token() else { return };
        let coverage = self.house.rooms.library.snapshot().coverage();
        if !coverage.is_complete() {
            let progress = ProgressNotificationParam::new(token, coverage.embedded as f64)
                .with_total(coverage.total as f64)
                .with_message("vectors computed; until then, search is by keywords");
            if let Err(error) = context.peer.notify_progress(progress).await {
                tracing::debug!(%error, "a client does not take progress");
            }
        }
    }

    async fn run(
        &self,
        tool: &Tool,
        arguments: JsonObject,
        context: RequestContext<RoleServer>,
    ) -> Outcome {
        self.report_progress(&context).await;
        let span = span::of_call(tool.name, &context);
        let call = Invocation { rooms: self.house.rooms.clone(), arguments, context };
        let began = Instant::now();
        let gate = &self.house.gate;
        let done = if tool.toolset.needs_store() {
            gate.run_at_store((tool.run)(call)).instrument(span.clone()).await
        } else {
            gate.run((tool.run)(call)).instrument(span.clone()).await
        };
        let outcome = done.unwrap_or_else(|refused| {
            let (error, message) = (UNAVAILABLE.code, refused.to_string());
            Ok(ToolError { error, message, ..ToolError::default() }.into_result())
        });
        if outcome.as_ref().is_ok_and(|result| result.is_error != Some(true)) {
            self.house.meter.record(tool.name, began.elapsed());
        } else {
            self.house.meter.record_error(tool.name);
            span::failed(&span);
        }
        outcome
    }

    fn known_prompt(&self, name: &str) -> Result<&Prompt, ErrorData> {
        self.inventory().prompt(name).ok_or_else(|| {
            let known: Vec<&str> = self.inventory().prompts.iter().map(|p| p.name).collect();
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
        let name = Implementation::new(NAME, VERSION)
            .with_title("Kenning")
            .with_description("What agents can do, what is known, and what is missing");
        let instructions = self.inventory().instructions();
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
            let gone = self.gone.clone();
            tokio::spawn(async move {
                gone.run_until_cancelled(changes.tell(context.peer, subscriptions)).await
            });
        }
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.inventory().tools.iter().map(Tool::definition).collect();
        Ok(ListToolsResult::with_all_items(tools).with_ttl_ms(FIXED_TTL_MS))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let mut arguments = request.arguments.unwrap_or_default();
        let intent = contract::strip(&mut arguments);
        let heard = self.house.rooms.ear.clone();
        let heard =
            heard.map(|ear| (ear, Called::begin(&request.name, &arguments, intent, &context)));
        let began = Instant::now();
        let outcome = if let Some(tool) = self.inventory().tool(&request.name) {
            self.run(tool, arguments, context).await
        } else {
            let message = format!("there is no tool `{}`", request.name);
            Err(ErrorData::invalid_params(message, None))
        };
        if let Some((ear, called)) = heard {
            ear.heard(called.end(began.elapsed(), &outcome));
        }
        outcome.map(CallToolResponse::from)
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let cursor = request.and_then(|request| request.cursor);
        if let Some(cursor) = &cursor
            && self.inventory().family(cursor).is_none()
        {
            let message = format!("`{cursor}` is not a cursor; start again without one");
            return Err(ErrorData::invalid_params(message, None));
        }
        let page = self.blocking(move |house| house.page(cursor.as_deref())).await?;
        Ok(page.with_ttl_ms(FILES_TTL_MS))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let templates = self.inventory().resources.iter().flat_map(|family| family.templates());
        let all = ListResourceTemplatesResult::with_all_items(templates.collect());
        Ok(all.with_ttl_ms(FIXED_TTL_MS))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri;
        let live = self.inventory().family(&uri).is_some_and(ResourceFamily::is_live);
        let ttl_ms = if live { 0 } else { FILES_TTL_MS };
        let contents = self.blocking(move |house| house.read(&uri)).await??;
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
        let uri = request.uri.clone();
        self.blocking(move |house| house.read(&uri)).await??;
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
        let prompts = self.inventory().prompts.iter().map(Prompt::definition).collect();
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
        let mut values = self.blocking(move |house| house.complete(&request)).await?;
        let total = u32::try_from(values.len()).ok();
        let has_more = values.len() > CompletionInfo::MAX_VALUES;
        values.truncate(CompletionInfo::MAX_VALUES);
        let completion = CompletionInfo::with_pagination(values, total, has_more)
            .map_err(|message| ErrorData::new(ErrorCode::INTERNAL_ERROR, message, None))?;
        Ok(CompleteResult::new(completion))
    }
}
