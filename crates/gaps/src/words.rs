//! Word stems to compare asks by, and shortening of texts.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::LazyLock;

/// Words that do not distinguish one ask from another.
static STOP_WORDS: LazyLock<BTreeSet<&str>> = LazyLock::new(|| {
    "a able about after all also an and any are as at be been before but by can cannot capability \
     could currently do does for from get give had has have how i if in into is it its just let \
     like make me my need needed needs no not of on one or our out over please same so some \
     someone something support that the their them there these they this to tool tools trying up \
     us use user users using via want wanted wants was way we were when which while whole will \
     with would you your"
        .split(' ')
        .collect()
});

/// The stems of a text's words, without stop words, in a form that is fast to compare.
#[derive(Debug, Clone)]
pub(crate) struct Stems {
    /// The hashes of the stems, ascending.
    hashes: Vec<u64>,
    /// For each axis of [`OPPOSITES`]: whether the text does or undoes it, if it is about it.
    sides: [Option<bool>; AXES],
}

impl Stems {
    pub(crate) fn of(text: &str) -> Self {
        let hashes = hashes(text);
        let sides = OPPOSITES.each_ref().map(|axis| {
            let [does, undoes] = axis.each_ref().map(|side| shared(side, &hashes) > 0);
            (does != undoes).then_some(does)
        });
        Self { hashes, sides }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// The share of its words that another text has, 0 to 1.
    pub(crate) fn found_in(&self, other: &Self) -> f32 {
        shared(&self.hashes, &other.hashes) as f32 / self.hashes.len().max(1) as f32
    }

    /// The Dice coefficient of two texts' words, 0 to 1.
    pub(crate) fn overlap(&self, other: &Self) -> f32 {
        let total = self.hashes.len() + other.hashes.len();
        2.0 * shared(&self.hashes, &other.hashes) as f32 / total.max(1) as f32
    }

    /// Whether one text undoes what the other does.
    pub(crate) fn opposes(&self, other: &Self) -> bool {
        let mut sides = self.sides.iter().zip(&other.sides);
        sides.any(|pair| matches!(pair, (Some(a), Some(b)) if a != b))
    }
}

fn hashes(text: &str) -> Vec<u64> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let words = words.map(str::to_lowercase);
    let words = words.filter(|word| !STOP_WORDS.contains(&word.as_str()));
    let mut hashes: Vec<u64> = words.map(|word| hash(&stem(&word))).collect();
    hashes.sort_unstable();
    hashes.dedup();
    hashes
}

fn hash(stem: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    stem.hash(&mut hasher);
    hasher.finish()
}

/// How many numbers two ascending lists have in common.
fn shared(a: &[u64], b: &[u64]) -> usize {
    let (mut a, mut b, mut count) = (a, b, 0);
    while let ([first, rest_of_a @ ..], [second, rest_of_b @ ..]) = (a, b) {
        match first.cmp(second) {
            Ordering::Less => a = rest_of_a,
            Ordering::Greater => b = rest_of_b,
            Ordering::Equal => {
                count += 1;
                (a, b) = (rest_of_a, rest_of_b);
            }
        }
    }
    count
}

/// Strips the endings of English inflection. It is crude on purpose: two forms of a word should
/// match, and a false match weighs little beside the vectors.
fn stem(word: &str) -> String {
    let take = |ending: &str, least: usize| {
        word.strip_suffix(ending).filter(|rest| rest.chars().count() >= least)
    };
    let stem = if let Some(rest) = take("ies", 2) {
        return format!("{rest}y");
    } else if word.ends_with("ss") || word.ends_with("us") || word.ends_with("is") {
        word
    } else {
        take("ations", 3)
            .or_else(|| take("ation", 3))
            .or_else(|| take("ings", 3))
            .or_else(|| take("ing", 3))
            .or_else(|| take("ed", 3))
            .or_else(|| take("es", 3))
            .or_else(|| take("s", 2))
            .unwrap_or(word)
    };
    let stem = stem.strip_suffix('e').filter(|rest| rest.len() >= 3).unwrap_or(stem);
    let mut letters: Vec<char> = stem.chars().collect();
    if let [.., before, last] = letters[..]
        && before == last
        && !"lsz".contains(last)
        && letters.len() > 3
    {
        letters.pop();
    }
    letters.into_iter().collect()
}

const AXES: usize = 3;

/// Verbs and their opposites: asks with close vectors and different meanings.
static OPPOSITES: LazyLock<[[Vec<u64>; 2]; AXES]> = LazyLock::new(|| {
    [
        [
            hashes("create add invite open book schedule enable grant start activate install join"),
            hashes(
                "delete remove cancel revoke disable stop deactivate uninstall leave close undo",
            ),
        ],
        [hashes("import upload ingest load"), hashes("export download")],
        [
            hashes("lock hide archive mute block"),
            hashes("unlock show unarchive unmute unblock restore"),
        ],
    ]
});

/// At most this many characters, on one line, ended by an ellipsis if cut.
pub(crate) fn clip(text: &str, chars: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= chars {
        return line;
    }
    let mut cut: String = line.chars().take(chars - 1).collect();
    if let Some(space) = cut.rfind(' ').filter(|&space| space > cut.len() / 2) {
        cut.truncate(space);
    }
    cut + "…"
}
