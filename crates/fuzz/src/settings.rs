//! A project's `kenning.toml`.

use std::fs;
use std::path::{Component, Path, PathBuf};

use kenning_settings::{Layers, Origin, Settings, Sources};
use tempfile::TempDir;
use toml::Value;

use crate::SEPARATOR;

thread_local! {
    static PROJECT: (TempDir, PathBuf) = create_project();
}

/// A file, followed by variables, is accepted or rejected without a panic, and no path in the file
/// leads out of the project.
pub(crate) fn settings(bytes: &[u8]) {
    PROJECT.with(|(_, project)| check(bytes, project));
}

fn check(bytes: &[u8], project: &Path) {
    let mut parts = bytes.split(|&byte| byte == SEPARATOR);
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
    let _ = Settings::from_layers(&layers);
    for (key, value, origin) in layers.entries() {
        let (Value::String(path), Origin::ProjectFile(_)) = (value, origin) else { continue };
        if let Ok(resolved) = layers.resolve_path(key, Path::new(path)) {
            let shown = resolved.display();
            assert!(real_path(&resolved).starts_with(project), "`{key}` leads to {shown}");
        }
    }
}

/// Where a path leads that need not exist. Written independently of the code under test, which
/// must not be its own judge.
fn real_path(path: &Path) -> PathBuf {
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

fn create_project() -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    for name in ["project/docs", "outside"] {
        fs::create_dir_all(folder.path().join(name)).unwrap();
    }
    let project = folder.path().join("project").canonicalize().unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(folder.path().join("outside"), project.join("link")).unwrap();
    (folder, project)
}
