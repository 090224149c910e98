//! The handshake before the first line of MCP: one line of JSON from each side.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::time::Duration;

use kenning_app::Toolset;
use kenning_knowledge::semantic::ModelSource;
use kenning_settings::{Layers, Settings};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::super::toolsets::Selection;
use super::socket::SocketPath;
use crate::commands::{data_folder, user_file};
use crate::failure::Failure;

const PROTOCOL: u32 = 1;
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// How long either side waits for the other.
pub(super) const TIMEOUT: Duration = Duration::from_secs(10);
/// Bytes of a handshake line.
const MAX_LINE: u64 = 64 * 1024;
/// The part of the settings that only clients with the compose toolset depend on.
const COMPOSE: &str = "compose";
/// Settings that need not agree, or that are compared by what they resolve to.
const NOT_AS_WRITTEN: [&str; 9] = [
    "server.",
    "gaps.intent",
    "knowledge_base.",
    "bases.",
    "index.background",
    "index.storage_path",
    "index.model_path",
    "catalog.path",
    "store.url",
];

/// The client's line.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Hello {
    kenning: u32,
    version: String,
    /// A hash of each part of the settings that answers depend on.
    settings: BTreeMap<String, String>,
    toolsets: Vec<String>,
    read_only: bool,
    intent: bool,
}

/// The host's line.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Reply {
    /// From here on, both sides speak MCP.
    Accepted { pid: u32, clients: usize, problem: Option<String> },
    /// With the reason.
    Refused(String),
}

/// What a server depends on, and the socket where a host of it is found.
#[derive(Debug)]
pub(super) struct Identity {
    pub(super) socket: SocketPath,
    pub(super) selection: Selection,
    settings: BTreeMap<String, String>,
}

impl Identity {
    /// `None` for a user without a home folder. With `watch`, changes to files are followed.
    pub(super) fn of(
        settings: &Settings,
        layers: &Layers,
        watch: bool,
    ) -> Result<Option<Self>, Failure> {
        let mut roots = Vec::new();
        for base in settings.open_bases(layers)? {
            roots.push(base.name().to_owned());
            roots.push(real(base.root()));
        }
        let Some(socket) = SocketPath::of(&digest(&roots)[..16]) else { return Ok(None) };
        let selection = Selection::of(settings, layers)?;
        let settings = parts(settings, layers, roots, watch)?;
        let settings = settings.into_iter().map(|(part, texts)| (part, digest(&texts)));
        Ok(Some(Self { socket, selection, settings: settings.collect() }))
    }

    pub(super) fn hello(&self) -> Hello {
        Hello {
            kenning: PROTOCOL,
            version: VERSION.to_owned(),
            settings: self.settings.clone(),
            toolsets: self.selection.toolsets.iter().map(ToString::to_string).collect(),
            read_only: self.selection.read_only,
            intent: self.selection.intent,
        }
    }

    /// What the client wants to be offered, if this host answers as its own server would.
    pub(super) fn admit(&self, hello: &Hello) -> Result<Selection, String> {
        if (hello.kenning, hello.version.as_str()) != (PROTOCOL, VERSION) {
            return Err(format!("it is Kenning {VERSION}, not {}", hello.version));
        }
        let toolsets = Toolset::parse_list(&hello.toolsets).map_err(|error| error.to_string())?;
        let toolsets = toolsets.into_iter().collect();
        let selection = Selection { toolsets, read_only: hello.read_only, intent: hello.intent };
        let missing =
            selection.toolsets.difference(&self.selection.toolsets).map(ToString::to_string);
        let missing: Vec<String> = missing.collect();
        if !missing.is_empty() {
            return Err(format!("it does not offer the toolset {}", missing.join(", ")));
        }
        if self.selection.read_only && !selection.read_only {
            return Err("it is read-only".to_owned());
        }
        let composes = selection.toolsets.contains(&Toolset::Compose);
        let counts = |part: &&String| composes || part.as_str() != COMPOSE;
        let parts = self.settings.keys().chain(hello.settings.keys()).filter(counts);
        let differs = |part: &&String| self.settings.get(*part) != hello.settings.get(*part);
        let mut other: Vec<&str> = parts.filter(differs).map(String::as_str).collect();
        other.sort_unstable();
        other.dedup();
        if other.is_empty() {
            Ok(selection)
        } else {
            Err(format!("its settings differ in {}", other.join(", ")))
        }
    }
}

/// Everything that answers depend on, by the part of the settings that the refusal names. A setting
/// that is not handled here is compared as it is written, which is the safe default.
fn parts(
    settings: &Settings,
    layers: &Layers,
    roots: Vec<String>,
    watch: bool,
) -> Result<BTreeMap<String, Vec<String>>, Failure> {
    let mut parts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (key, value, _) in layers.entries() {
        if NOT_AS_WRITTEN.iter().any(|prefix| key.starts_with(prefix)) {
            continue;
        }
        let part = key.split('.').next().unwrap_or(key).to_owned();
        parts.entry(part).or_default().push(format!("{key} = {value}"));
    }
    let mut add = |part: &str, text: String| parts.entry(part.to_owned()).or_default().push(text);
    for text in roots {
        add("bases", text);
    }
    let patterns = &settings.knowledge_base;
    add("bases", format!("{:?} {:?}", patterns.file_patterns, patterns.exclude_patterns));
    for base in settings.bases.values() {
        add("bases", format!("{:?} {:?}", base.file_patterns, base.exclude_patterns));
    }
    add("watch", watch.to_string());
    let model = match settings.model(layers)? {
        ModelSource::Bundled => String::new(),
        ModelSource::Folder(folder) => real(&folder),
    };
    add("index", model);
    let catalog = settings.catalog_folder(layers)?;
    add("catalog", catalog.map(|folder| real(&folder)).unwrap_or_default());
    let folder = settings.storage_folder(layers)?.or_else(data_folder);
    let folder = folder.map(|folder| real(&folder)).unwrap_or_default();
    // The URL names the store, whatever the rest of the settings.
    for (_, url, _) in layers.entries().filter(|(key, _, _)| *key == "store.url") {
        add("store", url.to_string());
    }
    add("store", folder.clone());
    add(COMPOSE, real(layers.project_folder()));
    add(COMPOSE, folder);
    add(COMPOSE, user_file().map(|file| real(&file)).unwrap_or_default());
    Ok(parts)
}

/// A path without links, so that all names of a folder are equal.
fn real(path: &Path) -> String {
    let real = path.canonicalize();
    real.as_deref().unwrap_or(path).to_string_lossy().into_owned()
}

fn digest(texts: &[String]) -> String {
    let mut hasher = blake3::Hasher::new();
    for text in texts {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    }
    hasher.finalize().to_hex()[..32].to_owned()
}

pub(super) async fn write(
    writer: &mut (impl AsyncWrite + Unpin),
    message: &impl Serialize,
) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    writer.write_all(&line).await?;
    writer.flush().await
}

/// Reads one line, and not a byte of what follows it.
pub(super) async fn read<T: DeserializeOwned>(
    reader: &mut (impl AsyncBufRead + Unpin),
) -> io::Result<T> {
    let mut line = Vec::new();
    reader.take(MAX_LINE).read_until(b'\n', &mut line).await?;
    if line.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(serde_json::from_slice(&line)?)
}
