//! The contract in a server that is built with the SDK: one line of code, and no proxy.
//!
//! ```
//! # use std::sync::Arc;
//! # use kenning_gaps::{Identity, Redactor};
//! # use kenning_wrap::layer::Recorded;
//! # use kenning_wrap::{NullSink, Recorder};
//! # #[derive(Clone)]
//! # struct MyServer;
//! # impl rmcp::ServerHandler for MyServer {}
//! # let sink = Arc::new(NullSink);
//! let recorder = Recorder::start("my-server", Identity::default(), Redactor::default(), sink);
//! let server = Recorded::new(MyServer, recorder);
//! ```
//!
//! The SDK's HTTP transport takes handlers and builds services from them itself. So a layer that
//! works on every transport has to be a handler around a handler.

mod handler;

use std::fmt;
use std::sync::Arc;

use kenning_gaps::contract::{self, Offer};
use kenning_gaps::native::NativeIntent;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData,
    Implementation, JsonObject, ListToolsResult, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use serde_json::Value;

use crate::bounded_json::BoundedJson;
use crate::call::{Call, Ending, Finished};
use crate::inject::ToolFacts;
use crate::recorder::{Caller, Recorder};

type CallerOf = dyn Fn(&RequestContext<RoleServer>) -> Caller + Send + Sync;

/// A server whose calls are recorded, and whose agents can request missing capabilities.
///
/// Everything but lists and calls of tools reaches the server unchanged. A server that is created
/// for every session can be wrapped each time: all state is the recorder's.
#[derive(Clone)]
pub struct Recorded<S> {
    server: S,
    recorder: Recorder,
    offer: Offer,
    native: NativeIntent,
    caller_of: Option<Arc<CallerOf>>,
}

impl<S: ServerHandler> Recorded<S> {
    pub fn new(server: S, recorder: Recorder) -> Self {
        recorder.capture().suggest_server(&server.get_info().server_info.version);
        let (offer, native) = (Offer::default(), NativeIntent::default());
        Self { server, recorder, offer, native, caller_of: None }
    }

    /// Switches halves of the contract off.
    #[must_use]
    pub fn with_offer(self, offer: Offer) -> Self {
        Self { offer, ..self }
    }

    /// Sets which field of the server's own tools counts as the intent.
    #[must_use]
    pub fn with_native_intent(self, native: NativeIntent) -> Self {
        Self { native, ..self }
    }

    /// Sets how a caller is identified, where the server knows more than the client's name: from
    /// the request's extensions, for instance, which hold the head of an HTTP request.
    #[must_use]
    pub fn with_caller(
        self,
        caller_of: impl Fn(&RequestContext<RoleServer>) -> Caller + Send + Sync + 'static,
    ) -> Self {
        Self { caller_of: Some(Arc::new(caller_of)), ..self }
    }

    /// A page of the server's tools with the contract in it. The reserved tool is on the first page,
    /// which every client reads.
    fn offer(&self, mut page: ListToolsResult, is_first: bool) -> ListToolsResult {
        for tool in &mut page.tools {
            let schema = Value::Object(tool.input_schema.as_ref().clone());
            self.recorder.learn(ToolFacts::read(&tool.name, Some(&schema), &self.native));
            if self.offer.intent && tool.name != contract::TOOL_NAME {
                let injected = contract::inject_schema(Some(&schema));
                if let Some(Value::Object(injected)) = injected {
                    tool.input_schema = Arc::new(injected);
                }
            }
        }
        self.recorder.tools(page.tools.iter().map(|tool| &tool.name));
        if is_first && self.answers(contract::TOOL_NAME) {
            page.tools.push(reserved());
        }
        page
    }

    /// Whether the layer answers calls of this tool. A server's own tool of that name wins.
    fn answers(&self, tool: &str) -> bool {
        self.offer.tool && tool == contract::TOOL_NAME && self.facts(tool).is_none()
    }

    /// Facts about a tool, from any client's list of tools or from the server itself.
    fn facts(&self, tool: &str) -> Option<ToolFacts> {
        self.recorder.tool(tool).or_else(|| {
            let schema = self.server.get_tool(tool)?.input_schema;
            let schema = Value::Object(schema.as_ref().clone());
            let facts = ToolFacts::read(tool, Some(&schema), &self.native);
            self.recorder.learn(facts.clone());
            Some(facts)
        })
    }

    async fn call(
        &self,
        mut request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let caller = self.caller(&context);
        if self.answers(&request.name) {
            let call = Call::with(&request.name, bounded(request.arguments.as_ref()), caller);
            self.recorder.capture().requested(call);
            return Ok(acknowledgement().into());
        }
        let call = self.begin(&mut request, caller);
        let answer = self.server.call_tool(request, context).await;
        if let Some(ending) = ending(&answer) {
            self.recorder.capture().push(Finished::now(call, ending));
        }
        answer
    }

    /// Removes the contract's parameter from a request, and records it.
    fn begin(&self, request: &mut CallToolRequestParams, caller: Caller) -> Call {
        let facts = self.facts(&request.name);
        // A server's own tool of the reserved name was not given the parameter.
        let is_reserved = request.name == contract::TOOL_NAME;
        let owns_intent = is_reserved || facts.as_ref().is_some_and(|facts| facts.owns_intent);
        let arguments = request.arguments.as_mut();
        let intent =
            arguments.filter(|_| self.offer.intent && !owns_intent).and_then(contract::strip);
        let mut call = Call::with(&request.name, bounded(request.arguments.as_ref()), caller);
        call.set_intent(intent.as_deref());
        let native = facts.and_then(|facts| facts.native).filter(|_| !owns_intent);
        if let Some((field, arguments)) = native.zip(request.arguments.as_ref()) {
            call.read_native(&field, arguments.get(&field).and_then(Value::as_str));
        }
        call
    }

    fn caller(&self, context: &RequestContext<RoleServer>) -> Caller {
        let mut caller =
            self.caller_of.as_ref().map(|caller_of| caller_of(context)).unwrap_or_default();
        if caller.client.is_none() {
            // For older clients without a session, the SDK fills in its own name.
            let client = context.client_info().filter(|name| *name != Implementation::default());
            caller.client = client.map(|client| client.name);
        }
        caller
    }
}

impl<S: fmt::Debug> fmt::Debug for Recorded<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Recorded");
        debug.field("server", &self.server).field("offer", &self.offer);
        debug.field("native", &self.native).finish_non_exhaustive()
    }
}

fn bounded(arguments: Option<&JsonObject>) -> BoundedJson {
    arguments.map_or_else(|| BoundedJson::of(&JsonObject::new()), BoundedJson::of)
}

/// The reserved tool. It returns plain text, so it has no output schema.
fn reserved() -> Tool {
    let schema = contract::tool_schema().as_object().cloned().unwrap_or_default();
    Tool::new(contract::TOOL_NAME, contract::TOOL_DESCRIPTION, Arc::new(schema))
}

fn acknowledgement() -> CallToolResult {
    let mut result = CallToolResult::success(vec![ContentBlock::text(contract::ACKNOWLEDGEMENT)]);
    // The contract's answer has no `isError`.
    result.is_error = None;
    result
}

/// How a call ended; `None` if the server asks for more input, which does not end it.
fn ending(answer: &Result<CallToolResponse, ErrorData>) -> Option<Ending> {
    Some(match answer {
        Err(error) => Ending::failed(&error.message),
        Ok(CallToolResponse::Complete(result)) if result.is_error == Some(true) => {
            Ending::failed(&texts(&result.content))
        }
        Ok(CallToolResponse::Complete(result)) => Ending::Result(BoundedJson::of(result)),
        Ok(CallToolResponse::Task(task)) => Ending::Result(BoundedJson::of(task)),
        // A kind of response that the SDK adds later is not known to end a call.
        Ok(_) => return None,
    })
}

/// The texts of a failed tool's result.
fn texts(content: &[ContentBlock]) -> String {
    let texts = content.iter().filter_map(|block| block.as_text());
    texts.map(|text| text.text.as_str()).collect::<Vec<_>>().join("\n")
}
