//! Names that would lead out of a folder, in every argument, URI, address and setting.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use rmcp::model::{CallToolRequestParams, ReadResourceRequestParams, object};
use serde_json::{Value, json};

use crate::server::support::{Answer, Client, Project, described_tools, within};

const SECRET: &str = "this must not be read";

/// A project with files beside it that must stay unread and unchanged, and links that lead to them.
struct Jail(Project);

impl Jail {
    fn new() -> Self {
        let project = Project::with(&[
            ("README.md", "# Readme\n\ntext\n"),
            ("guides/SETUP.md", "# Setup\n\ntext\n"),
        ]);
        for name in ["secret.md", "secret.json", "secret"] {
            fs::write(project.outside().join(name), format!("# {SECRET}\n")).unwrap();
        }
        symlink(project.outside().join("secret.md"), project.root().join("link.md")).unwrap();
        symlink(project.outside(), project.root().join("up")).unwrap();
        Self(project)
    }

    fn hostile(&self) -> Vec<String> {
        let absolute = self.0.outside().join("secret.md").display().to_string();
        let mut all: Vec<String> = [
            "../secret.md",
            "../secret",
            "guides/../../secret.md",
            "./../secret.md",
            "..",
            ".",
            "/",
            "",
            "%2e%2e%2fsecret.md",
            "%252e%252e%252fsecret.md",
            "..%c0%afsecret.md",
            "..\\secret.md",
            "C:\\secret.md",
            "\\\\server\\share\\secret.md",
            "CON",
            "aux.md",
            "secret.md::$DATA",
            "secret\0.md",
            "../secret.md\0.md",
            "link.md",
            "up/secret.md",
            "up",
            "~/secret.md",
            "$HOME/secret.md",
            "file:///secret.md",
            "\u{202e}dm.terces/..",
            "\u{2025}/secret.md",
            "\u{ff0e}\u{ff0e}\u{ff0f}secret.md",
        ]
        .map(str::to_owned)
        .to_vec();
        all.push(absolute.clone());
        all.push(format!("/{absolute}"));
        all.push(format!("file://{absolute}"));
        all.push("../".repeat(40) + absolute.trim_start_matches('/'));
        all.push("a/".repeat(3_000) + "x.md");
        all.push("x".repeat(10_000));
        all
    }

    /// Every file outside of the project, with its bytes.
    fn outside(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let entries = fs::read_dir(self.0.outside()).unwrap().map(|entry| entry.unwrap().path());
        let files = entries.filter(|path| path != self.0.root() && path != self.0.home());
        files.map(|path| (path.clone(), fs::read(&path).unwrap())).collect()
    }
}

/// Pointers to every string in a value.
fn string_pointers(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::String(_) => found.push(at.to_owned()),
        Value::Array(items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(i, item)| string_pointers(item, &format!("{at}/{i}"), found));
        }
        Value::Object(fields) => {
            fields
                .iter()
                .for_each(|(name, value)| string_pointers(value, &format!("{at}/{name}"), found));
        }
        _ => {}
    }
}

/// Arguments for a tool, each with a pointer to a string in them: the tool's examples, extended by
/// every other string that it takes.
fn calls(tool: &Value) -> Vec<(Value, String)> {
    let properties = tool["input_schema"]["properties"].as_object();
    let mut all = Vec::new();
    for example in tool["examples"].as_array().into_iter().flatten() {
        let mut arguments = example["input"].clone();
        for (name, schema) in properties.into_iter().flatten() {
            if schema["type"] == "string" && schema.get("enum").is_none() {
                arguments.as_object_mut().unwrap().entry(name).or_insert(json!(""));
            }
        }
        let mut pointers = Vec::new();
        string_pointers(&arguments, "", &mut pointers);
        all.extend(pointers.into_iter().map(|pointer| (arguments.clone(), pointer)));
    }
    all
}

async fn text(client: &Client, tool: &str, arguments: Value) -> String {
    let call = CallToolRequestParams::new(tool.to_owned()).with_arguments(object(arguments));
    match within(client.call_tool(call)).await {
        Ok(result) => serde_json::to_string(&result).unwrap(),
        Err(error) => error.to_string(),
    }
}

#[tokio::test]
async fn no_tool_argument_leads_out() {
    let jail = Jail::new();
    let before = jail.outside();
    let client = jail.0.client(&["--toolsets", "all"]).await;
    let tools = described_tools(&client).await;
    assert!(tools.len() > 25, "{} tools", tools.len());
    let mut tried = 0;
    for tool in &tools {
        let name = tool["name"].as_str().unwrap();
        for (arguments, pointer) in calls(tool) {
            for hostile in jail.hostile() {
                let mut arguments = arguments.clone();
                *arguments.pointer_mut(&pointer).unwrap() = json!(hostile);
                let answer = text(&client, name, arguments).await;
                let start: String = hostile.chars().take(60).collect();
                assert!(!answer.contains(SECRET), "{name} {pointer} {start:?}: {answer}");
                tried += 1;
            }
        }
    }
    assert!(tried > 1_000, "{tried} calls");
    assert_eq!(jail.outside(), before, "nothing outside has changed");
    within(client.cancel()).await.unwrap();
}

#[tokio::test]
async fn no_uri_leads_out() {
    let jail = Jail::new();
    let client = jail.0.client(&["--toolsets", "all"]).await;
    for scheme in [
        "knowledge://root/",
        "knowledge://",
        "config://content/",
        "config://artifact/",
        "content://",
        "schema://",
        "generator://",
        "registry://",
        "capabilities://",
        "file://",
        "",
    ] {
        for hostile in jail.hostile() {
            for uri in [format!("{scheme}{hostile}"), format!("{scheme}{hostile}#readme")] {
                let request = ReadResourceRequestParams::new(uri.as_str());
                let read = within(client.read_resource(request)).await;
                let text = read.map(|read| serde_json::to_string(&read).unwrap());
                assert!(!text.is_ok_and(|text| text.contains(SECRET)), "{uri:?}");
            }
        }
    }
    within(client.cancel()).await.unwrap();
}

/// Percent-encodes all but letters and digits, so that the HTTP client changes nothing.
fn encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(byte).to_string(),
            byte => format!("%{byte:02X}"),
        })
        .collect()
}

#[tokio::test]
async fn no_http_address_leads_out() {
    let jail = Jail::new();
    let before = jail.outside();
    let server = jail.0.http(&[], &[]);
    let document = server.get("/api/openapi.json").await.json();
    let mut addresses: Vec<String> = vec![
        "/node?id=".into(),
        "/search?query=".into(),
        "/search?task=".into(),
        "/gaps?project=".into(),
        "/gaps/".into(),
        "/proposals/".into(),
        "/registry?agent=".into(),
        "/assets/".into(),
        "/".into(),
        "/login?next=".into(),
        "/catalog/claim?capability=x&agent=".into(),
        "/usage?since=".into(),
    ];
    for (path, methods) in document["paths"].as_object().unwrap() {
        let Some(operation) = methods.get("get") else { continue };
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let name = parameter["name"].as_str().unwrap();
            addresses.push(match parameter["in"].as_str() {
                Some("path") => path.split('{').next().unwrap().to_owned(),
                _ => format!("{path}?{name}="),
            });
        }
    }
    assert!(addresses.len() > 30, "{} addresses", addresses.len());
    for address in &addresses {
        for hostile in jail.hostile() {
            let hostile: String = hostile.chars().take(4_000).collect();
            let request = server.http.get(server.url(&format!("{address}{}", encoded(&hostile))));
            let answer = Answer::to(request.header("Accept", "text/html")).await;
            let status = answer.status;
            assert!(!status.is_server_error(), "{address}{hostile:?}: {status}");
            assert!(!answer.text.contains(SECRET), "{address}{hostile:?}");
        }
        // Sent as written: a client library would resolve the `..` itself.
        let raw =
            server.raw(&format!("GET {address}../../secret.md HTTP/1.1\r\nHost: localhost"), "");
        assert!(!raw.contains(SECRET), "{address}");
    }
    assert_eq!(jail.outside(), before, "nothing outside has changed");
}

#[tokio::test]
async fn no_proposal_is_accepted_into_a_file_outside() {
    let jail = Jail::new();
    let before = jail.outside();
    let server = jail.0.http(&[], &[]);
    let (mut offered, mut refused) = (0, 0);
    for hostile in jail.hostile() {
        let is_file = hostile.contains(".md");
        let target = if is_file { hostile } else { format!("{hostile}/new.md") };
        let body = json!({"title": "x", "markdown": "text", "targetPath": target});
        let answer = server.post("/api/v1/proposals", &body).await;
        if !answer.status.is_success() {
            refused += 1;
            continue;
        }
        offered += 1;
        let id = answer.json()["proposal"]["id"].as_str().unwrap().to_owned();
        let printed = jail.0.run(&["--root", ".", "proposals", "accept", &id]).printed();
        assert!(!printed.contains(SECRET), "{target:?}: {printed}");
        assert_eq!(jail.outside(), before, "{target:?}: {printed}");
    }
    assert!(refused > 15 && offered > 0, "{refused} refused, {offered} offered");
}

#[test]
fn no_setting_of_a_project_leads_out() {
    let jail = Jail::new();
    let before = jail.outside();
    for (key, args) in [
        ("knowledge_base.root_path", &["bases"][..]),
        ("bases.x.root_path", &["bases"]),
        ("index.storage_path", &["agents", "add", "x"]),
        ("index.model_path", &["status"]),
        ("catalog.path", &["capabilities"]),
    ] {
        for hostile in jail.hostile() {
            if hostile.is_empty() || hostile.contains('\0') || hostile.len() > 1_000 {
                continue;
            }
            jail.0.write("kenning.toml", &format!("{key} = {}\n", json!(hostile)));
            let printed = jail.0.run(args).printed();
            assert!(!printed.contains(SECRET), "{key} = {hostile:?}: {printed}");
            assert_eq!(jail.outside(), before, "{key} = {hostile:?}: {printed}");
        }
    }
    jail.0.write("kenning.toml", "[index]\nstorage_path = \"../not-there-yet\"\n");
    jail.0.run(&["agents", "add", "x"]).fails_with(&["outside of the project"]);
    assert!(!jail.0.outside().join("not-there-yet").exists());
}
