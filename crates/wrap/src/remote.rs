//! A server at an address: a client's lines become requests, their answers lines again.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::{Action, Attempt, Policy};
use reqwest::{Client, Response};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::front::Front;
use crate::message::Message;
use crate::reply::{EVENTS, Reply, public};
use crate::session::Session;
use crate::stdio::{self, Line, Streams, read_line};
use crate::{Exit, MAX_MESSAGE, WrapError};

const JSON: &str = "application/json";
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// Requests under way at once; the next one waits.
const AT_ONCE: usize = 64;
const CONNECT: Duration = Duration::from_secs(10);
/// A message that has no answer must be taken by then.
const TAKEN: Duration = Duration::from_secs(30);
pub(crate) const RETRY: Duration = Duration::from_secs(1);
const REDIRECTS: usize = 3;
const GOODBYE: Duration = Duration::from_secs(2);
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// JSON-RPC's word for a request that cannot be one.
const NO_REQUEST: i64 = -32_600;

pub(crate) struct Remote {
    client: Client,
    url: String,
    headers: HeaderMap,
    session: Mutex<Session>,
    /// Of many who find the session lost, one opens it anew.
    pub(crate) reopening: tokio::sync::Mutex<()>,
    /// How often that has happened.
    pub(crate) opened: watch::Sender<u64>,
    to_client: mpsc::Sender<Said>,
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
    loop {
        match read_line(&mut reader, &mut line, MAX_MESSAGE).await {
            Ok(Line::Whole) => {}
            Ok(Line::TooLong) => {
                let most = MAX_MESSAGE / (1024 * 1024);
                remote.fail("null", NO_REQUEST, &format!("a message has at most {most} MiB")).await;
                continue;
            }
            Ok(Line::End) | Err(_) => break,
        }
        let onward = front.client_says(&line);
        if !onward.answers.is_empty() {
            let _ = remote.to_client.send(Said::ByUs(onward.answers)).await;
        }
        let Some(message) = Message::read(&onward.forward) else { continue };
        if message.opens_session() {
            // Its answer names the session that all others belong to.
            remote.exchange(message).await;
        } else if message.is_answered() {
            let place = places.clone().acquire_owned().await;
            let remote = remote.clone();
            under_way.spawn(async move {
                remote.exchange(message).await;
                drop(place);
            });
        } else {
            let opened = message.method.as_deref() == Some("notifications/initialized");
            remote.tell(message).await;
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
        to_client: mpsc::Sender<Said>,
    ) -> Result<Self, WrapError> {
        let wrong = |reason: String| WrapError::Url { url: public(url), reason };
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
            // Whatever it is, it is not for logs.
            value.set_sensitive(true);
            own.append(parsed, value);
        }
        crate::choose_encryption();
        let client = Client::builder()
            .connect_timeout(CONNECT)
            .tcp_nodelay(true)
            .redirect(Policy::custom(stay))
            .build();
        let client = client.map_err(|error| wrong(error.to_string()))?;
        Ok(Self {
            client,
            url: url.to_owned(),
            headers: own,
            session: Mutex::default(),
            reopening: tokio::sync::Mutex::default(),
            opened: watch::Sender::default(),
            to_client,
        })
    }

    /// A message that has no answer.
    async fn tell(&self, message: Message) {
        let trouble = match timeout(TAKEN, self.ask(&message)).await {
            Ok(Ok(Reply::Body(status, _))) if !status.is_success() => status.to_string(),
            Ok(Ok(_)) => return,
            Ok(Err(reason)) => reason,
            Err(_) => "it was not taken in time".to_owned(),
        };
        tracing::warn!(trouble, "a message was not delivered");
    }

    pub(crate) async fn post(
        &self,
        message: &Message,
        session: HeaderMap,
    ) -> reqwest::Result<Response> {
        let request = self.client.post(&self.url).headers(self.headers.clone()).headers(session);
        let request = request.headers(message.headers.clone());
        let accept = format!("{JSON}, {EVENTS}");
        let request = request.header(ACCEPT, accept).header(CONTENT_TYPE, JSON);
        request.body(message.text.clone()).send().await
    }

    pub(crate) async fn get(&self, last_id: Option<&String>) -> reqwest::Result<Response> {
        let session = self.session().headers();
        let mut request = self.client.get(&self.url).headers(self.headers.clone()).headers(session);
        if let Some(last) = last_id.and_then(|id| HeaderValue::from_str(id).ok()) {
            request = request.header(LAST_EVENT, last);
        }
        request.header(ACCEPT, EVENTS).send().await
    }

    /// Ends the session, if the server cares.
    async fn goodbye(&self) {
        let session = self.session().headers();
        if self.session().id.is_none() {
            return;
        }
        let request = self.client.delete(&self.url).headers(self.headers.clone()).headers(session);
        let _ = timeout(GOODBYE, request.send()).await;
    }

    /// One message, on one line: line ends between its parts mean nothing, and within them there
    /// are none.
    pub(crate) async fn pass_on(&self, message: &str) {
        let message = message.trim();
        if message.is_empty() {
            return;
        }
        let mut line = message.replace(['\n', '\r'], " ").into_bytes();
        line.push(b'\n');
        let _ = self.to_client.send(Said::ByServer(line)).await;
    }

    pub(crate) fn session(&self) -> MutexGuard<'_, Session> {
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
