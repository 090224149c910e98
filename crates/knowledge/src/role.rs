//! What kind of text a section is. Not everything that is written down guides a task: release notes,
//! licences and fixtures match many tasks by their words and help with none.
//!
//! Recognised by path and shape. A wrong guess hides guidance, so a text is guidance unless its path
//! and its shape agree, or one of them leaves no doubt. `[roles]` in the settings overrides this.

mod path;
mod question;
mod shape;

use serde::Serialize;

use crate::document::Section;
use crate::path::RelPath;

pub use question::is_about_releases;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Everything that is none of the others.
    #[default]
    Guidance,
    /// Changelogs and release notes; a guide for an upgrade is guidance.
    Changelog,
    Licence,
    /// Codes of conduct.
    Conduct,
    /// Templates of issues and pull requests.
    Template,
    /// Lists of links or symbols with hardly any prose.
    Index,
    /// Fixtures, snapshots and other data of tests.
    Fixture,
}

impl Role {
    /// Guidance comes first, so that a setting can exempt a file from all other roles.
    pub const ALL: [Self; 7] = [
        Self::Guidance,
        Self::Changelog,
        Self::Licence,
        Self::Conduct,
        Self::Template,
        Self::Index,
        Self::Fixture,
    ];

    /// The name in settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Guidance => "guidance",
            Self::Changelog => "changelog",
            Self::Licence => "licence",
            Self::Conduct => "conduct",
            Self::Template => "template",
            Self::Index => "index",
            Self::Fixture => "fixture",
        }
    }

    /// What to call it in the reason for a score.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Guidance => "guidance",
            Self::Changelog => "release notes",
            Self::Licence => "licence",
            Self::Conduct => "code of conduct",
            Self::Template => "issue or pull request template",
            Self::Index => "list of links",
            Self::Fixture => "test fixture",
        }
    }
}

/// Sets the role of every section. Parents come before their children.
pub(crate) fn assign(path: &RelPath, text: &str, sections: &mut [Section]) {
    let whole = path::role(path.as_str(), sections, text);
    let releases = if whole.is_none() { shape::releases(path, sections) } else { Vec::new() };
    for i in 0..sections.len() {
        let inherited = sections[i].parent.map(|parent| sections[parent].role);
        let inherited = inherited.filter(|role| !matches!(role, Role::Guidance | Role::Index));
        let body = &text[sections[i].body.clone()];
        sections[i].role = whole
            .or(inherited)
            .or_else(|| releases.contains(&i).then_some(Role::Changelog))
            .or_else(|| shape::role(&sections[i], body))
            .unwrap_or_default();
    }
}

#[cfg(test)]
mod tests;
