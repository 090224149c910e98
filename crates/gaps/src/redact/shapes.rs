//! Secrets that are recognised by their whole shape, and the checks that regular expressions cannot
//! express.

use std::ops::Range;
use std::sync::LazyLock;

use regex::{Regex, RegexSet};
use serde_json::Number;

use super::values::{entropy, is_placeholder, is_random};
use super::{CARD, Find, KEY};

const EMAIL: &str = "[REDACTED_EMAIL]";
const BEARER: &str = "Bearer [REDACTED_KEY]";
const JWT: &str = "[REDACTED_JWT]";
const IBAN: &str = "[REDACTED_IBAN]";
const SSN: &str = "[REDACTED_SSN]";
const PHONE: &str = "[REDACTED_PHONE]";

/// One kind of secret.
struct Shape {
    /// If it has a capture group, the group is the secret.
    pattern: Regex,
    /// Checks a match beyond the pattern, and says where the secret is.
    locate: fn(&str, Range<usize>) -> Option<Range<usize>>,
    marker: &'static str,
}

/// All of [`SHAPES`] in one pass: most texts have no secret, and need no pass per shape.
static ANY: LazyLock<RegexSet> = LazyLock::new(|| {
    let patterns = SHAPES.iter().map(|shape| shape.pattern.as_str());
    RegexSet::new(patterns).expect("the shapes are tested")
});

/// No pattern here backtracks, and none looks further than it matches: the time is linear.
static SHAPES: LazyLock<Vec<Shape>> = LazyLock::new(|| {
    let shape = |pattern: &str, marker, locate| Shape {
        pattern: Regex::new(pattern).expect("the shapes are tested"),
        locate,
        marker,
    };
    vec![
        shape(r"[\p{L}\p{N}._%+'-]+@[\p{L}\p{N}.-]+\.\p{L}{2,}", EMAIL, whole),
        shape(r"(?i)bearer\s+[A-Za-z0-9._~+/=-]{12,}", BEARER, bearer),
        // Signed ones have three parts, encrypted ones five.
        shape(
            r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+){0,2}",
            JWT,
            whole,
        ),
        shape(
            r"(?s)-{4,5} ?BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)? ?-{4,5}.*?(?:-{4,5} ?END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)? ?-{4,5}|\z)",
            KEY,
            whole,
        ),
        shape(r"Private-Lines: ?[0-9]+(?:\s|\\+[rn])+([A-Za-z0-9+/=\s\\]+)", KEY, whole),
        shape(r#"://([^\s/:@\[\]"]*:[^\s/"]+)@"#, KEY, user_info),
        shape(
            r"(?i-u:(?:\b|\\[nrt])basic)[ \t]+([A-Za-z0-9+/_-]{6,}={0,2})",
            KEY,
            user_and_password,
        ),
        shape(r"(?:(?-u:\b)|\\[nrt])([0-9]{8,10}:AA[A-Za-z0-9_-]{32,})", KEY, whole),
        // Azure: client secrets; keys that name their service; tokens of DevOps.
        shape(r"[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,}", KEY, whole),
        shape(
            r"[A-Za-z0-9+/_-]{30,}(?:\+ASt|\+ABa|\+AMC|APIM|ACDb|AzFu|AzSe|AzCa)[A-Za-z0-9+/_-]{5,6}[AQgw]?==?",
            KEY,
            whole,
        ),
        shape(r"[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}", KEY, whole),
        shape(
            r"(?:^|\\[nrt]|[^A-Za-z0-9+/=_.-])([A-Za-z0-9+/]{40})(?:[^A-Za-z0-9+/=_-]|$)",
            KEY,
            aws_secret,
        ),
        // Vault's tokens of old, and 1Password's keys.
        shape(r"(?:(?-u:\b)|\\[nrt])(s\.[A-Za-z0-9]{24})(?-u:\b)", KEY, random),
        shape(r"A3-[A-Z0-9]{6}-[A-Z0-9]{6}(?:-?[A-Z0-9]{5}){4}", KEY, whole),
        shape(r"(?:(?-u:\b)|\\[nrt])(pat[A-Za-z0-9]{14}\.[0-9a-f]{64})", KEY, whole),
        shape(r"(?i-u:(?:\b|\\[nrt])([A-Z]{2}[0-9]{2}))", IBAN, iban),
        shape(r"\d(?:[ -]?\d){12,}", CARD, card),
        shape(
            r"(?:^|\\[nrt]|[^0-9A-Za-z.-])([0-8][0-9]{2}-[0-9]{2}-[0-9]{4})(?:[^0-9A-Za-z-]|$)",
            SSN,
            ssn,
        ),
        shape(
            r"(?:^|\\[nrt]|[^\p{L}\d])(\+?\d{1,3}[\s.-]?\(?\d{2,4}\)?[\s.-]?\d{3,4}[\s.-]?\d{3,4})(?:[^\p{L}\d]|$)",
            PHONE,
            phone,
        ),
    ]
});

/// Where matches overlap, the first shape provides the marker for the whole.
pub(super) fn find(text: &str, found: &mut Vec<Find>) {
    for rank in &ANY.matches(text) {
        let shape = &SHAPES[rank];
        let mut add = |place| {
            let place = (shape.locate)(text, place);
            found.extend(place.map(|place| Find {
                place,
                rank: 10 * (1 + rank),
                marker: shape.marker,
            }));
        };
        if shape.pattern.captures_len() == 1 {
            shape.pattern.find_iter(text).for_each(|place| add(place.range()));
        } else {
            let groups = shape.pattern.captures_iter(text).filter_map(|found| found.get(1));
            groups.for_each(|place| add(place.range()));
        }
    }
}

#[expect(clippy::unnecessary_wraps, reason = "other shapes have a check")]
fn whole(_: &str, place: Range<usize>) -> Option<Range<usize>> {
    Some(place)
}

fn random(text: &str, place: Range<usize>) -> Option<Range<usize>> {
    is_random(&text[place.clone()]).then_some(place)
}

/// What comes before: prose writes about bearer authentication.
fn bearer(text: &str, place: Range<usize>) -> Option<Range<usize>> {
    let word = text[place.clone()].split_whitespace().nth(1).unwrap_or_default();
    (!["authentication", "authorization"].contains(&word)).then_some(place)
}

/// Documentation writes `://USER:PASSWORD@HOST`.
fn user_info(text: &str, place: Range<usize>) -> Option<Range<usize>> {
    let (_, password) = text[place.clone()].split_once(':')?;
    (!["PASSWORD", "PASS"].contains(&password) && !is_placeholder(password)).then_some(place)
}

/// Thirteen to sixteen digits; more only if they are grouped, because several cards may follow each
/// other. Digits of a hash, of a UUID and behind a decimal point are none.
fn card(text: &str, place: Range<usize>) -> Option<Range<usize>> {
    let found = &text[place.clone()];
    let digits = found.chars().filter(|c| c.is_numeric()).count();
    let counts = digits <= 16 || found.contains([' ', '-']);
    let padded = found.starts_with("00000000");
    (counts && !padded && !in_hash(text, &place) && !is_fraction(text, &place)).then_some(place)
}

/// Whether digits are a part of hexadecimal ones: 16 or more, or groups of them as in a UUID.
fn in_hash(text: &str, place: &Range<usize>) -> bool {
    let bytes = text.as_bytes();
    let is_hex = |byte: &&u8| byte.is_ascii_hexdigit() || **byte == b'-';
    let before = bytes[..place.start].iter().rev().take(64).take_while(is_hex).count();
    let after = bytes[place.end..].iter().take(64).take_while(is_hex).count();
    let whole = &bytes[place.start - before..place.end + after];
    let edges = [bytes.get(place.end + after), bytes[..place.start - before].last()];
    let in_word = edges.into_iter().flatten().any(u8::is_ascii_alphanumeric);
    let lettered = whole.iter().filter(|byte| byte.is_ascii_alphabetic()).count() >= 1;
    let is_uuid = whole.len() == 36 && [8, 13, 18, 23].iter().all(|&dash| whole[dash] == b'-');
    let is_hash = whole.len() >= 16 && !whole.contains(&b'-') && !text[place.clone()].contains(' ');
    lettered && !in_word && (is_uuid || is_hash)
}

fn is_fraction(text: &str, place: &Range<usize>) -> bool {
    matches!(text.as_bytes()[..place.start], [.., before, b'.'] if before.is_ascii_digit())
}

/// A number without `+` that goes on as a path, an identifier or a version does is none.
fn phone(text: &str, place: Range<usize>) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let joined = match (&bytes[..place.start], &bytes[place.end..]) {
        ([.., before, b'.'], _) | (_, [b'.', before, ..]) if before.is_ascii_digit() => true,
        ([.., before, b'/' | b'-' | b'_'], _) => before.is_ascii_alphanumeric(),
        _ => false,
    };
    (bytes[place.start] == b'+' || !joined).then_some(place)
}

/// Forty characters of base64, as random as a draw makes them. Hashes are hexadecimal, and paths and
/// identifiers repeat their letters.
fn aws_secret(text: &str, place: Range<usize>) -> Option<Range<usize>> {
    let found = &text[place.clone()];
    let has = |class: fn(&u8) -> bool| found.as_bytes().iter().any(class);
    let mixed =
        has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_digit);
    (mixed && entropy(found) >= 4.3).then_some(place)
}

/// `Basic` is also a word; credentials are the base64 of a text with a colon.
fn user_and_password(text: &str, place: Range<usize>) -> Option<Range<usize>> {
    let decoded = decode(&text[place.clone()])?;
    let text = std::str::from_utf8(&decoded).ok()?;
    (text.contains(':') && !text.contains(char::is_control)).then_some(place)
}

fn decode(base64: &str) -> Option<Vec<u8>> {
    let (mut bits, mut held, mut bytes) = (0_u32, 0_u32, Vec::new());
    for byte in base64.trim_end_matches('=').bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = (bits << 6) | u32::from(value);
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push(u8::try_from((bits >> held) & 0xff).ok()?);
        }
    }
    Some(bytes)
}

/// Areas 000, 666 and 900 to 999, group 00 and serial 0000 are never issued.
fn ssn(text: &str, place: Range<usize>) -> Option<Range<usize>> {
    let found = &text[place.clone()];
    let issued = !found.starts_with("000")
        && !found.starts_with("666")
        && &found[4..6] != "00"
        && &found[7..] != "0000";
    issued.then_some(place)
}

/// How long the account numbers of each country are.
const IBAN_LENGTHS: &str = "AD24AE23AL28AT20AZ28BA20BE16BG22BH22BI27BR29BY28CH21CR22CY28CZ24DE22DJ27\
    DK18DO28EE20EG29ES24FI18FK18FO18FR27GB22GE22GI23GL18GR27GT28HN28HR21HU28IE22IL23IQ23IS26IT27JO30\
    KW30KZ20LB28LC32LI21LT20LU20LV21LY25MC27MD24ME22MK19MN20MR27MT31MU30NI28NL18NO15OM23PK24PL28PS29\
    PT25QA29RO24RS22RU33SA24SC31SD18SE24SI19SK24SM27SO23ST25SV28TL23TN24TR26UA29VA22VG24XK20YE30";

/// An account number of its country's length, in groups or not, whose check digits are right.
fn iban(text: &str, start: Range<usize>) -> Option<Range<usize>> {
    let country = text[start.start..start.start + 2].to_ascii_uppercase();
    let known =
        IBAN_LENGTHS.as_bytes().chunks(4).find(|known| known.starts_with(country.as_bytes()))?;
    let wanted = usize::from(known[2] - b'0') * 10 + usize::from(known[3] - b'0');
    let mut characters = Vec::with_capacity(wanted);
    let mut end = start.start;
    let bytes = text.as_bytes();
    while characters.len() < wanted {
        match bytes.get(end)? {
            byte if byte.is_ascii_alphanumeric() => characters.push(byte.to_ascii_uppercase()),
            b' ' | b'-' if bytes.get(end + 1)?.is_ascii_alphanumeric() => {}
            _ => return None,
        }
        end += 1;
    }
    let ends = !bytes.get(end).is_some_and(u8::is_ascii_alphanumeric);
    (ends && has_remainder_one(&characters)).then_some(start.start..end)
}

/// ISO 7064: letters count from ten, the first four characters go last, and 97 divides the rest.
fn has_remainder_one(characters: &[u8]) -> bool {
    let turned = characters[4..].iter().chain(&characters[..4]);
    let remainder = turned.fold(0_u32, |remainder, &character| match character {
        b'0'..=b'9' => (remainder * 10 + u32::from(character - b'0')) % 97,
        _ => (remainder * 100 + u32::from(character - b'A') + 10) % 97,
    });
    remainder == 1
}

/// Whether a JSON number may be a card number. Numbers of that length are common, so unlike in texts
/// the check digit must be right. No card number begins as the current time in milliseconds or
/// microseconds does.
pub(super) fn is_card_number(number: &Number) -> bool {
    let whole = number.as_i64().map(i64::unsigned_abs).or_else(|| number.as_u64());
    let text = match (whole, number.as_f64()) {
        (Some(whole), _) => whole.to_string(),
        (None, Some(float)) if float.fract() == 0.0 && float.abs() < 1e16 => {
            format!("{:.0}", float.abs())
        }
        _ => return false,
    };
    let is_time = text.starts_with('1') && text.len() != 15;
    (13..=16).contains(&text.len()) && !is_time && has_check_digit(&text)
}

/// The Luhn checksum: from the right, every second digit counts twice.
fn has_check_digit(digits: &str) -> bool {
    let values = digits.bytes().rev().map(|digit| u32::from(digit - b'0')).enumerate();
    let sum: u32 = values
        .map(|(place, digit)| match (place % 2, digit * 2) {
            (0, _) => digit,
            (_, doubled) => doubled / 10 + doubled % 10,
        })
        .sum();
    sum.is_multiple_of(10)
}
