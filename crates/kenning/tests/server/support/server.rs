//! A server over HTTP, and requests to it.

use std::ops::{Deref, DerefMut};
use std::process::{Command, ExitStatus};

use kenning_testkit::HttpProcess;
use reqwest::header::HeaderMap;
use reqwest::{ClientBuilder, Method, RequestBuilder, StatusCode};
use rmcp::service::ClientLifecycleMode;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use serde_json::{Value, json};

use super::{Client, DEADLINE, modern, within};

pub(crate) struct Server {
    process: HttpProcess,
    pub(crate) http: reqwest::Client,
}

impl Server {
    #[track_caller]
    pub(crate) fn start(command: &mut Command) -> Self {
        let http = http_client().build().unwrap();
        Self { process: HttpProcess::start(command), http }
    }

    pub(crate) async fn client(&self) -> Client {
        self.connect_mcp(None, ClientLifecycleMode::Initialize).await
    }

    pub(crate) async fn client_with_token(&self, token: &str) -> Client {
        self.connect_mcp(Some(token), ClientLifecycleMode::Initialize).await
    }

    pub(crate) async fn modern_client(&self) -> Client {
        self.connect_mcp(None, modern()).await
    }

    async fn connect_mcp(&self, token: Option<&str>, lifecycle: ClientLifecycleMode) -> Client {
        let mut config = StreamableHttpClientTransportConfig::with_uri(self.url("/mcp"));
        if let Some(token) = token {
            config = config.auth_header(token);
        }
        let transport = StreamableHttpClientTransport::from_config(config);
        let client = rmcp::service::serve_client_with_lifecycle((), transport, lifecycle);
        within(client).await.unwrap()
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, self.url(path))
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        Answer::to(self.request(Method::GET, path)).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        let request = self.request(Method::POST, path).header("Content-Type", "application/json");
        Answer::to(request.body(body.to_string())).await
    }

    pub(crate) async fn add_agent(&self, name: &str, id: i64) {
        let added = self.post("/api/v1/agents", &json!({"name": name, "id": id})).await;
        assert_eq!(added.status, StatusCode::CREATED, "{}", added.text);
    }

    /// Ends the server without giving it a chance to clean up, and returns its log.
    pub(crate) async fn kill(self) -> String {
        self.blocking(HttpProcess::kill).await
    }

    /// Sends SIGTERM, checks that the server ends with exit code 0, and returns its log.
    pub(crate) async fn stop(self) -> String {
        self.blocking(HttpProcess::stop).await
    }

    /// Waits until the server has ended by itself, and returns how, and its log.
    pub(crate) async fn wait(self) -> (ExitStatus, String) {
        self.blocking(HttpProcess::wait).await
    }

    /// On a thread of its own: what a server sends while it ends is received on this one.
    async fn blocking<T: Send + 'static>(
        self,
        end: impl FnOnce(HttpProcess) -> T + Send + 'static,
    ) -> T {
        let process = self.process;
        tokio::task::spawn_blocking(|| end(process)).await.unwrap()
    }
}

impl Deref for Server {
    type Target = HttpProcess;

    fn deref(&self) -> &HttpProcess {
        &self.process
    }
}

impl DerefMut for Server {
    fn deref_mut(&mut self) -> &mut HttpProcess {
        &mut self.process
    }
}

/// A client that gives up at the deadline.
pub(crate) fn http_client() -> ClientBuilder {
    // The workspace builds reqwest without a cryptography provider of its own.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().timeout(DEADLINE)
}

/// An HTTP response that was read to its end.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) async fn to(request: RequestBuilder) -> Self {
        Self::try_to(request).await.unwrap()
    }

    /// An error if the connection broke, as it does when the server is killed.
    pub(crate) async fn try_to(request: RequestBuilder) -> reqwest::Result<Self> {
        let response = request.send().await?;
        let (status, headers) = (response.status(), response.headers().clone());
        Ok(Self { status, headers, text: response.text().await? })
    }

    /// The body, or `null` if it is no JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_default()
    }

    /// A header, or nothing if it is missing.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}
