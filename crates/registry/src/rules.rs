//! Limits and checks on what may be registered.

use std::cmp::Ordering;
use std::collections::HashSet;

use semver::Version;

use crate::error::Error;
use crate::model::Metadata;
use crate::register::CapabilityInput;

/// The longest name of an agent or a skill, in characters.
pub const MAX_NAME: usize = 255;
/// The pattern of a name in the published schemas: no control characters, and not only white space.
pub(crate) const NAME_PATTERN: &str =
    r"^[^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f][^\x00-\x1f\x7f-\x9f]*$";
/// The pattern of a version in the published schemas.
pub(crate) const VERSION_PATTERN: &str = concat!(
    r"^(0|[1-9]\d{0,17})\.(0|[1-9]\d{0,17})\.(0|[1-9]\d{0,17})",
    r"(-(0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)(\.(0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*))*)?",
    r"(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$"
);
/// The longest version, in characters.
pub const MAX_VERSION: usize = 255;
/// How many capabilities one call may register.
pub const MAX_CAPABILITIES: usize = 10_000;
/// How much metadata one capability may have, in bytes of JSON.
pub const MAX_METADATA: usize = 64 * 1024;
/// The largest id. Clients whose numbers are floats cannot represent all larger ones.
pub const MAX_ID: i64 = (1 << 53) - 1;
/// How much of an invalid value an error repeats, in characters.
const REPEATED: usize = 80;

pub fn check_agent_id(id: i64) -> Result<i64, Error> {
    if (1..=MAX_ID).contains(&id) {
        return Ok(id);
    }
    Err(Error::invalid("agent_id", format!("{id} is not an id; ids are 1 to {MAX_ID}")))
}

pub fn check_name<'a>(argument: &str, name: &'a str) -> Result<&'a str, Error> {
    let problem = if name.trim().is_empty() {
        "is empty".to_owned()
    } else if name.chars().count() > MAX_NAME {
        format!("is longer than {MAX_NAME} characters")
    } else if name.chars().any(char::is_control) {
        "has control characters".to_owned()
    } else {
        return Ok(name);
    };
    Err(Error::invalid(argument, problem))
}

pub fn check_version(text: &str) -> Result<&str, Error> {
    if text.len() <= MAX_VERSION && Version::parse(text).is_ok() {
        return Ok(text);
    }
    let expected = completed_version(text).unwrap_or_else(|| "MAJOR.MINOR.PATCH".to_owned());
    Err(Error::InvalidSemver { provided: text.to_owned(), expected })
}

pub(crate) fn check_capabilities(capabilities: &[CapabilityInput]) -> Result<(), Error> {
    if !(1..=MAX_CAPABILITIES).contains(&capabilities.len()) {
        let problem =
            format!("has {} entries; it can have 1 to {MAX_CAPABILITIES}", capabilities.len());
        return Err(Error::invalid("capabilities", problem));
    }
    let mut names = HashSet::with_capacity(capabilities.len());
    for (index, capability) in capabilities.iter().enumerate() {
        let argument = format!("capabilities[{index}].skill_name");
        check_name(&argument, &capability.skill_name)?;
        check_version(&capability.version)?;
        if let Some(metadata) = &capability.metadata {
            check_metadata(&format!("capabilities[{index}].metadata"), metadata)?;
        }
        if !names.insert(capability.skill_name.as_str()) {
            return Err(Error::invalid(argument, "is named twice in one call"));
        }
    }
    Ok(())
}

pub fn check_metadata(argument: &str, metadata: &Metadata) -> Result<(), Error> {
    let size = serde_json::to_string(metadata).map_or(usize::MAX, |text| text.len());
    if size <= MAX_METADATA {
        return Ok(());
    }
    let problem = format!("is {size} bytes of JSON; it can be up to {MAX_METADATA}");
    Err(Error::invalid(argument, problem))
}

/// The full version that was probably meant: `v1.2` is `1.2.0`.
pub(crate) fn completed_version(text: &str) -> Option<String> {
    if text.len() > MAX_VERSION {
        return None;
    }
    let text = text.trim().trim_start_matches(['v', 'V']);
    let end = text.find(['-', '+']).unwrap_or(text.len());
    let (core, rest) = text.split_at(end);
    let mut numbers: Vec<u64> =
        core.split('.').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    if numbers.len() > 3 {
        return None;
    }
    numbers.resize(3, 0);
    let version = format!("{}.{}.{}{rest}", numbers[0], numbers[1], numbers[2]);
    Version::parse(&version).is_ok().then_some(version)
}

/// Orders the newest version first and invalid versions last.
pub(crate) fn newest_first(a: &str, b: &str) -> Ordering {
    Version::parse(b).ok().cmp(&Version::parse(a).ok())
}

/// The start of a value, so that an error does not repeat megabytes.
pub(crate) fn shortened(text: &str) -> String {
    match text.char_indices().nth(REPEATED) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_full_semver() {
        for good in ["1.2.0", "0.0.0", "1.0.0-alpha.1", "1.0.0-rc.1+build.5", "10.20.30"] {
            assert!(check_version(good).is_ok(), "{good}");
        }
        for bad in ["", "1", "1.2", "v1.2.0", "1.2.3.4", "01.2.3", "1.2.x", "1.2.3-", "-1.0.0"] {
            assert!(check_version(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn completes_short_versions() {
        let cases = [
            ("1.2", Some("1.2.0")),
            ("v1.2.3", Some("1.2.3")),
            ("2", Some("2.0.0")),
            ("1.2-beta", Some("1.2.0-beta")),
            ("01.2", Some("1.2.0")),
            ("latest", None),
            ("", None),
            ("1.2.3.4", None),
        ];
        for (given, expected) in cases {
            assert_eq!(completed_version(given).as_deref(), expected, "{given}");
        }
    }

    #[test]
    fn orders_versions_by_semver() {
        let mut versions =
            ["9.0.0", "10.0.0", "?", "1.0.0", "1.0.0-rc.1", "1.0.0-rc.11", "1.0.0-rc.2"];
        versions.sort_by(|a, b| newest_first(a, b));
        assert_eq!(
            versions,
            ["10.0.0", "9.0.0", "1.0.0", "1.0.0-rc.11", "1.0.0-rc.2", "1.0.0-rc.1", "?"]
        );
    }

    #[test]
    fn errors_shorten_long_values() {
        let error = check_version(&"9".repeat(10_000_000)).unwrap_err();
        assert!(error.body().message.len() < 300);
        assert!(error.details().to_string().len() < 300);
    }
}
