//! Two replicas on one `PostgreSQL` behind the balancer of `deploy/`, without containers: what one
//! writes the other has, and stopping one costs nobody an answer.

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::process::{Child, Command};

use anyhow::{Context, Result, ensure};
use kenning_testkit::Postgres;
use serde::Deserialize;

use crate::outside;
use crate::run::{read, root, run};
use crate::server::{Server, kenning};

/// The address of the store is another here.
const STORE: &str = "KENNING_STORE_URL";

pub(crate) fn check() -> Result<()> {
    let (haproxy, python) = (outside::haproxy()?, outside::replicas()?);
    let home = tempfile::tempdir()?;
    let knowledge = root().join("examples/knowledge");
    let postgres = Postgres::start(&["fsync=off"]);
    let mut variables = variables_of_compose()?;
    variables.insert(STORE.to_owned(), postgres.database());
    variables.insert("KENNING_SERVER_REQUIRE_TOKEN".to_owned(), "true".to_owned());
    let variables: Vec<(&str, &str)> =
        variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let mut create = kenning(home.path());
    create.args(["token", "create", "team", "--scope", "write"]).envs(variables.iter().copied());
    let token = read(create.current_dir(home.path()))?;
    let mut one = Server::start(&knowledge, home.path(), &variables)?;
    let two = Server::start(&knowledge, home.path(), &variables)?;
    let balancer = Balancer::start(haproxy, &one, &two)?;
    let mut clients = Command::new(python);
    clients.arg(root().join("xtask/peers/replicas_client.py"));
    clients.args([&balancer.address, &one.address, &two.address, token.trim()]);
    run(clients.arg(one.id().to_string()))?;
    let status = one.wait()?;
    ensure!(status.success(), "a replica that was stopped ended with {status}");
    Ok(())
}

/// What `compose.yaml` tells a replica.
fn variables_of_compose() -> Result<BTreeMap<String, String>> {
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

/// Ends with this value.
struct Balancer {
    child: Child,
    address: String,
}

impl Balancer {
    fn start(program: &str, one: &Server, two: &Server) -> Result<Self> {
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string();
        let bare = |server: &Server| server.address.trim_start_matches("http://").to_owned();
        let mut command = Command::new(program);
        command.arg("-db").arg("-f").arg(root().join("deploy/haproxy.cfg"));
        command.env("KENNING_BIND", &address);
        command.env("KENNING_ONE", bare(one)).env("KENNING_TWO", bare(two));
        run(Command::new(program).args(["-c", "-f"]).arg(root().join("deploy/haproxy.cfg")))?;
        let child = command.stdout(std::process::Stdio::null()).spawn().context("the balancer")?;
        Ok(Self { child, address: format!("http://{address}") })
    }
}

impl Drop for Balancer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
