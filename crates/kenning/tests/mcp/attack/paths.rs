//! Names that would lead out of a folder, at every entrance there is.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rmcp::model::{CallToolRequestParams, ReadResourceRequestParams, object};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::client::{Client, HttpServer, kenning, stdio_client_with};

const OUTSIDE: &str = "nobody may read this";

/// A folder with a base and workspace in it, and something beside them that is worth reading.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Self { folder: TempDir::new().unwrap() };
        fs::create_dir_all(place.root().join("guides")).unwrap();
        fs::write(place.root().join("README.md"), "# Readme\n\ntext\n").unwrap();
        fs::write(place.root().join("guides/SETUP.md"), "# Setup\n\ntext\n").unwrap();
        for name in ["secret.md", "secret.json", "secret"] {
            fs::write(place.folder.path().join(name), format!("# {OUTSIDE}\n")).unwrap();
        }
        let secret = place.folder.path().join("secret.md");
        std::os::unix::fs::symlink(secret, place.root().join("link.md")).unwrap();
        std::os::unix::fs::symlink(place.folder.path(), place.root().join("up")).unwrap();
        place
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    fn hostile(&self) -> Vec<String> {
        let absolute = self.folder.path().join("secret.md").display().to_string();
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

    /// Every file that is not ours to change, with its text.
    fn outside(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let entries = fs::read_dir(self.folder.path()).unwrap().map(|entry| entry.unwrap().path());
        let files = entries.filter(|path| !path.starts_with(self.root()) && *path != self.home());
        files.map(|path| (path.clone(), fs::read(&path).unwrap())).collect()
    }
}

/// Every text in a value that could be replaced by another.
fn leaves(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::String(_) => found.push(at.to_owned()),
        Value::Array(items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(i, item)| leaves(item, &format!("{at}/{i}"), found));
        }
        Value::Object(fields) => {
            fields.iter().for_each(|(name, value)| leaves(value, &format!("{at}/{name}"), found));
        }
        _ => {}
    }
}

/// What a tool can be called with: its examples, and every text it takes besides.
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
        let mut places = Vec::new();
        leaves(&arguments, "", &mut places);
        all.extend(places.into_iter().map(|place| (arguments.clone(), place)));
    }
    all
}

async fn text(client: &Client, tool: &str, arguments: Value) -> String {
    let call = CallToolRequestParams::new(tool.to_owned()).with_arguments(object(arguments));
    match client.call_tool(call).await {
        Ok(result) => serde_json::to_string(&result).unwrap(),
        Err(error) => error.to_string(),
    }
}

#[tokio::test]
async fn no_argument_of_any_tool_leads_out() {
    let place = Place::new();
    let before = place.outside();
    let mut command = kenning(&place.root(), &["--toolsets", "all"]);
    command.env("HOME", place.home());
    let transport = rmcp::transport::TokioChildProcess::new(tokio::process::Command::from(command));
    let client: Client = rmcp::ServiceExt::serve((), transport.unwrap()).await.unwrap();
    let described = client.read_resource(ReadResourceRequestParams::new("capabilities://tools"));
    let described = serde_json::to_value(described.await.unwrap()).unwrap();
    let described: Value =
        serde_json::from_str(described["contents"][0]["text"].as_str().unwrap()).unwrap();
    let categories = described["tools_by_category"].as_object().unwrap().values();
    let tools: Vec<&Value> = categories.flat_map(|tools| tools.as_array().unwrap()).collect();
    assert!(tools.len() > 25, "{} tools", tools.len());
    let mut tried = 0;
    for tool in tools {
        let name = tool["name"].as_str().unwrap();
        for (arguments, place_of_text) in calls(tool) {
            for hostile in place.hostile() {
                let mut arguments = arguments.clone();
                *arguments.pointer_mut(&place_of_text).unwrap() = json!(hostile);
                let said = text(&client, name, arguments).await;
                let shown: String = hostile.chars().take(60).collect();
                assert!(!said.contains(OUTSIDE), "{name} {place_of_text} {shown:?}: {said}");
                tried += 1;
            }
        }
    }
    assert!(tried > 1_000, "{tried} calls");
    assert_eq!(place.outside(), before, "nothing outside has changed");
    client.cancel().await.unwrap();
}

#[tokio::test]
async fn no_uri_leads_out() {
    let place = Place::new();
    let client = stdio_client_with(&place.root(), &["--toolsets", "all"]).await;
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
        for hostile in place.hostile() {
            for uri in [format!("{scheme}{hostile}"), format!("{scheme}{hostile}#readme")] {
                let read = client.read_resource(ReadResourceRequestParams::new(uri.as_str())).await;
                let said = read.map(|read| serde_json::to_string(&read).unwrap());
                assert!(!said.is_ok_and(|said| said.contains(OUTSIDE)), "{uri:?}");
            }
        }
    }
    client.cancel().await.unwrap();
}

/// All but letters and digits, so that nothing is lost on the way.
fn encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(byte).to_string(),
            byte => format!("%{byte:02X}"),
        })
        .collect()
}

#[tokio::test]
async fn no_address_of_the_site_leads_out() {
    let place = Place::new();
    let before = place.outside();
    let server = HttpServer::with_home(&place.root(), &place.home());
    let http = reqwest::Client::new();
    let document = http.get(server.page("/api/openapi.json")).send().await.unwrap();
    let document: Value = serde_json::from_str(&document.text().await.unwrap()).unwrap();
    let mut entrances: Vec<String> = vec![
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
            entrances.push(match parameter["in"].as_str() {
                Some("path") => path.split('{').next().unwrap().to_owned(),
                _ => format!("{path}?{name}="),
            });
        }
    }
    assert!(entrances.len() > 30, "{} entrances", entrances.len());
    for entrance in &entrances {
        for hostile in place.hostile() {
            let hostile: String = hostile.chars().take(4_000).collect();
            let answer = http.get(server.page(&format!("{entrance}{}", encoded(&hostile))));
            let said = answer.header("Accept", "text/html").send().await.unwrap();
            let status = said.status();
            assert!(!status.is_server_error(), "{entrance}{hostile:?}: {status}");
            let said = said.text().await.unwrap();
            assert!(!said.contains(OUTSIDE), "{entrance}{hostile:?}");
        }
        // As it is, without a library that would tidy it up.
        let raw =
            server.raw(&format!("GET {entrance}../../secret.md HTTP/1.1\r\nHost: localhost"), "");
        assert!(!raw.contains(OUTSIDE), "{entrance}");
    }
    assert_eq!(place.outside(), before, "nothing outside has changed");
}

fn run(place: &Place, words: &[&str]) -> (bool, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kenning"));
    command.args(words).env("HOME", place.home()).current_dir(place.root());
    command.env_remove("XDG_CONFIG_HOME").env_remove("XDG_DATA_HOME");
    let output = command.output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&said).into_owned())
}

#[tokio::test]
async fn no_proposal_is_accepted_into_a_file_outside() {
    let place = Place::new();
    let before = place.outside();
    let server = HttpServer::with_home(&place.root(), &place.home());
    let http = reqwest::Client::new();
    let (mut offered, mut refused) = (0, 0);
    for hostile in place.hostile() {
        let is_file = hostile.contains(".md");
        let target = if is_file { hostile } else { format!("{hostile}/new.md") };
        let body = json!({"title": "x", "markdown": "text", "targetPath": target});
        let request = http.post(server.page("/api/v1/proposals")).body(body.to_string());
        let answer = request.header("Content-Type", "application/json").send().await.unwrap();
        if !answer.status().is_success() {
            refused += 1;
            continue;
        }
        offered += 1;
        let answer: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
        let id = answer["proposal"]["id"].as_str().unwrap().to_owned();
        let (_, said) = run(&place, &["--root", ".", "proposals", "accept", &id]);
        assert!(!said.contains(OUTSIDE), "{target:?}: {said}");
        assert_eq!(place.outside(), before, "{target:?}: {said}");
    }
    assert!(refused > 15 && offered > 0, "{refused} refused, {offered} offered");
}

#[test]
fn no_setting_of_a_project_leads_out() {
    let place = Place::new();
    let before = place.outside();
    let file = place.root().join("kenning.toml");
    for (key, words) in [
        ("knowledge_base.root_path", &["bases"][..]),
        ("bases.x.root_path", &["bases"]),
        ("index.storage_path", &["agents", "add", "x"]),
        ("index.model_path", &["status"]),
        ("catalog.path", &["capabilities"]),
    ] {
        for hostile in place.hostile() {
            if hostile.is_empty() || hostile.contains('\0') || hostile.len() > 1_000 {
                continue;
            }
            fs::write(&file, format!("{key} = {}\n", json!(hostile))).unwrap();
            let (_, said) = run(&place, words);
            assert!(!said.contains(OUTSIDE), "{key} = {hostile:?}: {said}");
            assert_eq!(place.outside(), before, "{key} = {hostile:?}: {said}");
        }
    }
    fs::write(&file, "[index]\nstorage_path = \"../not-there-yet\"\n").unwrap();
    let (done, said) = run(&place, &["agents", "add", "x"]);
    assert!(!done && said.contains("outside of the project"), "{said}");
    assert!(!Path::exists(&place.folder.path().join("not-there-yet")));
}
