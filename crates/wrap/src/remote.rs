//! A server at an address: a client's lines become requests, their answers lines again.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::{Action, Attempt, Policy};
use reqwest::{Client, Response, StatusCode};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::front::Front;
use crate::message::{Message, VERSION};
use crate::raw::Object;
use crate::sse::Parser;
use crate::stdio::{self, Streams};
use crate::{Exit, WrapError};

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// Requests under way at once; the next one waits.
const AT_ONCE: usize = 64;
const CONNECT: Duration = Duration::from_secs(10);
/// A message that has no answer must be taken by then.
const TAKEN: Duration = Duration::from_secs(30);
const RETRY: Duration = Duration::from_secs(1);
/// How often a stream that broke is taken up again before its request fails.
const RESUMES: usize = 5;
const REDIRECTS: usize = 3;
const GOODBYE: Duration = Duration::from_secs(2);
const LOOK_EVERY: Duration = Duration::from_millis(250);
const MAX_REASON: usize = 500;

struct Remote {
    client: Client,
    url: String,
    headers: HeaderMap,
    session: Mutex<Session>,
    to_client: mpsc::Sender<Said>,
}

/// What the server gave out when the session was opened.
#[derive(Default)]
struct Session {
    id: Option<HeaderValue>,
    version: Option<HeaderValue>,
}

/// Something for the client.
enum Said {
    ByServer(Vec<u8>),
    ByUs(Vec<u8>),
}

pub(crate) async fn run(
    url: &str,
    headers: &[(String, String)],
    streams: Streams,
    front: Arc<Front>,
) -> Result<Exit, WrapError> {
    let (to_client, said) = mpsc::channel(AT_ONCE);
    let remote = Arc::new(Remote::new(url, headers, to_client)?);
    let Streams { reader, writer } = streams;
    let writing = tokio::spawn(write(writer, said, front.clone()));
    let mut terminate = signal(SignalKind::terminate()).map_err(WrapError::Signals)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(WrapError::Signals)?;
    let exit = tokio::select! {
        () = serve(reader, &remote, &front) => Exit::Code(0),
        () = client_gone() => Exit::Code(0),
        _ = terminate.recv() => Exit::Signal(15),
        _ = interrupt.recv() => Exit::Signal(2),
    };
    remote.goodbye().await;
    drop(remote);
    front.server_ended();
    let _ = timeout(GOODBYE, writing).await;
    Ok(exit)
}

async fn client_gone() {
    while !stdio::reader_is_gone() {
        sleep(LOOK_EVERY).await;
    }
}

/// Only this writes to the client.
async fn write(
    mut client: impl AsyncWrite + Unpin,
    mut said: mpsc::Receiver<Said>,
    front: Arc<Front>,
) -> std::io::Result<()> {
    while let Some(said) = said.recv().await {
        match said {
            Said::ByUs(line) => client.write_all(&line).await?,
            Said::ByServer(line) => {
                client.write_all(&front.server_says(&line)).await?;
                client.flush().await?;
                front.observe(&line);
            }
        }
        client.flush().await?;
    }
    Ok(())
}

/// Until the client closes its side and has all its answers.
async fn serve(reader: impl AsyncRead + Unpin, remote: &Arc<Remote>, front: &Front) {
    let mut reader = BufReader::new(reader);
    let places = Arc::new(Semaphore::new(AT_ONCE));
    let mut under_way = JoinSet::new();
    // Ends with this scope: nobody waits for what a server says unasked.
    let mut listening = JoinSet::new();
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line).await.is_ok_and(|read| read > 0) {
        let onward = front.client_says(&line);
        if !onward.answers.is_empty() {
            let _ = remote.to_client.send(Said::ByUs(onward.answers)).await;
        }
        if let Some(message) = Message::read(&onward.forward) {
            match (message.method.as_deref(), &message.id) {
                // Its answer names the session that all others belong to.
                (Some("initialize"), Some(_)) => remote.exchange(message).await,
                (_, Some(_)) => {
                    let place = places.clone().acquire_owned().await;
                    let remote = remote.clone();
                    under_way.spawn(async move {
                        remote.exchange(message).await;
                        drop(place);
                    });
                }
                (method, None) => {
                    let opened = method == Some("notifications/initialized");
                    remote.tell(message).await;
                    if opened && listening.is_empty() {
                        let remote = remote.clone();
                        listening.spawn(async move { remote.listen().await });
                    }
                }
            }
        }
        line.clear();
        while under_way.try_join_next().is_some() {}
    }
    while under_way.join_next().await.is_some() {}
}

impl Remote {
    fn new(
        url: &str,
        headers: &[(String, String)],
        to_client: mpsc::Sender<Said>,
    ) -> Result<Self, WrapError> {
        let wrong = |reason: String| WrapError::Url { url: url.to_owned(), reason };
        let parsed = reqwest::Url::parse(url).map_err(|error| wrong(error.to_string()))?;
        if !matches!(parsed.scheme(), "http" | "https") {
            return Err(wrong("it is neither http nor https".to_owned()));
        }
        let mut own = HeaderMap::new();
        for (name, value) in headers {
            let wrong = |reason: String| WrapError::Header { name: name.clone(), reason };
            let parsed = name.parse::<HeaderName>().map_err(|error| wrong(error.to_string()))?;
            let value = HeaderValue::from_str(value).map_err(|error| wrong(error.to_string()))?;
            own.append(parsed, value);
        }
        crate::choose_encryption();
        let client = Client::builder()
            .connect_timeout(CONNECT)
            .tcp_nodelay(true)
            .redirect(Policy::custom(stay))
            .build();
        let client = client.map_err(|error| wrong(error.to_string()))?;
        let session = Mutex::default();
        Ok(Self { client, url: url.to_owned(), headers: own, session, to_client })
    }

    /// A request and its answers.
    async fn exchange(&self, message: Message) {
        let Some(id) = message.id.clone() else { return };
        let opening = message.method.as_deref() == Some("initialize");
        let failure = match self.post(&message).await {
            Ok(response) => self.answers(response, &id, opening).await.err(),
            Err(error) => Some(describe(&error)),
        };
        if let Some(reason) = failure {
            self.fail(&id, &reason).await;
        }
    }

    /// A message that has no answer.
    async fn tell(&self, message: Message) {
        let trouble = match timeout(TAKEN, self.post(&message)).await {
            Ok(Ok(response)) if response.status().is_success() => return,
            Ok(Ok(response)) => response.status().to_string(),
            Ok(Err(error)) => describe(&error),
            Err(_) => "it was not taken in time".to_owned(),
        };
        tracing::warn!(trouble, "a message was not delivered");
    }

    async fn post(&self, message: &Message) -> reqwest::Result<Response> {
        let request = self.client.post(&self.url).headers(self.session_headers());
        let request = request.headers(message.headers.clone());
        let accept = format!("{JSON}, {EVENTS}");
        let request = request.header(ACCEPT, accept).header(CONTENT_TYPE, JSON);
        request.body(message.text.clone()).send().await
    }

    /// Passes on whatever answers a request; says why if nothing does.
    async fn answers(&self, response: Response, id: &str, opening: bool) -> Result<(), String> {
        let status = response.status();
        if opening && status.is_success() {
            self.session().id = response.headers().get(SESSION).cloned();
        }
        let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let events = kind.is_some_and(|kind| kind.to_ascii_lowercase().starts_with(EVENTS));
        if events && status.is_success() {
            return self.stream(response, id, opening).await;
        }
        let body = response.text().await.map_err(|error| describe(&error))?;
        self.answer(status, &body, id, opening).await
    }

    async fn answer(
        &self,
        status: StatusCode,
        body: &str,
        id: &str,
        opening: bool,
    ) -> Result<(), String> {
        let message = Object::read(body.trim());
        let is_answer = message.as_ref().is_some_and(|message| {
            message.get("id").is_some_and(|id| id != "null") && message.get("jsonrpc").is_some()
        });
        if is_answer || (status.is_success() && body.trim_start().starts_with('[')) {
            if opening {
                self.note_version(body.trim());
            }
            self.pass_on(body).await;
            return Ok(());
        }
        if let Some(error) = message.as_ref().and_then(|message| message.get("error")) {
            let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{error}}}");
            self.pass_on(&line).await;
            return Ok(());
        }
        let body: String = body.trim().chars().take(MAX_REASON).collect();
        Err(format!("the server answered {status}: {body}"))
    }

    /// Passes on the events of a stream until the answer is among them. A stream that breaks off
    /// is taken up where it ended, if the server said how.
    async fn stream(&self, response: Response, id: &str, opening: bool) -> Result<(), String> {
        let mut response = response;
        let mut last_id: Option<String> = None;
        for _ in 0..=RESUMES {
            let mut parser = Parser::default();
            let mut answered = false;
            while let Ok(Some(piece)) = response.chunk().await {
                for event in parser.push(&piece) {
                    last_id = event.id.or(last_id);
                    answered |= answers(&event.data, id);
                    if opening {
                        self.note_version(&event.data);
                    }
                    self.pass_on(&event.data).await;
                }
            }
            if answered {
                return Ok(());
            }
            let Some(last) = &last_id else { break };
            sleep(parser.retry.unwrap_or(RETRY)).await;
            response = match self.get(Some(last)).await {
                Ok(resumed) if resumed.status().is_success() => resumed,
                Ok(refused) => return Err(format!("the answer is lost: {}", refused.status())),
                Err(error) => return Err(describe(&error)),
            };
        }
        Err("the server closed the connection before it answered".to_owned())
    }

    /// What the server says unasked, for as long as there is a session.
    async fn listen(&self) {
        let mut last_id: Option<String> = None;
        loop {
            let Ok(mut response) = self.get(last_id.as_ref()).await else {
                sleep(RETRY).await;
                continue;
            };
            if !response.status().is_success() {
                // Most servers have nothing to say unasked.
                return;
            }
            let mut parser = Parser::default();
            while let Ok(Some(piece)) = response.chunk().await {
                for event in parser.push(&piece) {
                    last_id = event.id.or(last_id);
                    self.pass_on(&event.data).await;
                }
            }
            sleep(parser.retry.unwrap_or(RETRY)).await;
        }
    }

    async fn get(&self, last_id: Option<&String>) -> reqwest::Result<Response> {
        let mut request = self.client.get(&self.url).headers(self.session_headers());
        if let Some(last) = last_id.and_then(|id| HeaderValue::from_str(id).ok()) {
            request = request.header(LAST_EVENT, last);
        }
        request.header(ACCEPT, EVENTS).send().await
    }

    /// Ends the session, if the server cares.
    async fn goodbye(&self) {
        if self.session().id.is_none() {
            return;
        }
        let request = self.client.delete(&self.url).headers(self.session_headers());
        let _ = timeout(GOODBYE, request.send()).await;
    }

    /// One message, on one line: line ends between its parts mean nothing, and within them there
    /// are none.
    async fn pass_on(&self, message: &str) {
        let message = message.trim();
        if message.is_empty() {
            return;
        }
        let mut line = message.replace(['\n', '\r'], " ").into_bytes();
        line.push(b'\n');
        let _ = self.to_client.send(Said::ByServer(line)).await;
    }

    async fn fail(&self, id: &str, reason: &str) {
        let error = json!({ "code": -32000, "message": reason });
        self.pass_on(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{error}}}")).await;
    }

    fn note_version(&self, message: &str) {
        let version = Object::read(message).and_then(|message| {
            let version = message.object("result")?.string("protocolVersion")?.into_owned();
            HeaderValue::from_str(&version).ok()
        });
        if version.is_some() {
            self.session().version = version;
        }
    }

    fn session_headers(&self) -> HeaderMap {
        let mut headers = self.headers.clone();
        let session = self.session();
        headers.extend(session.id.clone().map(|id| (SESSION, id)));
        headers.extend(session.version.clone().map(|version| (VERSION, version)));
        headers
    }

    fn session(&self) -> MutexGuard<'_, Session> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Follows a server that moved on its own host; the headers may hold what is not for others.
fn stay(attempt: Attempt<'_>) -> Action {
    let first = attempt.previous().first().map(|url| (url.scheme(), url.host_str(), url.port()));
    let next = (attempt.url().scheme(), attempt.url().host_str(), attempt.url().port());
    if first == Some(next) && attempt.previous().len() <= REDIRECTS {
        attempt.follow()
    } else {
        attempt.stop()
    }
}

/// Whether a message is the answer to the request of this id.
fn answers(message: &str, id: &str) -> bool {
    let plain = |id: &str| serde_json::from_str::<Value>(id).ok();
    Object::read(message.trim()).is_some_and(|message| {
        message.get("method").is_none() && message.get("id").and_then(plain) == plain(id)
    })
}

/// An error with its causes; the topmost says little.
fn describe(error: &reqwest::Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(next) = cause {
        text += &format!(": {next}");
        cause = next.source();
    }
    text
}
