//! A server at a URL: a client's lines become HTTP requests, and the responses lines again.
//!
//! An [`exchange`] is one message and its answers; the [`session`] is reopened if the server loses
//! it.

mod exchange;
pub(crate) mod message;
pub(crate) mod reply;
mod session;
mod sse;
mod unanswered;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::{Action, Attempt, Policy};
use reqwest::{Client, Response};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use self::message::Message;
use self::reply::{EVENTS, Reply, without_secrets};
use self::session::Session;
use crate::interceptor::Interceptor;
use crate::lines::{Line, Lines};
use crate::stdio::{self, Streams};
use crate::{Exit, MAX_MESSAGE, WrapError};

const JSON: &str = "application/json";
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// Concurrent requests; the next one waits.
const MAX_CONCURRENT: usize = 64;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the server may take to accept a notification.
const NOTIFY_TIMEOUT: Duration = Duration::from_secs(30);
const RETRY: Duration = Duration::from_secs(1);
const MAX_REDIRECTS: usize = 3;
/// How long closing the session, and then writing the last lines, may take.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// JSON-RPC's code for an invalid request.
const INVALID_REQUEST: i64 = -32_600;

pub(crate) struct Remote {
    client: Client,
    url: String,
    headers: HeaderMap,
    session: Mutex<Session>,
    /// Of several requests that find the session lost, one reopens it.
    reopening: tokio::sync::Mutex<()>,
    /// How often that has happened.
    reopened: watch::Sender<u64>,
    to_client: mpsc::Sender<Outgoing>,
}

/// A line for the client.
enum Outgoing {
    FromServer(Vec<u8>),
    FromProxy(Vec<u8>),
}

pub(crate) async fn run(
    url: &str,
    headers: &[(String, String)],
    streams: Streams,
    interceptor: Arc<Interceptor>,
) -> Result<Exit, WrapError> {
    let (to_client, outgoing) = mpsc::channel(MAX_CONCURRENT);
    let remote = Arc::new(Remote::new(url, headers, to_client)?);
    let Streams { reader, writer } = streams;
    let writing = tokio::spawn(write(writer, outgoing, interceptor.clone()));
    let mut terminate = signal(SignalKind::terminate()).map_err(WrapError::Signals)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(WrapError::Signals)?;
    let exit = tokio::select! {
        () = serve(reader, &remote, &interceptor) => Exit::Code(0),
        () = client_gone() => Exit::Code(0),
        _ = terminate.recv() => Exit::Signal(15),
        _ = interrupt.recv() => Exit::Signal(2),
    };
    remote.close_session().await;
    drop(remote);
    // Answers that are still being written must not be recorded as missing.
    let _ = timeout(CLOSE_TIMEOUT, writing).await;
    interceptor.server_ended();
    Ok(exit)
}

async fn client_gone() {
    while !stdio::reader_is_gone() {
        sleep(POLL_INTERVAL).await;
    }
}

/// The only writer to the client.
async fn write(
    mut client: impl AsyncWrite + Unpin,
    mut outgoing: mpsc::Receiver<Outgoing>,
    interceptor: Arc<Interceptor>,
) -> std::io::Result<()> {
    while let Some(line) = outgoing.recv().await {
        match line {
            Outgoing::FromProxy(line) => client.write_all(&line).await?,
            Outgoing::FromServer(line) => {
                client.write_all(&interceptor.server_lines(&line)).await?;
                client.flush().await?;
                interceptor.observe(&line);
            }
        }
        client.flush().await?;
    }
    Ok(())
}

/// Serves until the client closes its side and has all its answers.
async fn serve(reader: impl AsyncRead + Unpin, remote: &Arc<Remote>, interceptor: &Interceptor) {
    let mut lines = Lines::new(reader, MAX_MESSAGE);
    let permits = Arc::new(Semaphore::new(MAX_CONCURRENT));
    let mut under_way = JoinSet::new();
    // Ends with this scope: nothing waits for notifications of the server.
    let mut listening = JoinSet::new();
    while let Ok(Some(line)) = lines.next_line().await {
        let (Line::Whole(line) | Line::Unfinished(line)) = line else {
            let most = MAX_MESSAGE / (1024 * 1024);
            let reason = format!("a message has at most {most} MiB");
            remote.fail("null", INVALID_REQUEST, &reason).await;
            continue;
        };
        let intercepted = interceptor.client_lines(&line);
        if !intercepted.answers.is_empty() {
            let _ = remote.to_client.send(Outgoing::FromProxy(intercepted.answers)).await;
        }
        let Some(message) = Message::read(&intercepted.forward) else { continue };
        if message.opens_session() {
            // Its answer names the session of all other messages.
            remote.exchange(message).await;
        } else if message.is_answered() {
            let permit = permits.clone().acquire_owned().await;
            let remote = remote.clone();
            under_way.spawn(async move {
                remote.exchange(message).await;
                drop(permit);
            });
        } else {
            let opened = message.method.as_deref() == Some("notifications/initialized");
            remote.notify(message).await;
            if opened && listening.is_empty() {
                let remote = remote.clone();
                listening.spawn(async move { remote.listen().await });
            }
        }
        while under_way.try_join_next().is_some() {}
    }
    while under_way.join_next().await.is_some() {}
}

impl Remote {
    fn new(
        url: &str,
        headers: &[(String, String)],
        to_client: mpsc::Sender<Outgoing>,
    ) -> Result<Self, WrapError> {
        let wrong = |reason: String| WrapError::Url { url: without_secrets(url), reason };
        let parsed = reqwest::Url::parse(url).map_err(|error| wrong(error.to_string()))?;
        if !matches!(parsed.scheme(), "http" | "https") {
            return Err(wrong("it is neither http nor https".to_owned()));
        }
        let mut own = HeaderMap::new();
        for (name, value) in headers {
            let wrong = |reason: String| WrapError::Header { name: name.clone(), reason };
            let parsed = name.parse::<HeaderName>().map_err(|error| wrong(error.to_string()))?;
            let mut value =
                HeaderValue::from_str(value).map_err(|error| wrong(error.to_string()))?;
            // It may be a credential, which must not reach a log.
            value.set_sensitive(true);
            own.append(parsed, value);
        }
        crate::choose_encryption();
        let client = Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .tcp_nodelay(true)
            .redirect(Policy::custom(same_origin_only))
            .build();
        let client = client.map_err(|error| wrong(error.to_string()))?;
        Ok(Self {
            client,
            url: url.to_owned(),
            headers: own,
            session: Mutex::default(),
            reopening: tokio::sync::Mutex::default(),
            reopened: watch::Sender::default(),
            to_client,
        })
    }

    /// Sends a message that has no answer.
    async fn notify(&self, message: Message) {
        let reason = match timeout(NOTIFY_TIMEOUT, self.send(&message)).await {
            Ok(Ok(Reply::Body(status, _))) if !status.is_success() => status.to_string(),
            Ok(Ok(_)) => return,
            Ok(Err(reason)) => reason,
            Err(_) => format!("not accepted within {NOTIFY_TIMEOUT:?}"),
        };
        tracing::warn!(reason, "a notification was not delivered to the server");
    }

    async fn post(&self, message: &Message, session: HeaderMap) -> reqwest::Result<Response> {
        let request = self.client.post(&self.url).headers(self.headers.clone()).headers(session);
        let request = request.headers(message.headers.clone());
        let accept = format!("{JSON}, {EVENTS}");
        let request = request.header(ACCEPT, accept).header(CONTENT_TYPE, JSON);
        request.body(message.text.clone()).send().await
    }

    async fn get(&self, last_id: Option<&String>) -> reqwest::Result<Response> {
        let session = self.session().headers();
        let mut request = self.client.get(&self.url).headers(self.headers.clone()).headers(session);
        if let Some(last) = last_id.and_then(|id| HeaderValue::from_str(id).ok()) {
            request = request.header(LAST_EVENT, last);
        }
        request.header(ACCEPT, EVENTS).send().await
    }

    /// Ends the session, if the server has one.
    async fn close_session(&self) {
        let session = self.session().headers();
        if self.session().id.is_none() {
            return;
        }
        let request = self.client.delete(&self.url).headers(self.headers.clone()).headers(session);
        let _ = timeout(CLOSE_TIMEOUT, request.send()).await;
    }

    /// Writes a message on one line. JSON has no line ends inside of its strings, so that those
    /// between its parts can become spaces.
    async fn forward(&self, message: &str) {
        let message = message.trim();
        if message.is_empty() {
            return;
        }
        let mut line = message.replace(['\n', '\r'], " ").into_bytes();
        line.push(b'\n');
        let _ = self.to_client.send(Outgoing::FromServer(line)).await;
    }

    fn session(&self) -> MutexGuard<'_, Session> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Follows redirects on the same origin only: the headers may hold credentials.
fn same_origin_only(attempt: Attempt<'_>) -> Action {
    let first = attempt.previous().first().map(|url| (url.scheme(), url.host_str(), url.port()));
    let next = (attempt.url().scheme(), attempt.url().host_str(), attempt.url().port());
    if first == Some(next) && attempt.previous().len() <= MAX_REDIRECTS {
        attempt.follow()
    } else {
        attempt.stop()
    }
}
