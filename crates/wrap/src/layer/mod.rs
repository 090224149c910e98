//! The contract in a server that is built with the SDK: one line, and no process in between.
//!
//! ```
//! # use std::sync::Arc;
//! # use kenning_gaps::{Identity, Redactor};
//! # use kenning_wrap::layer::Heard;
//! # use kenning_wrap::{Nowhere, Recorder};
//! # #[derive(Clone)]
//! # struct MyServer;
//! # impl rmcp::ServerHandler for MyServer {}
//! # let sink = Arc::new(Nowhere);
//! let recorder = Recorder::start("my-server", Identity::default(), Redactor::default(), sink);
//! let server = Heard::new(MyServer, recorder);
//! ```
//!
//! The SDK takes handlers over HTTP and makes services of them itself, so a layer that serves
//! everywhere is a handler around a handler.

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

use crate::call::{Call, Ending, Finished, Kept};
use crate::inject::ToolFacts;
use crate::recorder::{Caller, Recorder};

type Who = dyn Fn(&RequestContext<RoleServer>) -> Caller + Send + Sync;

/// A server whose agents can say what they miss, and whose calls are recorded.
///
/// Everything but lists and calls of tools reaches the server as it came. A server that is made
/// anew for every session may be wrapped anew each time: what has to be remembered is the
/// recorder's.
#[derive(Clone)]
pub struct Heard<S> {
    server: S,
    recorder: Recorder,
    offer: Offer,
    native: NativeIntent,
    who: Option<Arc<Who>>,
}

impl<S: ServerHandler> Heard<S> {
    pub fn new(server: S, recorder: Recorder) -> Self {
        recorder.capture().suggest_server(&server.get_info().server_info.version);
        let (offer, native) = (Offer::default(), NativeIntent::default());
        Self { server, recorder, offer, native, who: None }
    }

    /// Switches halves of the contract off.
    #[must_use]
    pub fn with_offer(self, offer: Offer) -> Self {
        Self { offer, ..self }
    }

    /// Says which field of the server's own tools may stand in for the parameter.
    #[must_use]
    pub fn with_native_intent(self, native: NativeIntent) -> Self {
        Self { native, ..self }
    }

    /// Says who calls, where the server knows more than the client's name: from the request's
    /// extensions, for instance, where the HTTP transport leaves the head of the request.
    #[must_use]
    pub fn with_caller(
        self,
        who: impl Fn(&RequestContext<RoleServer>) -> Caller + Send + Sync + 'static,
    ) -> Self {
        Self { who: Some(Arc::new(who)), ..self }
    }

    /// A page of the server's tools with the contract in it. The reserved tool stands on the first
    /// page, which every client reads.
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

    /// Whether a call of this tool is for us. A server's own tool of that name stays its own.
    fn answers(&self, tool: &str) -> bool {
        self.offer.tool && tool == contract::TOOL_NAME && self.facts(tool).is_none()
    }

    /// What is known of a tool from a list that some client asked for, or from the server itself.
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
            let call = Call::with(&request.name, kept(request.arguments.as_ref()), caller);
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

    /// Takes out of a request what the server must not see, and takes it down.
    fn begin(&self, request: &mut CallToolRequestParams, caller: Caller) -> Call {
        let facts = self.facts(&request.name);
        // A server's own tool of the reserved name was not given the parameter.
        let untouched = request.name == contract::TOOL_NAME;
        let owns_intent = untouched || facts.as_ref().is_some_and(|facts| facts.owns_intent);
        let arguments = request.arguments.as_mut();
        let intent =
            arguments.filter(|_| self.offer.intent && !owns_intent).and_then(contract::strip);
        let mut call = Call::with(&request.name, kept(request.arguments.as_ref()), caller);
        call.heard(intent.as_deref());
        let native = facts.and_then(|facts| facts.native).filter(|_| !owns_intent);
        if let Some((field, arguments)) = native.zip(request.arguments.as_ref()) {
            call.read_native(&field, arguments.get(&field).and_then(Value::as_str));
        }
        call
    }

    fn caller(&self, context: &RequestContext<RoleServer>) -> Caller {
        let mut caller = self.who.as_ref().map(|who| who(context)).unwrap_or_default();
        if caller.client.is_none() {
            // Where older clients come without a session, the SDK puts its own name in their place.
            let client = context.client_info().filter(|name| *name != Implementation::default());
            caller.client = client.map(|client| client.name);
        }
        caller
    }
}

impl<S: fmt::Debug> fmt::Debug for Heard<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Heard");
        shown.field("server", &self.server).field("offer", &self.offer);
        shown.field("native", &self.native).finish_non_exhaustive()
    }
}

fn kept(arguments: Option<&JsonObject>) -> Kept {
    arguments.map_or_else(|| Kept::of(&JsonObject::new()), Kept::of)
}

/// The reserved tool. What it returns is plain text, so it has no output schema.
fn reserved() -> Tool {
    let schema = contract::tool_schema().as_object().cloned().unwrap_or_default();
    Tool::new(contract::TOOL_NAME, contract::TOOL_DESCRIPTION, Arc::new(schema))
}

fn acknowledgement() -> CallToolResult {
    let mut result = CallToolResult::success(vec![ContentBlock::text(contract::ACKNOWLEDGEMENT)]);
    // The contract's answer says nothing of errors.
    result.is_error = None;
    result
}

/// How a call ended; `None` if the server asks for more input, and the call goes on.
fn ending(answer: &Result<CallToolResponse, ErrorData>) -> Option<Ending> {
    Some(match answer {
        Err(error) => Ending::failed(&error.message),
        Ok(CallToolResponse::Complete(result)) if result.is_error == Some(true) => {
            Ending::failed(&texts(&result.content))
        }
        Ok(CallToolResponse::Complete(result)) => Ending::Result(Kept::of(result)),
        Ok(CallToolResponse::Task(task)) => Ending::Result(Kept::of(task)),
        // Among those the SDK may yet invent, none is known to be an end.
        Ok(_) => return None,
    })
}

/// What a failed tool says.
fn texts(content: &[ContentBlock]) -> String {
    let texts = content.iter().filter_map(|block| block.as_text());
    texts.map(|text| text.text.as_str()).collect::<Vec<_>>().join("\n")
}
