//! Folders of the user, by the XDG variables or their equivalents.

use std::path::PathBuf;

/// `$XDG_DATA_HOME/kenning` or its equivalent, for what Kenning stores.
pub(super) fn data_folder() -> Option<PathBuf> {
    let folder = absolute("XDG_DATA_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".local").join("share")))
        .or_else(|| absolute("LOCALAPPDATA"))?;
    Some(folder.join("kenning"))
}

/// `$XDG_CONFIG_HOME/kenning/kenning.toml` or its equivalent, for the user's settings.
pub(super) fn user_file() -> Option<PathBuf> {
    let folder = absolute("XDG_CONFIG_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".config")))
        .or_else(|| absolute("APPDATA"))?;
    Some(folder.join("kenning").join("kenning.toml"))
}

/// The path in a variable. The XDG specification says to ignore relative ones.
pub(super) fn absolute(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}
