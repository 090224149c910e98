//! `schemathesis` tests the REST interface against its own `OpenAPI` document.

use std::process::Command;

use anyhow::Result;

use crate::external;
use crate::run::{copy_folder, root, run};
use crate::server::HttpServer;

/// What a schema cannot say, and nothing else.
///
/// Everywhere: whether something exists (404), whether it is in a state that allows the request (409),
/// and whether it is still as the caller has seen it (412). By operation, for an argument that is valid by
/// itself (400): a cursor belongs to the listing that returned it; one call must not name a skill twice; a
/// path must not lead out of its base, which only a name with a slash, a backslash or `.md` is; one of two
/// filters is needed, which `OpenAPI` cannot ask for in a query; a period must end after it begins.
const CONFIGURATION: &str = r#"
[checks.positive_data_acceptance]
expected-statuses = ["2xx", "3xx", "404", "409", "412"]

[[operations]]
include-path-regex = "/(list_all_capabilities|register_agent_capabilities|get_dependencies|search_knowledge|list_capabilities|gaps/report)$"
checks.positive_data_acceptance.expected-statuses = ["2xx", "3xx", "400", "404", "409", "412"]
"#;

pub(crate) fn check() -> Result<()> {
    let schemathesis = external::schemathesis()?;
    let folder = tempfile::tempdir()?;
    let configuration = folder.path().join("schemathesis.toml");
    std::fs::write(&configuration, CONFIGURATION)?;
    // A copy, because composed files are written into it.
    let knowledge = folder.path().join("handbook");
    copy_folder(&root().join("examples/knowledge"), &knowledge)?;
    let server = HttpServer::kenning(&knowledge, folder.path(), &[])?;
    let mut command = Command::new(schemathesis);
    command.arg("--config-file").arg(configuration).arg("run");
    command.arg(format!("{}/api/openapi.json", server.url()));
    // Data that fits the schema must be accepted, and data that does not must be rejected.
    command.args(["--mode", "all", "--checks", "all"]);
    // A fixed seed: a finding must be reproducible.
    command.args(["--max-examples", "40", "--seed", "1"]);
    run(command.current_dir(folder.path()))
}
