//! Whether the pages that the catalog cites are still there.

use std::collections::BTreeMap;
use std::time::Duration;

use kenning_catalog::check::{Fault, Severity};
use reqwest::{Client, StatusCode, Url};
use tokio::task::JoinSet;

use crate::failure::Failure;
use crate::printer::Printer;

const AT_ONCE: usize = 8;
const PATIENCE: Duration = Duration::from_secs(20);

/// Asks for every page once. A page that is gone is an error; one that does not answer, or will
/// not speak to programs, a warning.
pub(super) fn check(
    links: &BTreeMap<&str, Vec<String>>,
    printer: Printer,
) -> Result<Vec<Fault>, Failure> {
    super::use_ring();
    let client = Client::builder().timeout(PATIENCE).user_agent("kenning").build();
    let client = client.map_err(|error| Failure::new(error.to_string()))?;
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

async fn ask(client: Client, url: String, at: String) -> Option<Fault> {
    let fault = |severity, problem: String| Some(Fault { severity, at, problem });
    let page = match Url::parse(&url) {
        Ok(page) => page,
        Err(error) => return fault(Severity::Error, format!("{url}: {error}")),
    };
    match client.get(page).send().await {
        Ok(answer) => match answer.status() {
            status if status.is_success() => None,
            StatusCode::NOT_FOUND | StatusCode::GONE => {
                fault(Severity::Error, format!("{url} is gone"))
            }
            status => fault(Severity::Warning, format!("{url} answers {status}")),
        },
        Err(error) => fault(Severity::Warning, format!("{url} cannot be reached: {error}")),
    }
}
