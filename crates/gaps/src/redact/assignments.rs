//! Values behind the names of secrets in text: `DB_PASSWORD=…`, `X-Api-Key: …`, `?access_token=…`,
//! and JSON inside of strings, whose quotes are escaped.

mod value;

use std::ops::Range;

use self::value::{Form, Value};
use super::literals::is_word_start;
use super::names::{Kind, classify};
use super::values::{
    is_keyword, is_placeholder, is_random, is_redacted, is_reference, is_type, is_wordy,
};
use super::{FIELD, Find, KEY};

/// After all shapes: a known key keeps its own marker.
const RANK: usize = 1_000;
/// The longest part of a name on either side of its stem.
const NAME_CAP: usize = 64;
/// The most spaces between a name and its value.
const SPACE_CAP: usize = 16;
/// A value is judged by this much of it, so that many names before one long value take linear time.
const JUDGED: usize = 128;

const SCHEMES: [&str; 14] = [
    "apikey",
    "aws4-hmac-sha256",
    "basic",
    "bearer",
    "bot",
    "digest",
    "dpop",
    "hawk",
    "key",
    "negotiate",
    "ntlm",
    "oauth",
    "signature",
    "token",
];

/// What stands between a name and a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Link {
    /// `=` without spaces, as in environments, URLs and connection strings; quoted names as in JSON.
    Tight,
    /// `: ` and ` = `, as in YAML, headers, code and prose; `:` without a space.
    Loose,
    /// A space after `--name`.
    Flag,
    /// Prose: `the token is …`.
    Prose,
    /// `<name>`.
    Tag,
}

/// Looks at the names in a text from its beginning to its end.
pub(super) struct Assignments<'t> {
    text: &'t str,
    /// Up to here names and values have been looked at.
    done: usize,
}

/// A name, and what was found around it.
struct Name<'t> {
    text: &'t str,
    place: Range<usize>,
    kind: Kind,
    /// The byte before it.
    before: u8,
    quoted: bool,
    link: Link,
}

impl<'t> Assignments<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, done: 0 }
    }

    /// The secret behind the name that has a stem at this place.
    pub(super) fn at(&mut self, stem: Range<usize>) -> Option<Find> {
        if stem.start < self.done {
            return None;
        }
        let place = self.name_around(&stem)?;
        self.done = place.end;
        let kind = self.kind(&place)?;
        let (name, start) = self.link(place, kind)?;
        let shown = self.text.floor_char_boundary(start + JUDGED);
        let value = Value::read(&self.text[..shown], start, &name)?;
        let mut find = name.judge(&value)?;
        find.place.end = Value::read(self.text, start, &name)?.place.end;
        self.done = find.place.end;
        Some(find)
    }

    /// The name around a stem. `None` if it is longer than any name is.
    fn name_around(&self, stem: &Range<usize>) -> Option<Range<usize>> {
        let bytes = self.text.as_bytes();
        let in_name = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_-.".contains(byte);
        let (before, after) = (&bytes[self.done..stem.start], &bytes[stem.end..]);
        let left = before.iter().rev().take(NAME_CAP).take_while(in_name).count();
        let right = after.iter().take(NAME_CAP).take_while(in_name).count();
        let (mut start, mut end) = (stem.start - left, stem.end + right);
        if left == NAME_CAP || right == NAME_CAP {
            return None;
        }
        // The letter of `\n` is none of the name's.
        if start > 0 && bytes[start - 1] == b'\\' && b"nrt".contains(&bytes[start]) {
            start += 1;
        }
        while start < stem.start && !bytes[start].is_ascii_alphanumeric() {
            start += 1;
        }
        while end > stem.end && b"-.".contains(&bytes[end - 1]) {
            end -= 1;
        }
        Some(start.min(stem.start)..end)
    }

    fn kind(&self, place: &Range<usize>) -> Option<Kind> {
        let name = &self.text[place.clone()];
        let query = self.before(place.start) == b'?' || self.before(place.start) == b'&';
        if ["sig", "signature", "Signature"].contains(&name) {
            return query.then_some(Kind::Suspect);
        }
        classify(name).or_else(|| classify(self.with_word_before(place)))
    }

    /// `API key` and `private key` are names of two words.
    fn with_word_before(&self, place: &Range<usize>) -> &'t str {
        let bytes = self.text.as_bytes();
        let name = &self.text[place.clone()];
        if !["key", "keys", "code", "phrase"].contains(&name.to_ascii_lowercase().as_str()) {
            return "";
        }
        let Some(space) = place.start.checked_sub(1).filter(|&at| bytes[at] == b' ') else {
            return "";
        };
        let letters = bytes[..space].iter().rev().take(NAME_CAP);
        let word = letters.take_while(|byte| byte.is_ascii_alphabetic()).count();
        &self.text[space - word..place.end]
    }

    fn before(&self, at: usize) -> u8 {
        at.checked_sub(1).map_or(0, |before| self.text.as_bytes()[before])
    }

    /// What leads from a name to its value, and where that begins.
    fn link(&self, place: Range<usize>, kind: Kind) -> Option<(Name<'t>, usize)> {
        let bytes = self.text.as_bytes();
        let mut at = place.end;
        let quote = value::quote(bytes, at);
        let quoted = quote.is_some() && matches!(self.before(place.start), b'"' | b'\'');
        at = quote.map_or(at, |quote| quote.end);
        if bytes.get(at) == Some(&b']') {
            at += 1;
        }
        let spaced = spaces(bytes, at);
        let after = &bytes[at + spaced..];
        let (sign, loose) = sign(after);
        let value = at + spaced + sign;
        let gap = spaces(bytes, value);
        let link = match (sign, after.first()) {
            (0, Some(b'>')) if self.before(place.start) == b'<' => {
                return Some((self.name(place, kind, quoted, Link::Tag), value + 1));
            }
            (0, _) if spaced == 0 || quoted => return None,
            (0, _) if self.text[..place.start].ends_with("--") => Link::Flag,
            (0, _) => {
                let is = ["is ", "was "].iter().find(|is| after.starts_with(is.as_bytes()));
                let start = value + is.map_or(0, |is| is.len());
                return Some((self.name(place, kind, quoted, Link::Prose), start));
            }
            (_, Some(b'=')) if after.starts_with(b"==") => Link::Prose,
            _ if quoted => Link::Tight,
            _ if loose || spaced + gap > 0 => Link::Loose,
            _ => Link::Tight,
        };
        Some((self.name(place, kind, quoted, link), value + gap))
    }

    fn name(&self, place: Range<usize>, kind: Kind, quoted: bool, link: Link) -> Name<'t> {
        let before = self.before(place.start);
        Name { text: self.text, place, kind, before, quoted, link }
    }
}

fn spaces(bytes: &[u8], at: usize) -> usize {
    bytes[at..].iter().take(SPACE_CAP).take_while(|byte| b" \t".contains(byte)).count()
}

/// The length of a sign that assigns or compares, and whether it is a colon.
fn sign(after: &[u8]) -> (usize, bool) {
    match after {
        [b'=', b'=', b'=', ..] | [b'%', b'3', b'D' | b'd', ..] => (3, false),
        [b'=', b'=' | b'>', ..] | [b':' | b'?' | b'+', b'=', ..] => (2, false),
        [b'%', b'3', b'A' | b'a', ..] => (3, true),
        [b'=', ..] => (1, false),
        [b':', b':', ..] => (0, false),
        [b':', ..] => (1, true),
        _ => (0, false),
    }
}

impl Name<'_> {
    fn as_str(&self) -> &str {
        &self.text[self.place.clone()]
    }

    fn judge(&self, value: &Value<'_>) -> Option<Find> {
        let field = |place| Find { place, rank: RANK, marker: FIELD };
        let shown = value.text;
        if is_redacted(shown) || value.form != Form::Group && is_placeholder(shown) {
            return None;
        }
        if self.kind == Kind::Authorization
            && let Some(credentials) = credentials(value)
        {
            return Some(Find { place: credentials, rank: RANK, marker: KEY });
        }
        self.is_secret(value, shown).then(|| field(value.place.clone()))
    }

    fn is_secret(&self, value: &Value<'_>, shown: &str) -> bool {
        match value.form {
            Form::Group => return self.kind != Kind::Suspect,
            Form::Line => return self.kind == Kind::Cookie,
            Form::Word | Form::Quoted => {}
        }
        if self.kind == Kind::Suspect || self.link == Link::Prose {
            return is_random(shown) && is_word_start(self.text.as_bytes(), self.place.start);
        }
        if is_keyword(shown) {
            return false;
        }
        if value.form == Form::Quoted {
            self.is_secret_text(shown)
        } else {
            self.is_secret_word(value, shown)
        }
    }

    /// In quotes anything can be a secret. Code and prose quote words, too.
    fn is_secret_text(&self, text: &str) -> bool {
        let prose = text.contains(char::is_whitespace);
        let short = text.len() < 16 && self.kind != Kind::Password && is_wordy(text);
        match self.link {
            _ if self.quoted => true,
            _ if is_reference(text, self.as_str()) => false,
            Link::Tight => !prose,
            _ => !prose && !short,
        }
    }

    fn is_secret_word(&self, value: &Value<'_>, word: &str) -> bool {
        let code = is_reference(word, self.as_str()) || is_type(word);
        match (self.link, self.kind) {
            _ if code => false,
            (Link::Tight | Link::Tag, _) => true,
            (Link::Flag, _) => !is_wordy(word) && !word.starts_with('-'),
            (_, Kind::Password) => {
                let lowercase = word.bytes().all(|byte| byte.is_ascii_lowercase());
                let only = lowercase && word.len() >= 6 && value.ends_line;
                word.len() >= 4 && !is_wordy(word) || only
            }
            _ => word.len() >= 8 && !is_wordy(word) && has_digit(word),
        }
    }
}

/// What follows the scheme of an `Authorization`.
fn credentials(value: &Value<'_>) -> Option<Range<usize>> {
    let rest = after_scheme(value.text)?;
    let holds = !rest.is_empty() && !is_placeholder(rest) && !is_redacted(rest);
    holds.then(|| value.place.end - rest.len()..value.place.end)
}

/// What follows a known scheme.
fn after_scheme(text: &str) -> Option<&str> {
    let (scheme, rest) = text.split_once([' ', '\t'])?;
    let known = SCHEMES.contains(&scheme.to_ascii_lowercase().as_str());
    known.then(|| rest.trim_start())
}

fn has_digit(word: &str) -> bool {
    word.bytes().any(|byte| byte.is_ascii_digit())
}
