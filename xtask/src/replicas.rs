//! Two replicas on one `PostgreSQL` behind the load balancer of `deploy/`, without containers: what is
//! written through one is read through the other, and stopping one under load loses no answer.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use kenning_testkit::Postgres;
use serde::Deserialize;

use crate::external;
use crate::run::{read, root, run};
use crate::server::{Build, HttpServer, start_balancer};

const STORE: &str = "KENNING_STORE_URL";
const EXIT_LIMIT: Duration = Duration::from_mins(1);

pub(crate) fn check() -> Result<()> {
    let (haproxy, python) = (external::haproxy()?, external::replicas_python()?);
    let home = tempfile::tempdir()?;
    let knowledge = root().join("examples/knowledge");
    let postgres = Postgres::start(&["fsync=off"]);
    let mut variables = compose_variables()?;
    variables.insert(STORE.to_owned(), postgres.database());
    variables.insert("KENNING_SERVER_REQUIRE_TOKEN".to_owned(), "true".to_owned());
    let variables: Vec<(&str, &str)> =
        variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let mut create = Build::Debug.kenning(home.path());
    create.args(["token", "create", "team", "--scope", "write"]).envs(variables.iter().copied());
    let token = read(create.current_dir(home.path()))?;
    let mut one = HttpServer::kenning(&knowledge, home.path(), &variables)?;
    let two = HttpServer::kenning(&knowledge, home.path(), &variables)?;
    let configuration = root().join("deploy/haproxy.cfg");
    run(Command::new(haproxy).args(["-c", "-f"]).arg(&configuration))?;
    let addresses = BTreeMap::from([
        ("KENNING_ONE", one.address.clone()),
        ("KENNING_TWO", two.address.clone()),
    ]);
    let balancer = start_balancer(haproxy, &configuration, &addresses)?;
    let mut clients = Command::new(python);
    clients.arg(root().join("xtask/peers/replicas_client.py"));
    clients.args([balancer.url(), one.url(), two.url(), token.trim().to_owned()]);
    run(clients.arg(one.pid().to_string()))?;
    let status = one.wait(EXIT_LIMIT)?;
    ensure!(status.success(), "the replica that was stopped ended with {status}");
    Ok(())
}

/// The environment of a replica in `compose.yaml`.
fn compose_variables() -> Result<BTreeMap<String, String>> {
    #[derive(Deserialize)]
    struct Compose {
        services: BTreeMap<String, Service>,
    }
    #[derive(Deserialize)]
    struct Service {
        #[serde(default)]
        environment: BTreeMap<String, String>,
    }
    let text = fs::read_to_string(root().join("deploy/compose.yaml"))?;
    let mut compose: Compose = serde_saphyr::from_str(&text).context("compose.yaml")?;
    let one = compose.services.remove("one").context("compose.yaml has no service `one`")?;
    ensure!(one.environment.contains_key(STORE), "a replica in compose.yaml has no store");
    Ok(one.environment)
}
