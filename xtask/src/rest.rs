//! `schemathesis` tests the REST interface against its own `OpenAPI` document.

use std::process::Command;

use anyhow::Result;

use crate::external;
use crate::run::{copy_folder, root, run};
use crate::server::HttpServer;

/// Statuses that a schema cannot express: requests that fit it are refused for an outdated revision, an
/// unknown cursor, a skill that is named twice in one call, a query without a word, a name that cannot be
/// a path, an id that cannot be a config's, and a period that ends before it begins; a filter that
/// matches nothing is answered.
const CONFIGURATION: &str = r#"
[checks.positive_data_acceptance]
expected-statuses = ["2xx", "3xx", "404", "409", "412"]

[[operations]]
include-path = "/api/v1/list_all_capabilities"
checks.positive_data_acceptance.expected-statuses = ["2xx", "400"]

[[operations]]
include-path = "/api/v1/register_agent_capabilities"
checks.positive_data_acceptance.expected-statuses = ["2xx", "400", "404", "409", "412"]

[[operations]]
include-path-regex = "(discover|search|retrieve|get_dep|list_know|lookup|compare|get_sources)"
checks.positive_data_acceptance.expected-statuses = ["2xx", "400", "404", "409"]

[[operations]]
include-path-regex = "(list_capabilities|usage|gaps/report|proposals$)"
checks.positive_data_acceptance.expected-statuses = ["2xx", "400", "404"]

[[operations]]
include-path-regex = "(compose/|preview_|generate_content|assemble_|validate_|query_ephemeral)"
checks.positive_data_acceptance.expected-statuses = ["2xx", "400", "404", "409", "413", "503"]

[[operations]]
include-path = "/api/v1/list_knowledge_bases"
checks.negative_data_rejection.expected-statuses = ["200", "400", "404"]
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
    // A fixed seed: a finding must be reproducible.
    command.args(["--checks", "all", "--max-examples", "40", "--seed", "1"]);
    run(command.current_dir(folder.path()))
}
