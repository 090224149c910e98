//! The handler: passes every method on to the server, except those for tools.

#![expect(deprecated, reason = "older clients still ask for what newer ones do not")]

use std::borrow::Cow;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, CancelledNotificationParam,
    CompleteRequestParams, CompleteResult, CustomNotification, CustomRequest, CustomResult,
    DiscoverResult, ErrorData, GetPromptRequestParams, GetPromptResponse, GetTaskParams,
    GetTaskResult, InitializeRequestParams, InitializeResult, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ProgressNotificationParam, ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse,
    ServerConfig, SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, Tool,
    UnsubscribeRequestParams, UpdateTaskParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{RoleServer, ServerHandler};

use super::{Recorded, reserved};

/// Methods that go straight to the server.
macro_rules! pass_on {
    ($($name:ident($($argument:ident: $kind:ty),*) -> $answer:ty;)*) => {
        $(
            async fn $name(&self, $($argument: $kind),*) -> $answer {
                self.server.$name($($argument),*).await
            }
        )*
    };
}

type Context = RequestContext<RoleServer>;
type Notice = NotificationContext<RoleServer>;

impl<S: ServerHandler> ServerHandler for Recorded<S> {
    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Result<ListToolsResult, ErrorData> {
        let is_first = request.as_ref().is_none_or(|request| request.cursor.is_none());
        let page = self.server.list_tools(request, context).await?;
        Ok(self.offer(page, is_first))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: Context,
    ) -> Result<CallToolResponse, ErrorData> {
        self.call(request, context).await
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.server.get_tool(name).or_else(|| self.answers(name).then(reserved))
    }

    fn get_info(&self) -> ServerConfig {
        self.server.get_info()
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        self.server.supported_protocol_versions()
    }

    fn negotiate_initialize(
        &self,
        request: &InitializeRequestParams,
    ) -> Result<InitializeResult, ErrorData> {
        self.server.negotiate_initialize(request)
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        self.server.accepted_subscription_filter(requested)
    }

    pass_on! {
        ping(context: Context) -> Result<(), ErrorData>;
        initialize(request: InitializeRequestParams, context: Context)
            -> Result<InitializeResult, ErrorData>;
        discover(context: Context) -> Result<DiscoverResult, ErrorData>;
        complete(request: CompleteRequestParams, context: Context)
            -> Result<CompleteResult, ErrorData>;
        set_level(request: SetLevelRequestParams, context: Context) -> Result<(), ErrorData>;
        get_prompt(request: GetPromptRequestParams, context: Context)
            -> Result<GetPromptResponse, ErrorData>;
        list_prompts(request: Option<PaginatedRequestParams>, context: Context)
            -> Result<ListPromptsResult, ErrorData>;
        list_resources(request: Option<PaginatedRequestParams>, context: Context)
            -> Result<ListResourcesResult, ErrorData>;
        list_resource_templates(request: Option<PaginatedRequestParams>, context: Context)
            -> Result<ListResourceTemplatesResult, ErrorData>;
        read_resource(request: ReadResourceRequestParams, context: Context)
            -> Result<ReadResourceResponse, ErrorData>;
        listen(context: SubscriptionContext) -> Result<(), ErrorData>;
        subscribe(request: SubscribeRequestParams, context: Context) -> Result<(), ErrorData>;
        unsubscribe(request: UnsubscribeRequestParams, context: Context) -> Result<(), ErrorData>;
        on_custom_request(request: CustomRequest, context: Context)
            -> Result<CustomResult, ErrorData>;
        get_task(request: GetTaskParams, context: Context) -> Result<GetTaskResult, ErrorData>;
        update_task(request: UpdateTaskParams, context: Context) -> Result<(), ErrorData>;
        cancel_task(request: CancelTaskParams, context: Context) -> Result<(), ErrorData>;
        on_cancelled(notice: CancelledNotificationParam, context: Notice) -> ();
        on_progress(notice: ProgressNotificationParam, context: Notice) -> ();
        on_initialized(context: Notice) -> ();
        on_roots_list_changed(context: Notice) -> ();
        on_custom_notification(notice: CustomNotification, context: Notice) -> ();
    }
}
