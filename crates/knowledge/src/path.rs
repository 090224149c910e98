//! Paths that cannot leave a knowledge base.

use std::fmt;

use serde::Serialize;

/// A path below the root of a knowledge base: relative, `/`-separated, free of `.` and `..`.
///
/// Only [`RelPath::parse`] creates one, so code that holds one need not check it again.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct RelPath(String);

/// Why a string is not a path inside a knowledge base.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{path}` is not a path inside a knowledge base: {reason}")]
pub struct PathError {
    path: String,
    reason: &'static str,
}

impl RelPath {
    pub fn parse(raw: &str) -> Result<Self, PathError> {
        match invalid_reason(raw) {
            None => Ok(Self(raw.to_owned())),
            Some(reason) => Err(PathError { path: raw.escape_debug().to_string(), reason }),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The file name without its extension: `guides/SETUP.md` → `SETUP`.
    pub fn stem(&self) -> &str {
        let name = self.0.rsplit('/').next().unwrap_or(&self.0);
        match name.rfind('.') {
            Some(dot) if dot > 0 => &name[..dot],
            _ => name,
        }
    }

    /// The number of folders between the root and the file.
    pub fn depth(&self) -> usize {
        self.0.matches('/').count()
    }

    /// Folders and stem joined with dots: `guides/SETUP.md` → `guides.SETUP`.
    pub fn dotted(&self) -> String {
        match self.0.rfind('/') {
            Some(slash) => format!("{}.{}", self.0[..slash].replace('/', "."), self.stem()),
            None => self.stem().to_owned(),
        }
    }
}

impl fmt::Display for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn invalid_reason(raw: &str) -> Option<&'static str> {
    if raw.is_empty() {
        return Some("it is empty");
    }
    if raw.starts_with('/') {
        return Some("it is absolute");
    }
    if raw.contains(char::is_control) {
        return Some("it contains a control character");
    }
    if raw.contains('\\') {
        return Some("it contains a backslash; separate folders with `/`");
    }
    if raw.as_bytes().get(1) == Some(&b':') && raw.as_bytes()[0].is_ascii_alphabetic() {
        return Some("it names a drive");
    }
    raw.split('/').find_map(|component| match component {
        "" => Some("it has an empty component"),
        "." => Some("it has a `.` component"),
        ".." => Some("it has a `..` component"),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stem_comes_from_the_last_component() {
        let path = RelPath::parse("guides/v1.2/SETUP.md").unwrap();
        assert_eq!(path.stem(), "SETUP");
        assert_eq!(path.depth(), 2);
        assert_eq!(path.dotted(), "guides.v1.2.SETUP");
        assert_eq!(RelPath::parse(".hidden").unwrap().stem(), ".hidden");
    }

    #[test]
    fn hostile_paths_are_rejected_with_the_reason() {
        for (raw, reason) in [
            ("", "empty"),
            ("/etc/passwd", "absolute"),
            ("../secret.md", "`..`"),
            ("a/../../b.md", "`..`"),
            ("a//b.md", "empty component"),
            ("./a.md", "`.`"),
            ("a\\..\\b.md", "backslash"),
            ("C:/windows", "drive"),
            ("a\0.md", "control"),
        ] {
            let error = RelPath::parse(raw).expect_err(raw).to_string();
            assert!(error.contains(reason), "{raw:?}: {error}");
        }
    }
}
