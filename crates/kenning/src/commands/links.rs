//! Checks whether the pages that the catalog cites still exist.
//!
//! A catalog may come with a project of unknown origin. Its URLs must not make this machine send
//! requests to itself or its private network (SSRF): only public IP addresses are contacted,
//! whatever a host name resolves to and wherever a redirect leads.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use kenning_catalog::check::{Fault, Severity};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::redirect::{Attempt, Policy};
use reqwest::{Client, StatusCode, Url};
use tokio::task::JoinSet;

use super::install_tls_provider;
use crate::failure::Failure;
use crate::printer::Printer;

const MAX_CONCURRENT: usize = 8;
const TIMEOUT: Duration = Duration::from_secs(20);
const MAX_REDIRECTS: usize = 10;

#[derive(Debug, thiserror::Error)]
enum Refused {
    #[error("`{0}` is not a public address")]
    NotPublic(String),
    #[error("it redirects more than {MAX_REDIRECTS} times")]
    TooManyRedirects,
}

/// Requests every page once. A page that is gone is an error. Any other failure is a warning: the
/// server may be down, or refuse programs.
pub(super) fn check(
    links: &BTreeMap<&str, Vec<String>>,
    printer: Printer,
) -> Result<Vec<Fault>, Failure> {
    install_tls_provider();
    let client = client().map_err(|error| Failure::new(error.to_string()))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let bar = printer.progress("checking links");
    bar.set_total(links.len());
    let mut queued = links.iter();
    let mut faults = Vec::new();
    runtime.block_on(async {
        let mut running = JoinSet::new();
        loop {
            while running.len() < MAX_CONCURRENT
                && let Some((url, cited)) = queued.next()
            {
                running.spawn(check_page(client.clone(), (*url).to_owned(), cited.join(", ")));
            }
            let Some(checked) = running.join_next().await else { break };
            faults.extend(checked.ok().flatten());
            bar.advance();
        }
    });
    drop(bar);
    Ok(faults)
}

fn client() -> reqwest::Result<Client> {
    Client::builder()
        .timeout(TIMEOUT)
        .user_agent("kenning")
        .dns_resolver(std::sync::Arc::new(PublicResolver))
        .redirect(Policy::custom(redirect))
        .build()
}

fn redirect(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    if attempt.previous().len() > MAX_REDIRECTS {
        return attempt.error(Refused::TooManyRedirects);
    }
    match refuse_private_literal(attempt.url()) {
        Ok(()) => attempt.follow(),
        Err(refused) => attempt.error(refused),
    }
}

/// A literal IP address does not pass through the resolver, so it is checked here.
fn refuse_private_literal(url: &Url) -> Result<(), Refused> {
    let host = url.host_str().unwrap_or_default();
    match host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>() {
        Ok(address) if !is_public(address) => Err(Refused::NotPublic(host.to_owned())),
        _ => Ok(()),
    }
}

/// Resolves host names to their public addresses only.
struct PublicResolver;

impl Resolve for PublicResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let public: Vec<SocketAddr> = found.filter(|address| is_public(address.ip())).collect();
            if public.is_empty() {
                return Err(Refused::NotPublic(name.as_str().to_owned()).into());
            }
            Ok(Box::new(public.into_iter()) as Addrs)
        })
    }
}

fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [first, second, ..] = address.octets();
    let is_shared = first == 100 && (64..128).contains(&second);
    let is_for_benchmarks = first == 198 && (18..20).contains(&second);
    let is_reserved = first == 0 || first >= 240;
    !(address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_documentation()
        || is_shared
        || is_for_benchmarks
        || is_reserved)
}

/// The allocated global unicast range, without the parts that embed IPv4 addresses (6to4, Teredo).
fn is_public_v6(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.segments();
    let is_global = (0x2000..0x4000).contains(&first);
    let embeds_ipv4 = first == 0x2002 || (first == 0x2001 && second < 0x0200);
    let is_documentation = first == 0x2001 && second == 0x0db8;
    is_global && !embeds_ipv4 && !is_documentation
}

async fn check_page(client: Client, url: String, at: String) -> Option<Fault> {
    let fault = |severity, problem: String| Some(Fault { severity, at, problem });
    let page = match Url::parse(&url) {
        Ok(page) => page,
        Err(error) => return fault(Severity::Error, format!("{url}: {error}")),
    };
    if let Err(refused) = refuse_private_literal(&page) {
        return fault(Severity::Error, format!("{url} is not requested: {refused}"));
    }
    match client.get(page).send().await {
        Ok(response) => match response.status() {
            status if status.is_success() => None,
            StatusCode::NOT_FOUND | StatusCode::GONE => {
                fault(Severity::Error, format!("{url} is gone"))
            }
            status => fault(Severity::Warning, format!("{url} returns {status}")),
        },
        Err(error) => {
            fault(Severity::Warning, format!("{url} cannot be reached: {}", root_cause(&error)))
        }
    }
}

/// The innermost error says what happened; the outer ones only what was tried.
fn root_cause(error: &(dyn std::error::Error + 'static)) -> String {
    let chain = std::iter::successors(Some(error), |error| error.source());
    chain.last().map(ToString::to_string).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_public_addresses_are_contacted() {
        let public = ["93.184.216.34", "8.8.8.8", "2606:2800:220:1::1"];
        let others = [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "0.0.0.0",
            "100.64.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "198.18.0.1",
            "::1",
            "::",
            "fe80::1",
            "fc00::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "2001::1",
        ];
        for address in public {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
        for address in others {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
    }

    #[tokio::test]
    async fn nothing_on_this_machine_is_contacted() {
        install_tls_provider();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        for host in ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "2130706433"] {
            let url = format!("http://{host}:{port}/");
            let fault = check_page(client().unwrap(), url, "somewhere".to_owned()).await.unwrap();
            assert!(fault.problem.contains("is not a public address"), "{}", fault.problem);
        }
        let untouched = listener.accept().unwrap_err();
        assert_eq!(untouched.kind(), std::io::ErrorKind::WouldBlock);
    }
}
