//! Bearer tokens: an id to look up and a secret to compare.
//!
//! A token reads `kng_ID_SECRET`. Only the hash of the secret is stored, so that read access to the
//! store gives no token. The secret has 256 random bits, so a plain hash without salt is enough.

use std::fmt;
use std::str::FromStr;

use blake3::Hash;
use serde::Serialize;

const PREFIX: &str = "kng";
const ID_BYTES: usize = 6;
const SECRET_BYTES: usize = 32;

/// What a token's bearer may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Send events of a project, and nothing else.
    Ingest,
    Read,
    /// Read and write.
    Write,
}

impl Scope {
    pub const ALL: [Self; 3] = [Self::Ingest, Self::Read, Self::Write];

    pub fn name(self) -> &'static str {
        match self {
            Self::Ingest => "ingest",
            Self::Read => "read",
            Self::Write => "write",
        }
    }

    pub(crate) fn allows(self, wanted: Self) -> bool {
        match wanted {
            Self::Ingest => self == Self::Ingest || self == Self::Write,
            Self::Read | Self::Write => self >= wanted,
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not a scope; scopes are `read`, `write` and `ingest`")]
pub struct UnknownScope(String);

impl FromStr for Scope {
    type Err = UnknownScope;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|scope| scope.name() == name);
        found.ok_or_else(|| UnknownScope(name.to_owned()))
    }
}

/// A new token. It is printed once.
pub struct Minted {
    pub id: String,
    /// The text to give to the bearer.
    pub token: String,
    /// The hash to store.
    pub hash: String,
}

pub fn mint() -> Result<Minted, getrandom::Error> {
    let (mut id, mut secret) = ([0; ID_BYTES], [0; SECRET_BYTES]);
    getrandom::fill(&mut id)?;
    getrandom::fill(&mut secret)?;
    let (id, secret) = (hex::encode(id), hex::encode(secret));
    let token = format!("{PREFIX}_{id}_{secret}");
    Ok(Minted { id, token, hash: blake3::hash(secret.as_bytes()).to_hex().to_string() })
}

/// A token that was presented.
#[derive(Clone, Copy)]
pub struct Presented<'a> {
    pub id: &'a str,
    secret: &'a str,
}

impl<'a> Presented<'a> {
    pub fn read(token: &'a str) -> Option<Self> {
        let (prefix, rest) = token.trim().split_once('_')?;
        let (id, secret) = rest.split_once('_')?;
        let hexadecimal = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let fits = prefix == PREFIX && id.len() == 2 * ID_BYTES && secret.len() == 2 * SECRET_BYTES;
        (fits && hexadecimal(id) && hexadecimal(secret)).then_some(Self { id, secret })
    }

    /// Whether its secret has the stored hash. `blake3` compares hashes in constant time.
    pub fn matches(self, stored: &str) -> bool {
        Hash::from_hex(stored).is_ok_and(|stored| stored == blake3::hash(self.secret.as_bytes()))
    }
}

impl fmt::Debug for Minted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Minted").field("id", &self.id).finish_non_exhaustive()
    }
}

impl fmt::Debug for Presented<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Presented").field("id", &self.id).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_matches_its_own_hash_only() {
        let (one, other) = (mint().expect("random bytes"), mint().expect("random bytes"));
        let presented = Presented::read(&one.token).expect("a token");
        assert_eq!(presented.id, one.id);
        assert!(presented.matches(&one.hash));
        assert!(!presented.matches(&other.hash));
        assert!(!presented.matches("not a hash"));
        assert!(!one.hash.contains(&one.token[17..]), "the secret itself is not stored");
    }

    #[test]
    fn malformed_tokens_are_rejected() {
        let token = mint().expect("random bytes").token;
        for text in ["", "kng", "kng_", "kng_a_b", &token[1..], &token[..80], &format!("{token}0")]
        {
            assert!(Presented::read(text).is_none(), "{text}");
        }
    }

    #[test]
    fn scopes_allow_what_they_name() {
        let allowed = |scope: Scope| Scope::ALL.map(|wanted| scope.allows(wanted));
        assert_eq!(allowed(Scope::Ingest), [true, false, false]);
        assert_eq!(allowed(Scope::Read), [false, true, false]);
        assert_eq!(allowed(Scope::Write), [true, true, true]);
    }
}
