//! Who may come in.
//!
//! On a loopback address everybody on this machine may, but no web page that a browser here has
//! open: a request must name this server as its host, and its origin if it has one. On any other
//! address every request must carry a token: programs in a header, browsers in a cookie that the
//! login page sets.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use axum::extract::{ConnectInfo, Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::guesses::Guesses;
use crate::pages::login;
use crate::problem::Problem;
use crate::token::Scope;

/// Knows the tokens there are.
pub trait Keys: Send + Sync {
    /// What the bearer of this token may do, if it is one of ours.
    fn grant(&self, token: &str) -> Result<Option<Grant>, KeysError>;

    /// Whether there is a token for this project alone.
    fn has_secret(&self, project: &str) -> Result<bool, KeysError>;
}

/// What one who was let in may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    pub scope: Scope,
    /// The only project that events may be sent for, if there is but one.
    pub project: Option<String>,
    /// Whether a token was shown; on this machine it need not be.
    pub by_token: bool,
}

/// The tokens there are cannot be looked up.
#[derive(Debug, thiserror::Error)]
#[error("tokens cannot be looked up: {0}")]
pub struct KeysError(pub Box<dyn std::error::Error + Send + Sync>);

/// How one gets in.
#[derive(Clone)]
pub enum Doors {
    /// From this machine, without a token; `port` is the server's own. A token that is shown must
    /// be a good one.
    Loopback { port: u16, keys: Option<Arc<dyn Keys>> },
    /// From anywhere, with a token.
    Token(Arc<dyn Keys>),
}

/// Paths that tell nothing and change nothing, but for who one is.
const OPEN: [&str; 4] = ["/healthz", "/readyz", "/login", "/logout"];
/// What is below is for programs: no cookie opens it, so no page of another site could use it.
const FOR_PROGRAMS: [&str; 4] = ["/api/v1", "/mcp", "/ingest", "/metrics"];
/// Holds the token of somebody who logged in.
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

/// The doors, the most that anybody inside may do, and who tried to get in.
#[derive(Clone)]
pub(crate) struct Gate {
    doors: Doors,
    most: Scope,
    guesses: Arc<Guesses>,
}

impl Gate {
    pub(crate) fn new(doors: Doors, most: Scope) -> Self {
        Self { doors, most, guesses: Arc::default() }
    }

    /// Telling what was heard elsewhere changes nothing that others see.
    fn bounded(&self, grant: Grant, path: &str) -> Grant {
        if path == "/ingest" {
            return grant;
        }
        Grant { scope: grant.scope.min(self.most), ..grant }
    }
}

/// Lets a request pass, with the [`Grant`] it has, or refuses it.
pub(crate) async fn guard(State(gate): State<Gate>, mut request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let from = address(&request);
    if is_open(path) {
        return match (path, request.method()) {
            ("/login", &Method::POST) => log_in(&gate.guesses, from, request, next).await,
            _ => next.run(request).await,
        };
    }
    let admitted = match gate.doors.clone() {
        Doors::Loopback { port, keys } => {
            let visitor = Visitor { from, guesses: &gate.guesses };
            from_this_machine(request.headers(), port, keys, visitor).await
        }
        Doors::Token(keys) => {
            let by_cookie = is_page(path).then(|| cookie(request.headers(), COOKIE)).flatten();
            let shown = token(request.headers()).or(by_cookie).map(str::to_owned);
            let visitor = Visitor { from, guesses: &gate.guesses };
            with_token(request.headers(), shown, keys, visitor).await
        }
    };
    match admitted {
        Ok(grant) => {
            let grant = gate.bounded(grant, path);
            request.extensions_mut().insert(grant);
            next.run(request).await
        }
        Err(problem) if problem.status == StatusCode::UNAUTHORIZED && is_visit(&request) => {
            login::redirect(request.uri())
        }
        Err(problem) => problem.into_response(),
    }
}

/// Who is at the door. What a header says of it, anybody may have written.
#[derive(Clone, Copy)]
struct Visitor<'a> {
    from: IpAddr,
    guesses: &'a Guesses,
}

impl Visitor<'_> {
    fn may_try(self, token: Option<&str>) -> Result<(), Problem> {
        match self.guesses.wait(self.from, token, Instant::now()) {
            None => Ok(()),
            Some(wait) => {
                let detail = "too many wrong tokens came from this address";
                Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, detail).wait(wait))
            }
        }
    }

    fn was_wrong(self, token: Option<&str>) {
        if self.guesses.wrong(self.from, token, Instant::now()) {
            tracing::warn!(address = %self.from, "somebody tries tokens, and has to wait now");
        }
    }
}

fn address(request: &Request) -> IpAddr {
    let connection = request.extensions().get::<ConnectInfo<SocketAddr>>();
    connection.map_or(Ipv6Addr::UNSPECIFIED.into(), |ConnectInfo(address)| address.ip())
}

/// The page that takes a token says itself whether it is one.
async fn log_in(guesses: &Guesses, from: IpAddr, request: Request, next: Next) -> Response {
    let visitor = Visitor { from, guesses };
    if let Err(problem) = visitor.may_try(None) {
        return problem.into_response();
    }
    let response = next.run(request).await;
    if response.status() == StatusCode::UNAUTHORIZED {
        visitor.was_wrong(None);
    }
    response
}

/// Whether somebody opens a page in a browser.
fn is_visit(request: &Request) -> bool {
    request.method() == Method::GET
        && is_page(request.uri().path())
        && wants_page(request.headers())
}

/// Whether an answer for people is wanted.
pub(crate) fn wants_page(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    accept.is_some_and(|accept| accept.contains("text/html"))
}

/// What a cookie of this name holds.
pub(crate) fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    let mut pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.split_once('='));
    pairs.find(|(key, _)| key.trim() == name).map(|(_, value)| value.trim())
}

const HERE: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

async fn from_this_machine(
    headers: &HeaderMap,
    port: u16,
    keys: Option<Arc<dyn Keys>>,
    visitor: Visitor<'_>,
) -> Result<Grant, Problem> {
    from_here(headers, port)?;
    match (token(headers), keys) {
        (Some(token), Some(keys)) => {
            with_token(headers, Some(token.to_owned()), keys, visitor).await
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
    keys: Arc<dyn Keys>,
    visitor: Visitor<'_>,
) -> Result<Grant, Problem> {
    if !same_site(headers) {
        return Err(Problem::new(StatusCode::FORBIDDEN, "the Origin header names another site"));
    }
    let Some(token) = token else {
        let detail = "a token is needed: `Authorization: Bearer kng_…`";
        return Err(Problem::new(StatusCode::UNAUTHORIZED, detail));
    };
    visitor.may_try(Some(&token))?;
    let found = known(token.clone(), keys).await;
    match &found {
        Ok(_) => visitor.guesses.right(&token),
        Err(problem) if problem.status == StatusCode::UNAUTHORIZED => {
            visitor.was_wrong(Some(&token));
        }
        Err(_) => {}
    }
    found
}

/// What the bearer of a token may do.
pub(crate) async fn known(token: String, keys: Arc<dyn Keys>) -> Result<Grant, Problem> {
    let found = tokio::task::spawn_blocking(move || keys.grant(&token)).await;
    let found = found.map_err(|error| KeysError(Box::new(error))).flatten();
    match found {
        Ok(Some(grant)) => Ok(grant),
        Ok(None) => {
            let detail = "this token is not known, or was revoked";
            Err(Problem::new(StatusCode::UNAUTHORIZED, detail))
        }
        Err(error) => {
            tracing::error!(%error, "nobody can come in");
            let detail = "tokens cannot be looked up for now";
            Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail))
        }
    }
}

/// A browser says where a request comes from; it must come from a page of this server.
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

/// As everybody sends it, or as mcpeye's clients do.
fn token(headers: &HeaderMap) -> Option<&str> {
    bearer(headers).or_else(|| headers.get("x-mcpeye-secret")?.to_str().ok())
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token)
}

impl std::fmt::Debug for Doors {
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
    fn a_page_of_another_site_stays_outside() {
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
    fn with_tokens_the_origin_is_the_host_one_asked() {
        let own = headers(&[(header::HOST, "team:80"), (header::ORIGIN, "https://team:80")]);
        assert!(same_site(&own));
        let foreign = headers(&[(header::HOST, "team:80"), (header::ORIGIN, "https://evil")]);
        assert!(!same_site(&foreign));
    }

    #[test]
    fn cookies_open_pages_and_nothing_for_programs() {
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
