//! The tokens and their ranks.
//!
//! `data/o200k_base.tokens` has every token in the order of its rank, as one byte of length and the
//! bytes of the token. A hash table over it is built on first use. It holds ranks only, four bytes
//! each: a map from slices would take three times the memory and the time to build it.

use std::sync::LazyLock;

static TOKENS: &[u8] = include_bytes!("../data/o200k_base.tokens");
/// Slots of the hash table, a power of two: about two fifths of them are taken.
const SLOTS: usize = 1 << 19;
const EMPTY: u32 = u32::MAX;

static VOCABULARY: LazyLock<Vocabulary> = LazyLock::new(Vocabulary::new);

pub(crate) struct Vocabulary {
    /// Where each token starts in [`TOKENS`], by rank.
    starts: Vec<u32>,
    /// Ranks, each in the first free slot from its token's hash on.
    slots: Vec<u32>,
}

/// The bytes of a token; `None` if there is no token with this id.
pub fn token_bytes(id: u32) -> Option<&'static [u8]> {
    let start = vocabulary().starts.get(id as usize)?;
    Some(at(*start))
}

pub(crate) fn vocabulary() -> &'static Vocabulary {
    &VOCABULARY
}

impl Vocabulary {
    fn new() -> Self {
        let mut vocabulary =
            Self { starts: Vec::with_capacity(200_000), slots: vec![EMPTY; SLOTS] };
        let (mut start, mut rank) = (0, 0);
        while (start as usize) < TOKENS.len() {
            let token = at(start);
            let slot = vocabulary.slot(token);
            vocabulary.slots[slot] = rank;
            vocabulary.starts.push(start);
            start += 1 + u32::from(TOKENS[start as usize]);
            rank += 1;
        }
        vocabulary
    }

    /// The rank of a token, which is its id; `None` if these bytes are no token.
    pub(crate) fn rank(&self, token: &[u8]) -> Option<u32> {
        // A byte holds the length of every token, so there are no longer ones.
        if token.len() > usize::from(u8::MAX) {
            return None;
        }
        let rank = self.slots[self.slot(token)];
        (rank != EMPTY).then_some(rank)
    }

    /// The slot that holds this token, or the empty one where it would be.
    fn slot(&self, token: &[u8]) -> usize {
        let mut slot = hash(token) % SLOTS;
        while self.slots[slot] != EMPTY {
            if at(self.starts[self.slots[slot] as usize]) == token {
                break;
            }
            slot = (slot + 1) % SLOTS;
        }
        slot
    }
}

/// The token that starts here in [`TOKENS`].
fn at(start: u32) -> &'static [u8] {
    let start = start as usize;
    let length = usize::from(TOKENS[start]);
    &TOKENS[start + 1..][..length]
}

/// Multiplies and folds eight bytes at a time. The keys of the table are fixed, so that text can make
/// no more of them collide.
#[expect(clippy::cast_possible_truncation, reason = "only the low bits are used")]
fn hash(bytes: &[u8]) -> usize {
    let mix = |hash: u64, word: [u8; 8]| {
        let product = (hash ^ u64::from_le_bytes(word)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        product ^ (product >> 32)
    };
    let (words, rest) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let hash = words.iter().fold(bytes.len() as u64, |hash, word| mix(hash, *word));
    mix(hash, last) as usize
}
