//! The state of a client's session, so that another server can continue it.
//!
//! Up to 2025-11-25 a session begins with `initialize` and may have subscriptions; since 2026-07-28
//! every request stands for itself, and a subscription is a request that stays unanswered. In both,
//! a request under way is repeated if it changes nothing, and otherwise answered with an error,
//! because its outcome is not known.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};

use kenning_app::{Effect, Inventory};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// Where a notification names the request that it belongs to.
const SUBSCRIPTION_KEY: &str = "io.modelcontextprotocol/subscriptionId";
/// A request that is answered when its subscription ends.
const LISTEN: &str = "subscriptions/listen";
/// JSON-RPC's code.
const INTERNAL_ERROR: i32 = -32603;

#[derive(Debug, Default)]
pub(super) struct Journal {
    /// `initialize`, after it was answered.
    opening: Option<Request>,
    /// `notifications/initialized`
    opened: Option<Vec<u8>>,
    /// `resources/subscribe` by URI, after it was answered.
    subscriptions: BTreeMap<String, Request>,
    /// Requests without an answer, by id.
    waiting: HashMap<String, Request>,
    /// Requests so far, to keep their order.
    count: u64,
    /// Subscriptions of the newer protocol that were acknowledged to the client.
    acknowledged: HashSet<String>,
    /// Repeated requests whose answers the client has already.
    repeated: HashSet<String>,
    /// Repeated subscriptions whose acknowledgements the client has already.
    reacknowledged: HashSet<String>,
}

#[derive(Debug, Clone)]
struct Request {
    number: u64,
    id: String,
    method: String,
    line: Vec<u8>,
}

/// A line of the server, and what it means for the session.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Received {
    /// Whether the client must get it: it does not answer a request that the relay repeated.
    pub(super) is_new: bool,
    /// The request that it answers, and whether that succeeded.
    answers: Option<(String, bool)>,
}

/// What another server must get before anything else, in this order.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Resumption {
    /// To be answered before the rest is sent.
    pub(super) opening: Option<Vec<u8>>,
    pub(super) lines: Vec<Vec<u8>>,
    /// For the client, in place of answers.
    pub(super) errors: Vec<Vec<u8>>,
}

/// The fields of a message that the journal needs.
#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

impl<'a> Message<'a> {
    fn read(line: &'a [u8]) -> Option<Self> {
        serde_json::from_slice(line).ok()
    }

    fn id(&self) -> Option<String> {
        self.id.map(|id| key(id.get())).filter(|id| id != "null")
    }

    /// A member of the parameters.
    fn param(&self, name: &str) -> Option<Value> {
        let params: Value = serde_json::from_str(self.params?.get()).ok()?;
        params.get(name).cloned()
    }
}

/// Equal ids have equal keys, however they are written.
fn key(id: &str) -> String {
    serde_json::from_str::<Value>(id).map_or_else(|_| id.to_owned(), |id| id.to_string())
}

impl Journal {
    /// Records a line of the client before it is forwarded.
    pub(super) fn client_line(&mut self, line: &[u8]) {
        let Some(message) = Message::read(line) else { return };
        let Some(method) = &message.method else { return };
        match (method.as_ref(), message.id()) {
            ("notifications/initialized", None) => self.opened = Some(line.to_vec()),
            ("notifications/cancelled", None) => {
                if let Some(id) = message.param("requestId") {
                    self.forget(&id.to_string());
                }
            }
            (method, Some(id)) => {
                self.count += 1;
                let (number, method) = (self.count, method.to_owned());
                let request = Request { number, id: id.clone(), method, line: line.to_vec() };
                self.waiting.insert(id, request);
            }
            _ => {}
        }
    }

    /// Reads a line of the server before it is forwarded.
    pub(super) fn server_line(&mut self, line: &[u8]) -> Received {
        let unrelated = Received { is_new: true, answers: None };
        let Some(message) = Message::read(line) else { return unrelated };
        match (&message.method, message.id()) {
            // A server that stops ends its subscriptions. Another one will continue them.
            (None, Some(id)) if message.error.is_none() && self.is_listening(&id) => {
                Received { is_new: false, answers: None }
            }
            (None, Some(id)) => {
                let is_new = !self.repeated.remove(&id);
                Received { is_new, answers: is_new.then_some((id, message.error.is_none())) }
            }
            (Some(method), _) if method == "notifications/subscriptions/acknowledged" => {
                let meta = message.param("_meta");
                let Some(id) = meta.as_ref().and_then(|meta| meta.get(SUBSCRIPTION_KEY)) else {
                    return unrelated;
                };
                let is_new = !self.reacknowledged.remove(&id.to_string());
                self.acknowledged.insert(id.to_string());
                Received { is_new, answers: None }
            }
            _ => unrelated,
        }
    }

    /// The client has got the line.
    pub(super) fn delivered(&mut self, received: Received) {
        let Some((id, succeeded)) = received.answers else { return };
        let Some(request) = self.forget(&id) else { return };
        if succeeded {
            self.keep(request);
        }
    }

    /// Keeps a request that stays in effect after its answer.
    fn keep(&mut self, request: Request) {
        let uri = |request: &Request| {
            let uri = Message::read(&request.line)?.param("uri")?;
            uri.as_str().map(str::to_owned)
        };
        match request.method.as_str() {
            "initialize" => self.opening = Some(request),
            "resources/subscribe" => {
                if let Some(uri) = uri(&request) {
                    self.subscriptions.insert(uri, request);
                }
            }
            "resources/unsubscribe" => {
                if let Some(uri) = uri(&request) {
                    self.subscriptions.remove(&uri);
                }
            }
            _ => {}
        }
    }

    fn forget(&mut self, id: &str) -> Option<Request> {
        self.acknowledged.remove(id);
        self.waiting.remove(id)
    }

    /// Whether the client waits for nothing but notifications.
    pub(super) fn is_idle(&self) -> bool {
        self.waiting.values().all(|request| request.method == LISTEN)
    }

    fn is_listening(&self, id: &str) -> bool {
        self.waiting.get(id).is_some_and(|request| request.method == LISTEN)
    }

    /// What another server must get to continue, and errors for requests that are not repeated.
    pub(super) fn resume(&mut self) -> Resumption {
        let mut resumption = Resumption::default();
        if let Some(opening) = &self.opening {
            resumption.opening = Some(opening.line.clone());
            self.repeated.insert(opening.id.clone());
        }
        resumption.lines.extend(self.opened.clone());
        for request in self.subscriptions.values() {
            resumption.lines.push(request.line.clone());
            self.repeated.insert(request.id.clone());
        }
        let inventory = Inventory::full();
        let mut waiting: Vec<Request> = self.waiting.values().cloned().collect();
        waiting.sort_by_key(|request| request.number);
        for request in waiting {
            match changing_tool(&inventory, &request) {
                Some(tool) => {
                    self.forget(&request.id);
                    resumption.errors.push(unknown_outcome(&request.id, &tool));
                }
                None => resumption.lines.push(request.line),
            }
        }
        self.reacknowledged.extend(self.acknowledged.iter().cloned());
        resumption
    }
}

/// The tool that a request calls, if the call may change something.
fn changing_tool(inventory: &Inventory, request: &Request) -> Option<String> {
    if request.method != "tools/call" {
        return None;
    }
    let name = Message::read(&request.line)?.param("name")?;
    let tool = inventory.tool(name.as_str()?)?;
    (tool.effect != Effect::Reads).then(|| tool.name.to_owned())
}

fn unknown_outcome(id: &str, tool: &str) -> Vec<u8> {
    let id: Value = serde_json::from_str(id).unwrap_or_default();
    let message = format!(
        "the server went away while `{tool}` was under way, and whether it was done is not known; \
         look before you call it again"
    );
    let error = json!({ "code": INTERNAL_ERROR, "message": message, "data": { "tool": tool } });
    let mut line = json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string().into_bytes();
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests;
