//! Whether the pages that the catalog cites are still there.
//!
//! A catalog may come with a project that somebody else wrote. Its addresses must not make this
//! machine ask for what is only here or behind the same wall: only public addresses are asked, by
//! whatever name or redirection one gets there.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use kenning_catalog::check::{Fault, Severity};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::redirect::{Attempt, Policy};
use reqwest::{Client, StatusCode, Url};
use tokio::task::JoinSet;

use crate::failure::Failure;
use crate::printer::Printer;

const AT_ONCE: usize = 8;
const PATIENCE: Duration = Duration::from_secs(20);
const REDIRECTIONS: usize = 10;

#[derive(Debug, thiserror::Error)]
enum Refused {
    #[error("`{0}` is not a public address")]
    NotPublic(String),
    #[error("it leads on and on")]
    Endless,
}

/// Asks for every page once. A page that is gone is an error; one that does not answer, or will
/// not speak to programs, a warning.
pub(super) fn check(
    links: &BTreeMap<&str, Vec<String>>,
    printer: Printer,
) -> Result<Vec<Fault>, Failure> {
    super::use_ring();
    let client = client().map_err(|error| Failure::new(error.to_string()))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let bar = printer.progress("asking");
    bar.set_length(links.len() as u64);
    let mut waiting = links.iter();
    let mut faults = Vec::new();
    runtime.block_on(async {
        let mut asked = JoinSet::new();
        loop {
            while asked.len() < AT_ONCE
                && let Some((url, cited)) = waiting.next()
            {
                asked.spawn(ask(client.clone(), (*url).to_owned(), cited.join(", ")));
            }
            let Some(answer) = asked.join_next().await else { break };
            faults.extend(answer.ok().flatten());
            bar.inc(1);
        }
    });
    bar.finish_and_clear();
    Ok(faults)
}

fn client() -> reqwest::Result<Client> {
    Client::builder()
        .timeout(PATIENCE)
        .user_agent("kenning")
        .dns_resolver(std::sync::Arc::new(PublicNames))
        .redirect(Policy::custom(lead_on))
        .build()
}

fn lead_on(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    if attempt.previous().len() > REDIRECTIONS {
        return attempt.error(Refused::Endless);
    }
    match refuse_number(attempt.url()) {
        Ok(()) => attempt.follow(),
        Err(refused) => attempt.error(refused),
    }
}

/// An address in numbers is not looked up, so it is looked at here.
fn refuse_number(url: &Url) -> Result<(), Refused> {
    let host = url.host_str().unwrap_or_default();
    let number = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    match number {
        Ok(number) if !is_public(number) => Err(Refused::NotPublic(host.to_owned())),
        _ => Ok(()),
    }
}

/// Names of public addresses.
struct PublicNames;

impl Resolve for PublicNames {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let public: Vec<SocketAddr> = found.filter(|one| is_public(one.ip())).collect();
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

/// The part of them that is given out, and not to carry an address of the older kind.
fn is_public_v6(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.segments();
    let is_given_out = (0x2000..0x4000).contains(&first);
    let carries_another = first == 0x2002 || (first == 0x2001 && second < 0x0200);
    let is_documentation = first == 0x2001 && second == 0x0db8;
    is_given_out && !carries_another && !is_documentation
}

async fn ask(client: Client, url: String, at: String) -> Option<Fault> {
    let fault = |severity, problem: String| Some(Fault { severity, at, problem });
    let page = match Url::parse(&url) {
        Ok(page) => page,
        Err(error) => return fault(Severity::Error, format!("{url}: {error}")),
    };
    if let Err(refused) = refuse_number(&page) {
        return fault(Severity::Error, format!("{url} is not asked: {refused}"));
    }
    match client.get(page).send().await {
        Ok(answer) => match answer.status() {
            status if status.is_success() => None,
            StatusCode::NOT_FOUND | StatusCode::GONE => {
                fault(Severity::Error, format!("{url} is gone"))
            }
            status => fault(Severity::Warning, format!("{url} answers {status}")),
        },
        Err(error) => fault(Severity::Warning, format!("{url} cannot be reached: {}", why(&error))),
    }
}

/// The innermost reason is the one that helps.
fn why(error: &(dyn std::error::Error + 'static)) -> String {
    let reasons = std::iter::successors(Some(error), |error| error.source());
    reasons.last().map(ToString::to_string).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_public_addresses_are_asked() {
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
    async fn nothing_on_this_machine_is_asked() {
        super::super::use_ring();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        for host in ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "2130706433"] {
            let url = format!("http://{host}:{port}/");
            let fault = ask(client().unwrap(), url, "somewhere".to_owned()).await.unwrap();
            assert!(fault.problem.contains("is not a public address"), "{}", fault.problem);
        }
        let nobody = listener.accept().unwrap_err();
        assert_eq!(nobody.kind(), std::io::ErrorKind::WouldBlock);
    }
}
