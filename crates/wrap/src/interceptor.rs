//! Applies the gap contract to the traffic of one connection.
//!
//! Most lines pass after a search for a few words. Only tool calls, tool lists and the messages that
//! open a session are parsed, and only the first two are changed.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use kenning_gaps::contract::{self, Offer};
use kenning_gaps::native::NativeIntent;
use memchr::memmem::find;
use serde_json::json;

use crate::call::{Answer, Call};
use crate::capture::Capture;
use crate::inject::{self, ToolFacts};
use crate::raw::{Object, id_key, items, place, replaced};
use crate::remote::message::VERSION_KEY;

/// A client's line without any of these passes unparsed. `\u00` may spell any of them.
const RELEVANT: [&[u8]; 5] = [b"tools", b"initialize", b"discover", b"cancelled", b"\\u00"];
/// Unanswered requests that are remembered; calls beyond it are counted as dropped.
const MAX_PENDING: usize = 10_000;
/// Where messages of the newer protocol name the client and the server.
const CLIENT_KEY: &str = "io.modelcontextprotocol/clientInfo";
const SERVER_KEY: &str = "io.modelcontextprotocol/serverInfo";

/// The state of one connection.
#[derive(Debug)]
pub(crate) struct Interceptor {
    offer: Offer,
    native: NativeIntent,
    capture: Arc<Capture>,
    state: Mutex<State>,
    /// Whether the client is being written to, which takes as long as the client is slow.
    writing: AtomicBool,
}

#[derive(Debug)]
struct State {
    pending: HashMap<String, Pending>,
    /// How many of them are lists of tools.
    lists: usize,
    tools: HashMap<String, ToolFacts>,
    last_output: Instant,
}

/// A request whose answer matters.
#[derive(Debug)]
enum Pending {
    List,
    Opening,
    Call(Box<Call>),
}

/// A client's lines after the contract was applied.
#[derive(Debug)]
pub(crate) struct Intercepted<'a> {
    /// Lines for the server.
    pub(crate) forward: Cow<'a, [u8]>,
    /// Our own answers to the client.
    pub(crate) answers: Vec<u8>,
}

impl Interceptor {
    pub(crate) fn new(offer: Offer, native: NativeIntent, capture: Arc<Capture>) -> Self {
        let state = State {
            pending: HashMap::new(),
            lists: 0,
            tools: HashMap::new(),
            last_output: Instant::now(),
        };
        Self { offer, native, capture, state: Mutex::new(state), writing: AtomicBool::new(false) }
    }

    /// Handles whole lines from the client.
    pub(crate) fn client_lines<'a>(&self, lines: &'a [u8]) -> Intercepted<'a> {
        if !is_relevant(lines) {
            return Intercepted { forward: lines.into(), answers: Vec::new() };
        }
        let mut forward = Vec::with_capacity(lines.len());
        let mut answers = Vec::new();
        for line in lines.split_inclusive(|&byte| byte == b'\n') {
            match self.client_line(line, &mut answers) {
                Change::None => forward.extend_from_slice(line),
                Change::Replace(text) => {
                    forward.extend_from_slice(text.as_bytes());
                    forward.extend_from_slice(ending(line));
                }
                Change::Remove => {}
            }
        }
        Intercepted { forward: forward.into(), answers }
    }

    fn client_line(&self, line: &[u8], answers: &mut Vec<u8>) -> Change {
        if !is_relevant(line) {
            return Change::None;
        }
        let Ok(text) = std::str::from_utf8(line) else { return Change::None };
        let text = text.trim_end_matches(['\n', '\r']);
        match items(text) {
            Some(batch) => self.client_batch(text, &batch, answers),
            None => self.client_message(text, answers),
        }
    }

    /// A batch: several messages in one line, as protocol version 2025-03-26 allows.
    fn client_batch(&self, text: &str, batch: &[&str], answers: &mut Vec<u8>) -> Change {
        let mut messages: Vec<Cow<'_, str>> = Vec::with_capacity(batch.len());
        let mut changed = false;
        for message in batch {
            match self.client_message(message, answers) {
                Change::None => messages.push(Cow::Borrowed(message)),
                Change::Replace(new) => {
                    changed = true;
                    messages.push(Cow::Owned(new));
                }
                Change::Remove => changed = true,
            }
        }
        match (changed, messages.is_empty()) {
            (false, _) => Change::None,
            (true, true) => Change::Remove,
            (true, false) => {
                let (first, last) = (place(text, batch[0]), place(text, batch[batch.len() - 1]));
                Change::Replace(
                    [&text[..first.start], &messages.join(","), &text[last.end..]].concat(),
                )
            }
        }
    }

    fn client_message(&self, text: &str, answers: &mut Vec<u8>) -> Change {
        let Some(message) = Object::read(text) else { return Change::None };
        let Some(method) = message.string("method") else { return Change::None };
        let id = message.get("id").filter(|id| *id != "null");
        match (method.as_ref(), id) {
            ("tools/call", Some(id)) => self.call(text, &message, id, answers),
            ("tools/list", Some(id)) => self.remember(id, Pending::List),
            ("initialize" | "server/discover", Some(id)) => {
                self.note_client(&message);
                self.remember(id, Pending::Opening)
            }
            ("notifications/cancelled", _) => self.cancelled(&message),
            _ => Change::None,
        }
    }

    fn remember(&self, id: &str, request: Pending) -> Change {
        let mut state = self.state();
        if state.pending.len() < MAX_PENDING {
            state.lists += usize::from(matches!(request, Pending::List));
            if let Some(Pending::List) = state.pending.insert(id_key(id), request) {
                state.lists -= 1;
            }
        } else if let Pending::Call(_) = request {
            self.capture.missed();
        }
        Change::None
    }

    fn cancelled(&self, message: &Object<'_>) -> Change {
        let params = message.object("params");
        if let Some(id) = params.as_ref().and_then(|params| params.get("requestId")) {
            self.state().take(&id_key(id));
        }
        Change::None
    }

    fn note_client(&self, message: &Object<'_>) {
        let Some(params) = message.object("params") else { return };
        let meta = params.object("_meta").and_then(|meta| meta.object(CLIENT_KEY));
        let info = params.object("clientInfo").or(meta);
        if let Some(name) = info.and_then(|info| info.string("name").map(Cow::into_owned)) {
            self.capture.note_client(&name);
        }
    }

    fn call(&self, text: &str, message: &Object<'_>, id: &str, answers: &mut Vec<u8>) -> Change {
        let Some(params) = message.object("params") else { return Change::None };
        let Some(name) = params.string("name") else { return Change::None };
        if !self.capture.knows_client() {
            self.note_client(message);
        }
        let facts = self.state().tools.get(name.as_ref()).cloned();
        let is_servers_own = facts.is_some();
        let arguments_text = params.get("arguments");
        if name == contract::TOOL_NAME && self.offer.tool && !is_servers_own {
            self.capture.requested(Call::new(&name, arguments_text));
            answers.extend_from_slice(acknowledgement(id, &params).as_bytes());
            return Change::Remove;
        }
        let mut call = Call::new(&name, arguments_text);
        let arguments = arguments_text.and_then(Object::read);
        let mut change = Change::None;
        // A server's own tool of the reserved name was not given the parameter.
        let owns_intent =
            name == contract::TOOL_NAME || facts.as_ref().is_some_and(|facts| facts.owns_intent);
        if let Some((arguments, old)) = arguments.as_ref().zip(arguments_text) {
            if self.offer.intent && !owns_intent && arguments.get(contract::INTENT_NAME).is_some() {
                let new = arguments.without(contract::INTENT_NAME);
                call.set_intent(arguments.string(contract::INTENT_NAME).as_deref());
                call.set_arguments(&new);
                change = Change::Replace(replaced(text, old, &new));
            }
            let native = facts.and_then(|facts| facts.native).filter(|_| !owns_intent);
            if let Some(field) = native {
                call.read_native(&field, arguments.string(&field).as_deref());
            }
        }
        self.remember(id, Pending::Call(Box::new(call)));
        change
    }

    /// Handles whole lines from the server before they are passed on. Only lists of tools are
    /// parsed here; calls are recorded by [`Self::observe`], after the client has its answer.
    pub(crate) fn server_lines<'a>(&self, lines: &'a [u8]) -> Cow<'a, [u8]> {
        {
            let mut state = self.state();
            state.last_output = Instant::now();
            if state.lists == 0 {
                return lines.into();
            }
        }
        let mut forward = Vec::with_capacity(lines.len());
        for line in lines.split_inclusive(|&byte| byte == b'\n') {
            match self.server_line(line) {
                Some(text) => {
                    forward.extend_from_slice(text.as_bytes());
                    forward.extend_from_slice(ending(line));
                }
                None => forward.extend_from_slice(line),
            }
        }
        forward.into()
    }

    fn server_line(&self, line: &[u8]) -> Option<String> {
        find(line, b"tools")?;
        let text = std::str::from_utf8(line).ok()?.trim_end_matches(['\n', '\r']);
        let Some(batch) = items(text) else { return self.server_message(text) };
        let mut changed = false;
        let messages = batch.iter().map(|message| {
            let new = self.server_message(message);
            changed |= new.is_some();
            new.map_or(Cow::Borrowed(*message), Cow::Owned)
        });
        let messages: Vec<Cow<'_, str>> = messages.collect();
        changed.then(|| format!("[{}]", messages.join(",")))
    }

    fn server_message(&self, text: &str) -> Option<String> {
        let message = Object::read(text)?;
        if message.get("method").is_some() {
            return None;
        }
        let id = id_key(message.get("id")?);
        let mut state = self.state();
        if !matches!(state.pending.get(&id), Some(Pending::List)) {
            return None;
        }
        state.take(&id);
        let old = message.get("result")?;
        let listing = inject::list(old, self.offer, &self.native)?;
        self.capture.listed(listing.tools.iter().map(|tool| &tool.name));
        state.tools.extend(listing.tools.into_iter().map(|tool| (tool.name.clone(), tool)));
        Some(replaced(text, old, &listing.result?))
    }

    /// Records answers in lines from the server after they were passed on.
    pub(crate) fn observe(&self, lines: &[u8]) {
        for line in lines.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
            if self.state().pending.is_empty() {
                return;
            }
            let Ok(text) = std::str::from_utf8(line) else { continue };
            match items(text) {
                Some(batch) => batch.iter().for_each(|message| self.observe_message(message)),
                None => self.observe_message(text),
            }
        }
    }

    fn observe_message(&self, text: &str) {
        let Some(message) = Object::read(text) else { return };
        if message.get("method").is_some() {
            return;
        }
        let Some(id) = message.get("id") else { return };
        let answered = self.state().take(&id_key(id));
        match answered {
            Some(Pending::Call(call)) => {
                let answer = match (message.get("result"), message.get("error")) {
                    (Some(result), _) => Answer::Result(result),
                    (_, error) => Answer::Error(error.unwrap_or("null")),
                };
                self.capture.answered(*call, answer);
            }
            Some(Pending::Opening) => self.note_server(&message),
            Some(Pending::List) | None => {}
        }
    }

    fn note_server(&self, message: &Object<'_>) {
        let Some(result) = message.object("result") else { return };
        let meta = result.object("_meta").and_then(|meta| meta.object(SERVER_KEY));
        let info = result.object("serverInfo").or(meta);
        if let Some(version) = info.and_then(|info| info.string("version").map(Cow::into_owned)) {
            self.capture.note_server(&version);
        }
    }

    /// Records every call that is still unanswered as failed.
    pub(crate) fn server_ended(&self) {
        let pending = std::mem::take(&mut self.state().pending);
        for request in pending.into_values() {
            if let Pending::Call(call) = request {
                self.capture.answered(*call, Answer::Never);
            }
        }
    }

    /// Whether no request is unanswered, as far as we know.
    pub(crate) fn is_idle(&self) -> bool {
        self.state().pending.is_empty()
    }

    pub(crate) fn set_writing(&self, writing: bool) {
        self.writing.store(writing, Ordering::Relaxed);
    }

    /// Whether the server has sent nothing for a while, and the client has all of it.
    pub(crate) fn is_silent(&self, patience: Duration) -> bool {
        !self.writing.load(Ordering::Relaxed) && self.last_output().elapsed() >= patience
    }

    pub(crate) fn last_output(&self) -> Instant {
        self.state().last_output
    }

    /// A panic in another thread must not stop the traffic.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn take(&mut self, id: &str) -> Option<Pending> {
        let request = self.pending.remove(id);
        self.lists -= usize::from(matches!(request, Some(Pending::List)));
        request
    }
}

/// What to do with a message.
enum Change {
    None,
    Replace(String),
    Remove,
}

fn is_relevant(lines: &[u8]) -> bool {
    RELEVANT.iter().any(|word| find(lines, word).is_some())
}

fn ending(line: &[u8]) -> &[u8] {
    match line {
        [.., b'\r', b'\n'] => b"\r\n",
        [.., b'\n'] => b"\n",
        _ => b"",
    }
}

/// The answer to a call of the reserved tool, in the protocol version of the request.
fn acknowledgement(id: &str, params: &Object<'_>) -> String {
    let mut result = contract::acknowledgement();
    let meta = params.object("_meta");
    if meta.is_some_and(|meta| meta.get(VERSION_KEY).is_some()) {
        result["resultType"] = json!("complete");
    }
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}\n")
}
