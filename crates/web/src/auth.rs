//! Authentication of every request.
//!
//! On a loopback address every process of this machine has access, but no web page that a browser
//! here has open: a request must name this server as its host, and as its origin if it has one. On
//! any other address every request must carry a token: programs in a header, browsers in a cookie
//! that the login page sets.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use axum::extract::{ConnectInfo, Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::login_throttle::LoginThrottle;
use crate::pages::login;
use crate::problem::Problem;
use crate::token::Scope;

/// Where tokens are looked up.
pub trait TokenStore: Send + Sync {
    /// What the bearer of this token may do; `None` if it is unknown or revoked.
    fn grant(&self, token: &str) -> Result<Option<Grant>, TokenStoreError>;

    /// Whether there is a token for this project only.
    fn has_secret(&self, project: &str) -> Result<bool, TokenStoreError>;
}

/// What an authenticated caller may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    pub scope: Scope,
    /// The only project that events may be sent for, if the token is limited to one.
    pub project: Option<String>,
    /// Whether a token was presented; on a loopback address none is needed.
    pub by_token: bool,
}

/// Tokens cannot be looked up.
#[derive(Debug, thiserror::Error)]
#[error("tokens cannot be looked up: {0}")]
pub struct TokenStoreError(pub Box<dyn std::error::Error + Send + Sync>);

/// How requests are authenticated.
#[derive(Clone)]
pub enum AccessPolicy {
    /// From this machine, without a token; `port` is the server's own. A token that is presented
    /// must be valid.
    Loopback { port: u16, tokens: Option<Arc<dyn TokenStore>> },
    /// From anywhere, with a token.
    Token(Arc<dyn TokenStore>),
}

/// Paths that need no authentication: they neither read nor change anything but the login.
const OPEN: [&str; 4] = ["/healthz", "/readyz", "/login", "/logout"];
/// Paths for programs. Cookies are not accepted there, so that no page of another site can use a
/// browser's login.
const FOR_PROGRAMS: [&str; 4] = ["/api/v1", "/mcp", "/ingest", "/metrics"];
/// Holds the token of a browser that logged in.
pub(crate) const COOKIE: &str = "kenning_token";

fn is_open(path: &str) -> bool {
    OPEN.contains(&path) || path.starts_with("/assets/")
}

fn is_page(path: &str) -> bool {
    let below = |root: &str| path.strip_prefix(root).is_some_and(|rest| !rest.starts_with(is_name));
    !FOR_PROGRAMS.into_iter().any(below)
}

fn is_name(c: char) -> bool {
    c != '/'
}

/// The access policy, the largest scope that it grants, and who guessed tokens.
#[derive(Clone)]
pub(crate) struct Authenticator {
    policy: AccessPolicy,
    most: Scope,
    throttle: Arc<LoginThrottle>,
}

impl Authenticator {
    pub(crate) fn new(policy: AccessPolicy, most: Scope) -> Self {
        Self { policy, most, throttle: Arc::default() }
    }

    /// A read-only server still takes events: they change nothing that clients read.
    fn bounded(&self, grant: Grant, path: &str) -> Grant {
        if path == "/ingest" {
            return grant;
        }
        Grant { scope: grant.scope.min(self.most), ..grant }
    }
}

/// Passes a request on with its [`Grant`], or rejects it.
pub(crate) async fn authenticate(
    State(authenticator): State<Authenticator>,
    mut request: Request,
    next: Next,
) -> Response {
    let path = request.uri().path();
    let from = address(&request);
    if is_open(path) {
        return match (path, request.method()) {
            ("/login", &Method::POST) => log_in(&authenticator.throttle, from, request, next).await,
            _ => next.run(request).await,
        };
    }
    let caller = Caller { from, throttle: &authenticator.throttle };
    let granted = match authenticator.policy.clone() {
        AccessPolicy::Loopback { port, tokens } => {
            from_this_machine(request.headers(), port, tokens, caller).await
        }
        AccessPolicy::Token(tokens) => {
            let by_cookie = is_page(path).then(|| cookie(request.headers(), COOKIE)).flatten();
            let presented = token(request.headers()).or(by_cookie).map(str::to_owned);
            with_token(request.headers(), presented, tokens, caller).await
        }
    };
    match granted {
        Ok(grant) => {
            let grant = authenticator.bounded(grant, path);
            request.extensions_mut().insert(grant);
            next.run(request).await
        }
        Err(problem) if problem.status == StatusCode::UNAUTHORIZED && opens_page(&request) => {
            login::redirect(request.uri())
        }
        Err(problem) => problem.into_response(),
    }
}

/// The peer of a connection. Headers such as `X-Forwarded-For` do not count: any client can write
/// them.
#[derive(Clone, Copy)]
struct Caller<'a> {
    from: IpAddr,
    throttle: &'a LoginThrottle,
}

impl Caller<'_> {
    fn may_try(self, token: Option<&str>) -> Result<(), Problem> {
        match self.throttle.wait(self.from, token, Instant::now()) {
            None => Ok(()),
            Some(wait) => {
                let detail = "too many wrong tokens came from this address";
                Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, detail).retry_after(wait))
            }
        }
    }

    fn failed(self, token: Option<&str>) {
        if self.throttle.failed(self.from, token, Instant::now()) {
            tracing::warn!(address = %self.from, "too many invalid tokens; throttling this address");
        }
    }
}

fn address(request: &Request) -> IpAddr {
    let connection = request.extensions().get::<ConnectInfo<SocketAddr>>();
    connection.map_or(Ipv6Addr::UNSPECIFIED.into(), |ConnectInfo(address)| address.ip())
}

/// The login page checks the token itself; its status says whether it was valid.
async fn log_in(throttle: &LoginThrottle, from: IpAddr, request: Request, next: Next) -> Response {
    let caller = Caller { from, throttle };
    if let Err(problem) = caller.may_try(None) {
        return problem.into_response();
    }
    let response = next.run(request).await;
    if response.status() == StatusCode::UNAUTHORIZED {
        caller.failed(None);
    }
    response
}

/// Whether a browser opens a page.
fn opens_page(request: &Request) -> bool {
    request.method() == Method::GET
        && is_page(request.uri().path())
        && wants_page(request.headers())
}

/// Whether the client asks for HTML.
pub(crate) fn wants_page(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    accept.is_some_and(|accept| accept.contains("text/html"))
}

/// The value of a cookie.
pub(crate) fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    let mut pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.split_once('='));
    pairs.find(|(key, _)| key.trim() == name).map(|(_, value)| value.trim())
}

const HERE: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

async fn from_this_machine(
    headers: &HeaderMap,
    port: u16,
    tokens: Option<Arc<dyn TokenStore>>,
    caller: Caller<'_>,
) -> Result<Grant, Problem> {
    from_here(headers, port)?;
    match (token(headers), tokens) {
        (Some(token), Some(tokens)) => {
            with_token(headers, Some(token.to_owned()), tokens, caller).await
        }
        _ => Ok(Grant { scope: Scope::Write, project: None, by_token: false }),
    }
}

fn from_here(headers: &HeaderMap, port: u16) -> Result<(), Problem> {
    let refused = |detail: &str| Err(Problem::new(StatusCode::FORBIDDEN, detail));
    if !host(headers).is_some_and(|host| HERE.contains(&host.host())) {
        return refused("the Host header does not name this machine");
    }
    let Some(origin) = headers.get(header::ORIGIN) else { return Ok(()) };
    let origin = origin.to_str().unwrap_or_default();
    if HERE.iter().any(|host| origin == format!("http://{host}:{port}")) {
        return Ok(());
    }
    refused("the Origin header names another site")
}

async fn with_token(
    headers: &HeaderMap,
    token: Option<String>,
    tokens: Arc<dyn TokenStore>,
    caller: Caller<'_>,
) -> Result<Grant, Problem> {
    if !same_site(headers) {
        return Err(Problem::new(StatusCode::FORBIDDEN, "the Origin header names another site"));
    }
    let Some(token) = token else {
        let detail = "a token is needed: `Authorization: Bearer kng_…`";
        return Err(Problem::new(StatusCode::UNAUTHORIZED, detail));
    };
    caller.may_try(Some(&token))?;
    let found = grant(token.clone(), tokens).await;
    match &found {
        Ok(_) => caller.throttle.succeeded(&token),
        Err(problem) if problem.status == StatusCode::UNAUTHORIZED => {
            caller.failed(Some(&token));
        }
        Err(_) => {}
    }
    found
}

/// What the bearer of a token may do.
pub(crate) async fn grant(token: String, tokens: Arc<dyn TokenStore>) -> Result<Grant, Problem> {
    let found = tokio::task::spawn_blocking(move || tokens.grant(&token)).await;
    let found = found.map_err(|error| TokenStoreError(Box::new(error))).flatten();
    match found {
        Ok(Some(grant)) => Ok(grant),
        Ok(None) => {
            let detail = "this token is not known, or was revoked";
            Err(Problem::new(StatusCode::UNAUTHORIZED, detail))
        }
        Err(error) => {
            tracing::error!(%error, "token lookup failed; rejecting all requests until the store is back");
            let detail = "tokens cannot be looked up for now";
            Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail))
        }
    }
}

/// Whether a browser's request, which names its origin, comes from a page of this server.
pub(crate) fn same_site(headers: &HeaderMap) -> bool {
    let Some(origin) = headers.get(header::ORIGIN) else { return true };
    let origin = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
    match (origin, host(headers)) {
        (Some((_, origin)), Some(host)) => origin == host.as_str(),
        _ => false,
    }
}

fn host(headers: &HeaderMap) -> Option<Authority> {
    headers.get(header::HOST)?.to_str().ok()?.parse().ok()
}

/// From the `Authorization` header, or from the one that mcpeye's clients send.
fn token(headers: &HeaderMap) -> Option<&str> {
    bearer(headers).or_else(|| headers.get("x-mcpeye-secret")?.to_str().ok())
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token)
}

impl AccessPolicy {
    pub(crate) fn tokens(&self) -> Option<Arc<dyn TokenStore>> {
        match self {
            Self::Loopback { tokens, .. } => tokens.clone(),
            Self::Token(tokens) => Some(tokens.clone()),
        }
    }
}

pub(crate) fn not_allowed(scope: Scope) -> Problem {
    let detail = format!("a token with the scope `{scope}` does not allow this");
    Problem::new(StatusCode::FORBIDDEN, detail)
}

impl std::fmt::Debug for AccessPolicy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Loopback { .. } => "Loopback",
            Self::Token(_) => "Token",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(header::HeaderName, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.clone(), value.parse().expect("a header"))).collect()
    }

    #[test]
    fn rejects_pages_of_other_sites_on_loopback() {
        let own =
            headers(&[(header::HOST, "127.0.0.1:80"), (header::ORIGIN, "http://127.0.0.1:80")]);
        assert!(from_here(&own, 80).is_ok());
        let plain = headers(&[(header::HOST, "localhost:80")]);
        assert!(from_here(&plain, 80).is_ok());
        for (host, origin) in [
            ("127.0.0.1:80", "http://evil.example"),
            ("127.0.0.1:80", "http://127.0.0.1:81"),
            ("127.0.0.1:80", "null"),
            ("evil.example", "http://127.0.0.1:80"),
            ("127.0.0.1.evil.example", "http://127.0.0.1:80"),
        ] {
            let foreign = headers(&[(header::HOST, host), (header::ORIGIN, origin)]);
            assert!(from_here(&foreign, 80).is_err(), "{host} {origin}");
        }
        assert!(from_here(&HeaderMap::new(), 80).is_err(), "no host at all");
    }

    #[test]
    fn with_tokens_the_origin_must_match_the_host() {
        let own = headers(&[(header::HOST, "team:80"), (header::ORIGIN, "https://team:80")]);
        assert!(same_site(&own));
        let foreign = headers(&[(header::HOST, "team:80"), (header::ORIGIN, "https://evil")]);
        assert!(!same_site(&foreign));
    }

    #[test]
    fn cookies_are_accepted_for_pages_only() {
        for path in ["/", "/gaps", "/api", "/api/openapi.json", "/api/v10"] {
            assert!(is_page(path), "{path}");
        }
        for path in ["/mcp", "/mcp/x", "/api/v1", "/api/v1/agents", "/ingest", "/metrics"] {
            assert!(!is_page(path), "{path}");
        }
        let given = headers(&[(header::COOKIE, "a=1; kenning_token=kng_1; b=2")]);
        assert_eq!(cookie(&given, COOKIE), Some("kng_1"));
        assert_eq!(cookie(&given, "token"), None);
    }

    #[test]
    fn tokens_are_read_from_the_header() {
        let given = headers(&[(header::AUTHORIZATION, "bearer abc")]);
        assert_eq!(bearer(&given), Some("abc"));
        assert_eq!(bearer(&headers(&[(header::AUTHORIZATION, "Basic abc")])), None);
    }
}
