//! Templates in the configs of a workspace.

use std::fs;
use std::path::PathBuf;

use kenning_compose::generate::PreviewRequest;
use kenning_compose::{Compose, Limits, Parts};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::SECRET;

const OUTPUT: usize = 20_000;

thread_local! {
    static WORKSPACE: Workspace = Workspace::new();
}

/// A template ends within its limits and reads nothing outside of the workspace.
pub(crate) fn template(source: &[u8]) {
    let source = String::from_utf8_lossy(source);
    WORKSPACE.with(|workspace| {
        let Some(text) = workspace.render(&source) else { return };
        assert!(text.len() <= OUTPUT, "{} bytes", text.len());
        assert!(!text.contains(SECRET), "{source}");
    });
}

struct Workspace {
    compose: Compose,
    config: PathBuf,
    _folder: TempDir,
}

impl Workspace {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let within = |name: &str| folder.path().join(name);
        let configs = within("workspace/.kenning/compose/content");
        fs::create_dir_all(&configs).unwrap();
        fs::write(within("secret.txt"), SECRET).unwrap();
        fs::write(within("workspace/part.j2"), "part {{ n }}{% include 'part.j2' %}").unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(within("secret.txt"), within("workspace/link.j2")).unwrap();
        // Small, so that reaching them is quick.
        let limits = Limits {
            max_content_size_bytes: 1_000_000,
            template_fuel: 20_000,
            template_output_bytes: OUTPUT,
            template_work_bytes: 1_000_000,
            ..Limits::default()
        };
        let parts = Parts { limits, ..Parts::new(within("workspace"), within("state")) };
        let compose = Compose::open(parts).unwrap();
        Self { compose, config: configs.join("fuzzed.json"), _folder: folder }
    }

    fn render(&self, source: &str) -> Option<String> {
        fs::write(&self.config, config(source).to_string()).unwrap();
        let context = json!({"n": 3, "s": "text", "list": [1, 2, 3], "map": {"a": {"b": [1]}}});
        let preview = self.compose.preview_generation(&PreviewRequest {
            content_config_id: "fuzzed".to_owned(),
            context: context.as_object().cloned(),
            show_metadata: false,
        });
        preview.ok().map(|preview| preview.shown.content)
    }
}

fn config(source: &str) -> Value {
    json!({
        "type": "content",
        "id": "fuzzed",
        "schemaRef": {"id": "content", "version": "1.0"},
        "metadata": {
            "description": "a fuzzed config",
            "version": "1.0.0",
            "generation_frequency": "manual",
            "output_format": "markdown",
        },
        "elements": [{"name": "body", "format": "markdown"}],
        "generation": {"patterns": [{"id": "main", "type": "jinja2", "template": source}]},
    })
}
