//! Checks that the generated documents are current. `cargo xtask docs` regenerates them.

use std::fs;
use std::path::{Path, PathBuf};

use clap::CommandFactory;
use kenning::cli::Cli;
use kenning_app::{Access, Capacity, CommonError, Inventory, Toolset, UNAVAILABLE};
use kenning_catalog::clients::{self, Scope};
use kenning_mcp::render::token_cost;
use kenning_settings::{DEFAULTS, Layers, Sources, env_name};
use serde_json::{Value, json};

const MCP_NAME: &str = "io.github.kenning-mcp/kenning";
const DESCRIPTION: &str =
    "What coding agents can do, what your project knows, and what is missing. Local and offline.";
const NOTE: &str = "<!-- Made from the code by `cargo xtask docs`. -->\n\n";

#[test]
fn the_command_line_reference_is_current() {
    check("docs/cli.md", &format!("# Command line\n\n{NOTE}{}", commands()));
}

#[test]
fn the_settings_reference_is_current() {
    check("docs/settings.md", &format!("# Settings\n\n{NOTE}{}", settings()));
}

#[test]
fn the_tool_reference_is_current() {
    check("docs/tools.md", &format!("# Tools, resources and prompts\n\n{NOTE}{}", tools()));
}

#[test]
fn the_readmes_tables_are_current() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let readme = with_section(&readme, "tools", &table());
    check("README.md", &with_section(&readme, "clients", &clients_table()));
}

#[test]
fn the_entry_for_the_mcp_registry_is_current() {
    let entry = json!({
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
        "name": MCP_NAME,
        "title": "Kenning",
        "description": DESCRIPTION,
        "version": env!("CARGO_PKG_VERSION"),
        "packages": [{
            "registryType": "cargo",
            "identifier": env!("CARGO_PKG_NAME"),
            "version": env!("CARGO_PKG_VERSION"),
            "transport": {"type": "stdio"},
            "packageArguments": [{"type": "positional", "value": "serve"}],
        }],
    });
    assert!(DESCRIPTION.len() <= 100, "the registry's limit");
    check("server.json", &format!("{entry:#}\n"));
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    assert!(
        readme.contains(&format!("mcp-name: {MCP_NAME}")),
        "the registry looks for it to verify the owner"
    );
}

#[test]
fn the_skill_names_tools_and_commands_that_exist() {
    let skill = fs::read_to_string(root().join("skills/kenning/SKILL.md")).unwrap();
    let (tools, cli) = (Inventory::full(), Cli::command());
    let mut calls = 0;
    for word in skill.split('`').skip(1).step_by(2) {
        if let Some(rest) = word.strip_prefix("kenning ") {
            let command = rest.split(' ').next().unwrap();
            assert!(cli.find_subcommand(command).is_some(), "{word}");
        } else if word.contains('_') && !["task_type", "current_file"].contains(&word) {
            assert!(tools.tool(word).is_some(), "{word}");
            calls += 1;
        }
    }
    assert!(calls > 5, "{calls}");
}

fn with_section(text: &str, name: &str, section: &str) -> String {
    let (start, end) = (format!("<!-- {name} -->\n"), format!("<!-- /{name} -->"));
    let (before, rest) = text.split_once(&start).unwrap();
    let (_, after) = rest.split_once(&end).unwrap();
    format!("{before}{start}{section}{end}{after}")
}

fn check(path: &str, expected: &str) {
    let path = root().join(path);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, expected).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == expected, "{} is stale: run `cargo xtask docs`", path.display());
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn commands() -> String {
    let mut cli = Cli::command().term_width(96);
    cli.build();
    let mut out = format!("```text\n{}```\n", help(&mut cli.clone()));
    let is_visible =
        |command: &&mut clap::Command| command.get_name() != "help" && !command.is_hide_set();
    for command in cli.get_subcommands_mut().filter(is_visible) {
        let nested: Vec<_> = command.get_subcommands().map(|c| c.get_name().to_owned()).collect();
        out += &section(command);
        for name in nested.iter().filter(|name| *name != "help") {
            out += &section(command.find_subcommand_mut(name).unwrap());
        }
    }
    out
}

fn section(command: &mut clap::Command) -> String {
    let name = command.get_bin_name().unwrap().to_owned();
    format!("\n## `{name}`\n\n```text\n{}```\n", help(command))
}

fn help(command: &mut clap::Command) -> String {
    let text = command.render_long_help().to_string();
    let lines = text.lines().map(|line| format!("{}\n", line.trim_end()));
    lines.collect::<String>().trim_end().to_owned() + "\n"
}

fn settings() -> String {
    let layers = Layers::merge(Sources::default()).unwrap();
    let mut out = format!(
        "Settings come, from weak to strong, from these defaults, the user's \
         `$XDG_CONFIG_HOME/kenning/kenning.toml`, the project's `kenning.toml` (the nearest one at \
         or above the working folder), `KENNING_*` variables and flags. They are merged key by \
         key; `kenning config show --origin` prints the result. A key that is not known is an \
         error.\n\n\
         A project's file is not trusted to reach outside of its own folder.\n\n\
         ```toml\n{DEFAULTS}```\n\n## Variables\n\nLists are separated by commas.\n\n\
         | variable | setting |\n|---|---|\n"
    );
    for (key, _, _) in layers.entries() {
        out += &format!("| `{}` | `{key}` |\n", env_name(key));
    }
    out
}

fn table() -> String {
    let mut out = String::from("| toolset | tools | tokens | |\n|---|---|---|---|\n");
    for toolset in Toolset::ALL {
        let inventory = Inventory::full().select(&[toolset], Access::ReadWrite);
        let names: Vec<String> = inventory
            .tools()
            .map(|tool| format!("[`{0}`](docs/tools.md#{0})", tool.name))
            .collect();
        let on = if Toolset::DEFAULT.contains(&toolset) { "on" } else { "if asked for" };
        let (names, cost) = (names.join(", "), token_cost(&inventory));
        out += &format!("| {toolset} | {names} | {cost} | {on} |\n");
    }
    let cost = |toolsets: &[Toolset]| {
        let inventory = Inventory::full().select(toolsets, Access::ReadWrite);
        (token_cost(&inventory), token_cost(&inventory.with_intent()))
    };
    let (plain, default) = cost(&Toolset::DEFAULT);
    let (_, all) = cost(&Toolset::ALL);
    out + &format!(
        "\nTo read the list costs a model {default} tokens (`o200k_base`), {plain} of them without \
         the parameter that asks why (`gaps.intent = false`); with all toolsets, {all}.\n"
    )
}

fn clients_table() -> String {
    let mut out = String::from("| client | | yours | the project's |\n|---|---|---|---|\n");
    for client in clients::all() {
        let file = |scope| {
            let files = client.usual_files(scope, "kenning");
            files.first().map(|(_, path)| format!("`{path}`"))
        };
        let (user, project) = (file(Scope::User).unwrap(), file(Scope::Project));
        let project = project.unwrap_or_default();
        let (id, name) = (&client.id, &client.name);
        out += &format!("| {name} | `kenning install {id}` | {user} | {project} |\n");
    }
    out
}

fn tools() -> String {
    let inventory = Inventory::full();
    let CommonError { code, message } = UNAVAILABLE;
    let mut out = format!("Any tool may also answer with the error `{code}`: {message}.\n\n");
    for toolset in Toolset::ALL {
        out += &format!("## Toolset `{toolset}`\n\n");
        for tool in inventory.tools().filter(|tool| tool.toolset == toolset) {
            let description = tool.tool.map_or("", |text| text.description);
            out += &format!("### `{}`\n\n{description}\n\n", tool.name);
            out += &parameters(&Value::Object((*tool.input_schema).clone()));
            for example in &tool.examples {
                let arguments = serde_json::to_string(&example.arguments).unwrap();
                out += &format!("{}:\n\n```json\n{arguments}\n```\n\n", example.description);
            }
            out += "Errors:\n\n";
            for error in tool.errors {
                out += &format!("- `{}`: {}\n", error.code, error.message);
            }
            out += "\n";
        }
    }
    out += "## Resources\n\n";
    for template in inventory.resources.iter().flat_map(|one| one.family().templates) {
        out += &format!("- `{}`: {}\n", template.uri, template.description);
    }
    out += "\n## Limits\n\n| limit | value |\n|---|---|\n";
    for limit in Capacity::STDIO.limits().iter().chain(&inventory.limits) {
        out += &format!("| `{}` | {} |\n", limit.name, limit.value);
    }
    out += "\n## Prompts\n\n";
    for prompt in &inventory.prompts {
        let names: Vec<String> = prompt.arguments.iter().map(|a| format!("`{}`", a.name)).collect();
        out += &format!("- `{}`({}): {}\n", prompt.name, names.join(", "), prompt.description);
    }
    out
}

fn parameters(schema: &Value) -> String {
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let mut out = String::from("| parameter | type | default | |\n|---|---|---|---|\n");
    for (name, about) in schema["properties"].as_object().unwrap() {
        let kind = match (&about["enum"], &about["type"]) {
            (Value::Array(options), _) => {
                let words: Vec<&str> = options.iter().filter_map(Value::as_str).collect();
                words.join(", ")
            }
            (_, kind) => kind.as_str().unwrap_or_default().to_owned(),
        };
        let default = match &about["default"] {
            _ if required.contains(&Value::from(name.as_str())) => "required".to_owned(),
            Value::Null => String::new(),
            value => format!("`{value}`"),
        };
        let description = about["description"].as_str().unwrap_or_default();
        out += &format!("| `{name}` | {kind} | {default} | {description} |\n");
    }
    out + "\n"
}
