//! A project's `kenning.toml`.
//!
//! The merging of settings is read in as it is: it belongs to the program, which depends on
//! everything, and fuzzing would have to build all of that.

#[path = "../../kenning/src/settings/layers.rs"]
#[expect(dead_code, unreachable_pub, reason = "the program uses all of it")]
mod layers;

use std::fs;
use std::path::{Component, Path, PathBuf};

use tempfile::TempDir;
use toml::{Table, Value};

use layers::{Layers, Origin, Sources};

/// Parts an input: the file, then variables.
const PARTING: u8 = 0;

thread_local! {
    static PLACE: (TempDir, PathBuf) = place();
}

/// A file is understood or refused, and no path of it leads out of the project.
pub fn settings(bytes: &[u8]) {
    PLACE.with(|(_, project)| check(bytes, project));
}

fn check(bytes: &[u8], project: &Path) {
    let mut parts = bytes.split(|&byte| byte == PARTING);
    let file = project.join("kenning.toml");
    fs::write(&file, parts.next().unwrap_or_default()).unwrap();
    let variables = parts.filter_map(|part| {
        let (name, value) = str::from_utf8(part).ok()?.split_once('=')?;
        Some((format!("KENNING_{name}"), value.to_owned()))
    });
    let sources = Sources {
        working_directory: project.to_owned(),
        project_file: Some(file),
        variables: variables.collect(),
        ..Sources::default()
    };
    let Ok(layers) = Layers::merge(sources) else { return };
    let _ = layers.single_base_wins();
    if layers.deserialize::<Table>().is_err() {
        return;
    }
    for (key, value, origin) in layers.entries() {
        let (Value::String(path), Origin::ProjectFile(_)) = (value, origin) else { continue };
        if let Ok(resolved) = layers.resolve_path(key, Path::new(path)) {
            let shown = resolved.display();
            assert!(really(&resolved).starts_with(project), "`{key}` leads to {shown}");
        }
    }
}

/// Where a path ends that need not exist, a step at a time, as the system walks it.
fn really(path: &Path) -> PathBuf {
    let mut at = PathBuf::new();
    for step in path.components() {
        match step {
            Component::ParentDir => {
                at.pop();
            }
            Component::CurDir => {}
            step => at.push(step),
        }
        at = at.canonicalize().unwrap_or(at);
    }
    at
}

fn place() -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    for name in ["project/docs", "outside"] {
        fs::create_dir_all(folder.path().join(name)).unwrap();
    }
    let project = folder.path().join("project").canonicalize().unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(folder.path().join("outside"), project.join("link")).unwrap();
    (folder, project)
}
