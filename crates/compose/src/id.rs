//! Checks of ids and paths: none of them leads out of its folder.

use crate::error::{Error, Result, shortened};

/// What an id looks like. No id has a dot, a slash or a backslash, so each is a safe file name.
pub const PATTERN: &str = "^[a-z][a-z0-9-]*$";
pub const MAX_ID: usize = 100;
/// What a version looks like.
pub const VERSION_PATTERN: &str = "^[0-9A-Za-z-]+$";
pub(crate) const MAX_PATH: usize = 1_000;
/// Folders in which a written file would become configuration of a program, or of Kenning.
const PROTECTED: [&str; 5] = [".git", ".hg", ".svn", ".jj", ".kenning"];

pub fn check_id(id: &str) -> Result<&str> {
    let first = id.starts_with(|c: char| c.is_ascii_lowercase());
    let rest = id.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    if first && rest && id.len() <= MAX_ID {
        return Ok(id);
    }
    Err(Error::InvalidId { id: id.to_owned() })
}

/// A version is a file name, like an id.
pub(crate) fn check_version(version: &str) -> Result<&str> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-';
    if !version.is_empty() && version.len() <= MAX_ID && version.chars().all(allowed) {
        return Ok(version);
    }
    Err(Error::invalid("version", format!("`{}` is not a version", shortened(version))))
}

/// Accepts a path of a file below a folder: relative, `/`-separated, without `.` and `..`.
pub(crate) fn check_path(path: &str) -> Result<&str> {
    match path_problem(path) {
        None => Ok(path),
        Some(reason) => Err(invalid_path(&path.escape_debug().to_string(), reason)),
    }
}

/// A path that may be written to.
pub(crate) fn check_output(path: &str) -> Result<&str> {
    let path = check_path(path)?;
    // Some file systems do not distinguish `.GIT` from `.git`.
    let is_protected = |part: &&str| PROTECTED.iter().any(|name| part.eq_ignore_ascii_case(name));
    match path.split('/').find(is_protected) {
        None => Ok(path),
        Some(folder) => Err(invalid_path(path, format!("nothing is written to `{folder}`"))),
    }
}

pub(crate) fn invalid_path(path: &str, reason: impl Into<String>) -> Error {
    Error::InvalidPath { path: path.to_owned(), reason: reason.into() }
}

fn path_problem(path: &str) -> Option<&'static str> {
    Some(match path {
        "" => "it is empty",
        _ if path.len() > MAX_PATH => "it is longer than 1,000 bytes",
        _ if path.starts_with('/') => "it is absolute",
        _ if path.contains(char::is_control) => "it contains a control character",
        _ if path.contains('\\') => "it contains a backslash; separate folders with `/`",
        _ if path.contains(':') => "it contains a colon",
        _ => path.split('/').find_map(|component| match component {
            "" => Some("it has an empty component"),
            "." => Some("it has a `.` component"),
            ".." => Some("it has a `..` component"),
            _ => None,
        })?,
    })
}
