//! Form fields, and protection of forms against other sites (CSRF).

use blake3::Hash;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// The field that proves that a form came from one of our pages.
pub(super) const TOKEN: &str = "form_token";
/// The cookie it belongs to.
pub(super) const COOKIE: &str = "kenning_form";

/// Known to this process only. A form carries the keyed hash of a cookie that only this site can
/// read: another site can neither read the one nor compute the other.
pub(crate) struct FormKey([u8; 32]);

impl FormKey {
    pub(crate) fn new() -> Result<Self, getrandom::Error> {
        let mut key = [0; 32];
        getrandom::fill(&mut key)?;
        Ok(Self(key))
    }

    pub(super) fn token(&self, cookie: &str) -> String {
        self.hash(cookie).to_hex().to_string()
    }

    /// Hashes are compared in constant time.
    pub(super) fn fits(&self, cookie: &str, token: &str) -> bool {
        Hash::from_hex(token).is_ok_and(|token| token == self.hash(cookie))
    }

    fn hash(&self, cookie: &str) -> Hash {
        blake3::keyed_hash(&self.0, cookie.as_bytes())
    }
}

/// A new value for the cookie.
pub(super) fn cookie() -> Result<String, getrandom::Error> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)?;
    Ok(hex::encode(bytes))
}

/// The fields of the path, the query and the form.
#[derive(Debug, Default)]
pub(super) struct Fields(Vec<(String, String)>);

impl Fields {
    pub(super) fn new(pairs: Vec<(String, String)>) -> Self {
        Self(pairs)
    }

    /// The trimmed value; `None` if it is blank.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.trim());
        found.filter(|value| !value.is_empty())
    }

    /// The trimmed value, or an empty one.
    pub(super) fn text(&self, name: &str) -> &str {
        self.get(name).unwrap_or_default()
    }

    pub(super) fn owned(&self, name: &str) -> Option<String> {
        self.get(name).map(str::to_owned)
    }

    /// The value as a number; `None` if it is not one.
    pub(super) fn number<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        self.get(name)?.parse().ok()
    }
}

const KEPT: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A URL with a query.
pub(super) fn link(path: &str, fields: &[(&str, &str)]) -> String {
    let pairs: Vec<String> =
        fields.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
    if pairs.is_empty() { path.to_owned() } else { format!("{path}?{}", pairs.join("&")) }
}

/// Percent-encodes a part of a URL.
pub(super) fn encoded(word: &str) -> String {
    utf8_percent_encode(word, &KEPT).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_token_fits_its_own_cookie_only() {
        let key = FormKey::new().expect("random bytes");
        let (one, other) = (cookie().expect("random bytes"), cookie().expect("random bytes"));
        assert!(key.fits(&one, &key.token(&one)));
        assert!(!key.fits(&other, &key.token(&one)));
        assert!(!key.fits(&one, ""));
        assert!(!FormKey::new().expect("random bytes").fits(&one, &key.token(&one)));
    }

    #[test]
    fn urls_encode_any_text() {
        assert_eq!(link("/node", &[("id", "a&b c/ü")]), "/node?id=a%26b%20c%2F%C3%BC");
        assert_eq!(link("/map", &[]), "/map");
    }
}
