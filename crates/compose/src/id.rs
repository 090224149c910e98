//! Ids and paths that cannot lead anywhere else.

use crate::error::Error;

/// What an id looks like. No id has a dot, a slash or a backslash, so each is a safe file name.
pub const PATTERN: &str = "^[a-z][a-z0-9-]*$";
const MAX_ID: usize = 100;
/// Folders in which a written file would be a program's configuration, or ours.
const CLOSED: [&str; 5] = [".git", ".hg", ".svn", ".jj", ".kenning"];

pub fn check_id(id: &str) -> Result<&str, Error> {
    let first = id.starts_with(|c: char| c.is_ascii_lowercase());
    let rest = id.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    if first && rest && id.len() <= MAX_ID {
        return Ok(id);
    }
    Err(Error::InvalidId { id: id.to_owned() })
}

/// A version is a file name, too.
pub(crate) fn check_version(version: &str) -> Result<&str, Error> {
    let sound = |c: char| c.is_ascii_alphanumeric() || c == '-';
    if !version.is_empty() && version.len() <= MAX_ID && version.chars().all(sound) {
        return Ok(version);
    }
    Err(Error::invalid(
        "version",
        format!("`{}` is not a version", crate::error::shortened(version)),
    ))
}

/// A path of a file below a folder: relative, `/`-separated, free of `.` and `..`.
pub(crate) fn check_path(path: &str) -> Result<&str, Error> {
    match fault(path) {
        None => Ok(path),
        Some(reason) => Err(Error::InvalidPath {
            path: path.escape_debug().to_string(),
            reason: reason.to_owned(),
        }),
    }
}

/// A path that may be written to.
pub(crate) fn check_output(path: &str) -> Result<&str, Error> {
    let path = check_path(path)?;
    // Some file systems do not tell `.GIT` from `.git`.
    let closed = path.split('/').find(|part| CLOSED.iter().any(|c| part.eq_ignore_ascii_case(c)));
    match closed {
        None => Ok(path),
        Some(folder) => Err(Error::InvalidPath {
            path: path.to_owned(),
            reason: format!("nothing is written to `{folder}`"),
        }),
    }
}

fn fault(path: &str) -> Option<&'static str> {
    if path.is_empty() {
        return Some("it is empty");
    }
    if path.len() > 1_000 {
        return Some("it is longer than 1,000 bytes");
    }
    if path.starts_with('/') {
        return Some("it is absolute");
    }
    if path.contains(char::is_control) {
        return Some("it contains a control character");
    }
    if path.contains('\\') {
        return Some("it contains a backslash; separate folders with `/`");
    }
    if path.contains(':') {
        return Some("it contains a colon");
    }
    path.split('/').find_map(|component| match component {
        "" => Some("it has an empty component"),
        "." => Some("it has a `.` component"),
        ".." => Some("it has a `..` component"),
        _ => None,
    })
}
