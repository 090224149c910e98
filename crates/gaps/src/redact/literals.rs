//! One pass over a text for the beginnings of keys and for parts of the names of secrets.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use super::assignments::Assignments;
use super::prefixes::{FAMILIES, Family, Place};
use super::values::is_random;
use super::{Find, KEY};

/// Every name of a secret has one of these in it.
const STEMS: [&str; 17] = [
    "pass", "pwd", "kennwort", "secret", "token", "key", "auth", "cookie", "cred", "jwt", "bearer",
    "cvv", "cvc", "ssn", "mnemonic", "phrase", "sig",
];

/// Of a key that must look random, this much is looked at: keys are shorter.
const LOOKED_AT: usize = 128;

/// Between the address of a person and other shapes.
const RANK: usize = 15;

static LITERALS: LazyLock<AhoCorasick> = LazyLock::new(|| {
    let prefixes = FAMILIES.iter().flat_map(|family| family.prefixes);
    AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .build(STEMS.iter().chain(prefixes))
        .expect("the literals are few")
});

/// The family of each literal after the stems.
static OWNERS: LazyLock<Vec<&'static Family>> = LazyLock::new(|| {
    FAMILIES.iter().flat_map(|family| family.prefixes.iter().map(move |_| family)).collect()
});

pub(super) fn find(text: &str, found: &mut Vec<Find>) {
    let mut assignments = Assignments::new(text);
    let mut keys_end = 0;
    for hit in LITERALS.find_overlapping_iter(text) {
        match hit.pattern().as_usize().checked_sub(STEMS.len()) {
            None => found.extend(assignments.at(hit.range())),
            // What begins inside of a key is a part of it.
            Some(_) if hit.start() < keys_end => {}
            Some(number) => {
                if let Some(place) = key(text, hit.range(), number) {
                    keys_end = place.end;
                    found.push(Find { place, rank: RANK, marker: KEY });
                }
            }
        }
    }
}

fn key(text: &str, start: Range<usize>, number: usize) -> Option<Range<usize>> {
    let family = OWNERS[number];
    // The automaton ignores case, which the names of secrets need.
    let exact = family.prefixes.contains(&&text[start.clone()]);
    if !exact || !may_begin(text.as_bytes(), start.start, family.place) {
        return None;
    }
    let rest = &text.as_bytes()[start.end..];
    let extends =
        |bytes: &[u8]| bytes.iter().take_while(|&&byte| family.alphabet.has(byte)).count();
    match family.place {
        Place::Random => {
            let length = extends(&rest[..rest.len().min(LOOKED_AT)]);
            let random = length >= family.min && is_random(&text[start.end..start.end + length]);
            random.then(|| start.start..start.end + extends(rest))
        }
        place => {
            let length = extends(rest);
            let from = if place == Place::Address { start.end } else { start.start };
            (length >= family.min).then_some(from..start.end + length)
        }
    }
}

fn may_begin(bytes: &[u8], start: usize, place: Place) -> bool {
    matches!(place, Place::Anywhere | Place::Address) || is_word_start(bytes, start)
}

/// Whether no word goes on here. The letter of `\n` and the digits of `%3D` belong to no word.
pub(super) fn is_word_start(bytes: &[u8], start: usize) -> bool {
    match &bytes[start.saturating_sub(3)..start] {
        [.., b'\\', b'n' | b'r' | b't'] | [] => true,
        [b'%', high, low] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => true,
        [.., last] => !last.is_ascii_alphanumeric(),
    }
}
