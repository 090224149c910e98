//! Where a value ends.

use std::ops::Range;

use super::{Link, Name, after_scheme};
use crate::redact::names::Kind;

pub(super) struct Value<'t> {
    pub(super) text: &'t str,
    pub(super) place: Range<usize>,
    pub(super) form: Form,
    /// Nothing else follows in its line.
    pub(super) ends_line: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Word,
    Quoted,
    /// An array or an object.
    Group,
    /// A header's, which has spaces in it.
    Line,
}

/// A quotation mark with the backslashes before it.
#[derive(Clone, Copy)]
pub(super) struct Quote {
    mark: u8,
    backslashes: usize,
    pub(super) end: usize,
}

/// The quotation mark that begins at this place.
pub(super) fn quote(bytes: &[u8], at: usize) -> Option<Quote> {
    let backslashes = bytes[at..].iter().take(64).take_while(|&&byte| byte == b'\\').count();
    let mark = *bytes.get(at + backslashes)?;
    let end = at + backslashes + 1;
    if bytes[at..].starts_with(b"%22") {
        return Some(Quote { mark: b'%', backslashes: 0, end: at + 3 });
    }
    matches!(mark, b'"' | b'\'' | b'`').then_some(Quote { mark, backslashes, end })
}

impl Quote {
    /// Where the text ends that this begins. A text that does not end goes on to the end of its line.
    fn closing(self, bytes: &[u8]) -> usize {
        let mut run = 0;
        for (at, &byte) in bytes.iter().enumerate().skip(self.end) {
            match byte {
                b'\\' => run += 1,
                b'%' if self.mark == b'%' && bytes[at..].starts_with(b"%22") => return at,
                byte if byte == self.mark && self.closes(run) => {
                    return at - self.backslashes.min(run);
                }
                b'\n' if self.mark != b'"' => return at,
                _ => run = 0,
            }
        }
        bytes.len()
    }

    /// A quotation mark inside of the text has more backslashes: each level of escaping doubles
    /// those that are there and adds one.
    fn closes(self, run: usize) -> bool {
        let step = 2 * (self.backslashes + 1);
        self.mark != b'%'
            && (run < self.backslashes || (run - self.backslashes).is_multiple_of(step))
    }
}

impl<'t> Value<'t> {
    pub(super) fn read(text: &'t str, start: usize, name: &Name<'_>) -> Option<Self> {
        let bytes = text.as_bytes();
        let prefixed =
            matches!(bytes.get(start..), Some([b'b' | b'f' | b'r' | b'u', b'"' | b'\'', ..]));
        let start = start + usize::from(prefixed);
        if let Some(quote) = quote(bytes, start) {
            let end = quote.closing(bytes);
            return (quote.mark != b'`' || end > quote.end)
                .then(|| Self::new(text, quote.end..end, Form::Quoted));
        }
        match bytes.get(start)? {
            b'[' | b'{' if name.quoted && !text[start..].starts_with("[REDACTED_") => {
                let end = group_end(bytes, start);
                Some(Self::new(text, start..end, Form::Group))
            }
            _ if is_header(&text[start..], name) => {
                let end = line_end(bytes, start, name);
                Some(Self::new(text, start..end, Form::Line))
            }
            _ => Some(Self::new(text, start..word_end(text, start, name), Form::Word)),
        }
    }

    fn new(text: &'t str, place: Range<usize>, form: Form) -> Self {
        let after = text.as_bytes().get(place.end);
        let ends_line = matches!(after, None | Some(b'\n' | b'\r'));
        let text = &text[place.clone()];
        Self { text, place, form, ends_line }
    }
}

/// Where brackets close that open at this place; brackets in strings do not count.
fn group_end(bytes: &[u8], start: usize) -> usize {
    let (mut depth, mut at) = (0_usize, start);
    while at < bytes.len() {
        match bytes[at] {
            b'[' | b'{' => depth += 1,
            b']' | b'}' if depth <= 1 => return at + 1,
            b']' | b'}' => depth -= 1,
            b'\\' | b'"' => {
                if let Some(quote) = quote(bytes, at).filter(|quote| quote.mark == b'"') {
                    let closing = quote.closing(bytes);
                    at = closing + quote.backslashes;
                }
            }
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

/// Whether a value can have spaces: cookies, and credentials after a scheme.
fn is_header(text: &str, name: &Name<'_>) -> bool {
    let first = text.split_whitespace().next().unwrap_or_default();
    let begins = match name.kind {
        Kind::Cookie => first.contains('='),
        Kind::Authorization => after_scheme(text).is_some(),
        _ => false,
    };
    begins && matches!(name.link, Link::Loose | Link::Tight)
}

/// The end of a header: of its line, or of the quotes around it. Only some schemes have more than one
/// word after them.
fn line_end(bytes: &[u8], start: usize, name: &Name<'_>) -> usize {
    let scheme = bytes[start..].iter().take_while(|byte| !byte.is_ascii_whitespace()).count();
    let gap = bytes[start + scheme..].iter().take_while(|byte| b" \t".contains(byte)).count();
    let several = [&b"digest"[..], b"aws4-hmac-sha256", b"oauth", b"signature", b"hawk"];
    let is_word = name.kind == Kind::Authorization
        && !several.iter().any(|known| known.eq_ignore_ascii_case(&bytes[start..start + scheme]));
    let quotes: &[u8] = match (is_word, name.before) {
        (true, _) => b"\"' \t",
        (false, b'\'') => b"'",
        (false, b'"') => b"\"",
        (false, _) if name.kind == Kind::Cookie => b"\"",
        (false, _) => b"",
    };
    let start = if name.kind == Kind::Authorization { start + scheme + gap } else { start };
    let ends = |at: usize| {
        b"\r\n`".contains(&bytes[at])
            || quotes.contains(&bytes[at])
            || bytes[at] == b'\\' && bytes.get(at + 1).is_some_and(|next| b"rn".contains(next))
            || bytes[at] == b'\\' && bytes.get(at + 1).is_some_and(|next| quotes.contains(next))
    };
    let mut end = (start..bytes.len()).find(|&at| ends(at)).unwrap_or(bytes.len());
    while end > start && b" \t.,".contains(&bytes[end - 1]) {
        end -= 1;
    }
    end
}

/// The end of a value without quotes.
fn word_end(text: &str, start: usize, name: &Name<'_>) -> usize {
    let bytes = text.as_bytes();
    let in_url = matches!(name.before, b'?' | b'&');
    let ends = |at: usize| match bytes[at] {
        b' ' | b'\t' | b'\r' | b'\n' | b'"' | b'\'' | b'`' | b';' => true,
        b'<' => name.link == Link::Tag,
        b'\\' => bytes.get(at + 1).is_some_and(|next| b"nrt\"'\\".contains(next)),
        b'&' | b'#' | b')' | b']' | b'>' if in_url => true,
        b'&' | b',' | b'|' => names_next(&bytes[at + 1..]),
        b'%' => bytes[at..].starts_with(b"%22") || bytes[at..].starts_with(b"%26"),
        _ => false,
    };
    let mut end = (start..bytes.len()).find(|&at| ends(at)).unwrap_or(bytes.len());
    let is_call = bytes[start..end].contains(&b'(');
    while end > start && b".,)]}:".contains(&bytes[end - 1]) && !(is_call && bytes[end - 1] == b')')
    {
        end -= 1;
    }
    end
}

/// Whether another name and its sign follow, as in `password=x,ssl=true`.
fn names_next(bytes: &[u8]) -> bool {
    let spaces = bytes.iter().take(2).take_while(|byte| **byte == b' ').count();
    let rest = bytes[spaces..].iter().take(40);
    let name =
        rest.take_while(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(byte)).count();
    name > 0 && matches!(bytes.get(spaces + name), Some(b'=' | b':'))
}
