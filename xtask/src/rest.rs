//! The REST interface against its own description, by an outsider who believes neither.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};

use crate::outside;
use crate::run::{root, run};

/// What `schemathesis` cannot know: a change to a revision that is gone is refused, and so are a
/// cursor that nobody was given and a skill that is named twice in one call.
const CONFIGURATION: &str = r#"
[checks.positive_data_acceptance]
expected-statuses = ["2xx", "3xx", "404", "409", "412"]

[[operations]]
include-path = "/api/v1/list_all_capabilities"
checks.positive_data_acceptance.expected-statuses = ["2xx", "400"]

[[operations]]
include-path = "/api/v1/register_agent_capabilities"
checks.positive_data_acceptance.expected-statuses = ["2xx", "400", "404", "409", "412"]
"#;

pub(crate) fn check() -> Result<()> {
    let schemathesis = outside::schemathesis()?;
    let folder = tempfile::tempdir()?;
    let configuration = folder.path().join("schemathesis.toml");
    std::fs::write(&configuration, CONFIGURATION)?;
    let server = Server::start(folder.path())?;
    let mut command = Command::new(schemathesis);
    command.arg("--config-file").arg(configuration).arg("run");
    command.arg(format!("{}/openapi.json", server.api));
    // The same every time: a finding must not depend on the day.
    command.args(["--checks", "all", "--max-examples", "40", "--seed", "1"]);
    run(command.current_dir(folder.path()))
}

struct Server {
    child: Child,
    api: String,
}

impl Server {
    fn start(home: &std::path::Path) -> Result<Self> {
        let mut command = Command::new(root().join("target/debug/kenning"));
        command.arg("--root").arg(root().join("examples/knowledge"));
        command.args(["serve", "--http", "127.0.0.1:0", "--no-watch"]).env("HOME", home);
        command.env_remove("XDG_CONFIG_HOME").env_remove("XDG_DATA_HOME");
        let mut child = command.stderr(Stdio::piped()).spawn().context("the server")?;
        let stderr = child.stderr.take().context("the server's messages are piped")?;
        let mut lines = BufReader::new(stderr).lines().map_while(Result::ok);
        let api = lines.find_map(|line| Some(line.strip_prefix("API   ")?.to_owned()));
        // Whoever logs must not wait for somebody to read it.
        std::thread::spawn(move || lines.for_each(drop));
        Ok(Self { child, api: api.context("the server did not say where it is")? })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
