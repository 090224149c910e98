//! The REST interface against its own description, by an outsider who believes neither.

use std::process::Command;

use anyhow::Result;

use crate::outside;
use crate::run::{copy, root, run};
use crate::server::Server;

/// What `schemathesis` cannot know: a change to a revision that is gone is refused, and so are a
/// cursor that nobody was given and a skill that is named twice in one call; a question without a
/// word, a name that can be no path, an id that can be no config's and a window that ends before it
/// begins are refused; a filter that fits nothing is answered.
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
    let schemathesis = outside::schemathesis()?;
    let folder = tempfile::tempdir()?;
    let configuration = folder.path().join("schemathesis.toml");
    std::fs::write(&configuration, CONFIGURATION)?;
    // Files may be written into the folder it works in.
    let knowledge = folder.path().join("handbook");
    copy(&root().join("examples/knowledge"), &knowledge)?;
    let server = Server::start(&knowledge, folder.path(), &[])?;
    let mut command = Command::new(schemathesis);
    command.arg("--config-file").arg(configuration).arg("run");
    command.arg(format!("{}/api/openapi.json", server.address));
    // The same every time: a finding must not depend on the day.
    command.args(["--checks", "all", "--max-examples", "40", "--seed", "1"]);
    run(command.current_dir(folder.path()))
}
