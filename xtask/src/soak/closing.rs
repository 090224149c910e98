//! When the traffic has ended: whether everything that was acknowledged is there, once, and whether
//! every server shows every file as it is.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use kenning_testkit::Postgres;
use serde_json::Value;

use super::Field;
use super::client::Http;
use super::ingest::TakenIn;
use super::servers::Fleet;
use super::shelf::SLOTS;
use super::worker::Done;

/// How long servers may take to come to rest.
const REST: Duration = Duration::from_mins(2);

/// `store` is the database and where it is.
pub(super) fn check(
    field: &Field,
    fleet: &Fleet,
    done: Vec<Done>,
    taken_in: &[TakenIn],
    store: (&Postgres, &str),
) {
    for mut one in done {
        files(field, &mut one);
        skills(field, fleet, &mut one);
    }
    for one in taken_in {
        if let Err(error) = events(fleet, one, store) {
            field.account.wrong(format!("{}: {error:#}", one.project));
        }
        field.account.kept("events taken in, each once", one.events);
        field.account.kept("explicit requests heard, each once", one.asks);
    }
}

fn files(field: &Field, one: &mut Done) {
    let began = Instant::now();
    for slot in 0..SLOTS {
        let current = field.shelf.history(slot).current();
        let mut shown = one.worker.version(field, slot);
        while shown != current && began.elapsed() < REST {
            std::thread::sleep(Duration::from_millis(100));
            shown = one.worker.version(field, slot);
        }
        if shown != current {
            let agent = one.ledger.agent_id;
            field.account.wrong(format!(
                "the server of agent {agent} shows slot {slot} as {shown:?} instead of {current:?}"
            ));
        }
    }
    field.account.kept("files shown as they are, on all servers", SLOTS as u64);
}

/// On the server that wrote, and on all others.
fn skills(field: &Field, fleet: &Fleet, one: &mut Done) {
    let mut answers = vec![one.worker.all_skills(field).unwrap_or_default()];
    if one.worker.peer.is_some() {
        let path = format!(
            "/api/v1/get_agent_capabilities?agent_id={}&active_only=false",
            one.ledger.agent_id
        );
        let each = fleet.each().unwrap_or_default();
        answers.extend(each.into_iter().map(|mut http| {
            http.request("GET", &path, None).map(|(_, body)| body).unwrap_or_default()
        }));
    }
    for answer in answers {
        for wrong in one.ledger.compare(&answer) {
            field.account.wrong(format!("at the end, {wrong}"));
        }
    }
    field.account.kept("writes to the registry acknowledged", one.ledger.acknowledged());
}

fn events(fleet: &Fleet, taken_in: &TakenIn, (postgres, url): (&Postgres, &str)) -> Result<()> {
    let TakenIn { project, events, asks } = taken_in;
    let query = format!("SELECT count(*) FROM events WHERE project_id = '{project}'");
    let kept = postgres.query(url, &query);
    ensure!(kept == events.to_string(), "{events} were acknowledged, {kept} are there");
    let query = format!("SELECT count(*) FROM waiting WHERE project_id = '{project}'");
    let began = Instant::now();
    while postgres.query(url, &query) != "0" && began.elapsed() < REST {
        std::thread::sleep(Duration::from_millis(100));
    }
    let heard = heard(&mut fleet.any()?, project)?;
    ensure!(heard == *asks, "{asks} requests were acknowledged, {heard} were heard");
    Ok(())
}

/// How many explicit requests are in the gaps of a project, whatever became of them.
fn heard(http: &mut Http, project: &str) -> Result<u64> {
    let path = format!("/api/v1/gaps?projectId={project}&status=all");
    let (status, answer) = http.request("GET", &path, None)?;
    ensure!(status == 200, "{status} {answer}");
    let gaps: &Vec<Value> = answer["gaps"].as_array().context("a list of gaps")?;
    Ok(gaps.iter().filter_map(|gap| gap["requests"].as_u64()).sum())
}
