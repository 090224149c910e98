//! Where coding agents look for skills.

use std::path::{Path, PathBuf};

/// Relative to a project's folder.
pub const PROJECT: [&str; 13] = [
    ".claude/skills",
    ".agents/skills",
    ".github/skills",
    ".codex/skills",
    ".cursor/skills",
    ".gemini/skills",
    ".opencode/skills",
    ".opencode/skill",
    ".windsurf/skills",
    ".roo/skills",
    ".kiro/skills",
    ".goose/skills",
    ".junie/skills",
];

/// Relative to the home directory.
pub const HOME: [&str; 13] = [
    ".claude/skills",
    ".agents/skills",
    ".config/agents/skills",
    ".copilot/skills",
    ".codex/skills",
    ".cursor/skills",
    ".gemini/skills",
    ".config/opencode/skills",
    ".config/opencode/skill",
    ".codeium/windsurf/skills",
    ".roo/skills",
    ".kiro/skills",
    ".config/goose/skills",
];

/// The usual places that exist, those of the project before those of the user.
pub fn usual(project: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let in_project = PROJECT.iter().map(|place| project.join(place));
    let in_home = home.into_iter().flat_map(|home| HOME.iter().map(|place| home.join(place)));
    let mut found: Vec<PathBuf> = Vec::new();
    for place in in_project.chain(in_home).filter(|place| place.is_dir()) {
        if !found.contains(&place) {
            found.push(place);
        }
    }
    found
}
