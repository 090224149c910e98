//! Words, for comparing and showing what people asked for.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::LazyLock;

/// Words that do not tell one ask from another.
static EMPTY_WORDS: LazyLock<BTreeSet<&str>> = LazyLock::new(|| {
    "a able about after all also an and any are as at be been before but by can cannot capability \
     could currently do does for from get give had has have how i if in into is it its just let \
     like make me my need needed needs no not of on one or our out over please same so some \
     someone something support that the their them there these they this to tool tools trying up \
     us use user users using via want wanted wants was way we were when which while whole will \
     with would you your"
        .split(' ')
        .collect()
});

/// The words of a text that carry meaning, reduced to their stems and made ready to be compared
/// with those of very many others.
#[derive(Debug, Clone)]
pub(crate) struct Stems {
    /// Of each stem a number that stands for it, ascending.
    numbers: Vec<u64>,
    /// For each axis of [`OPPOSITES`], whether the text does (or undoes) what it is about.
    sides: [Option<bool>; AXES],
}

impl Stems {
    pub(crate) fn of(text: &str) -> Self {
        let numbers = numbers(text);
        let sides = OPPOSITES.each_ref().map(|axis| {
            let [does, undoes] = axis.each_ref().map(|side| shared(side, &numbers) > 0);
            (does != undoes).then_some(does)
        });
        Self { numbers, sides }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// How many of its words another text has, 0 to 1.
    pub(crate) fn found_in(&self, other: &Self) -> f32 {
        shared(&self.numbers, &other.numbers) as f32 / self.numbers.len().max(1) as f32
    }

    /// How much of their words two texts share, 0 to 1.
    pub(crate) fn overlap(&self, other: &Self) -> f32 {
        let total = self.numbers.len() + other.numbers.len();
        2.0 * shared(&self.numbers, &other.numbers) as f32 / total.max(1) as f32
    }

    /// Whether one text undoes what the other does.
    pub(crate) fn opposes(&self, other: &Self) -> bool {
        let mut sides = self.sides.iter().zip(&other.sides);
        sides.any(|pair| matches!(pair, (Some(a), Some(b)) if a != b))
    }
}

fn numbers(text: &str) -> Vec<u64> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let words = words.map(str::to_lowercase);
    let words = words.filter(|word| !EMPTY_WORDS.contains(&word.as_str()));
    let mut numbers: Vec<u64> = words.map(|word| number(&stem(&word))).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

fn number(stem: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    stem.hash(&mut hasher);
    hasher.finish()
}

/// How many numbers two ascending rows have in common.
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

/// Takes the endings of English inflection off. Crude on purpose: the same word in two forms
/// should meet, and two words that meet by mistake cost little beside their vectors.
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

/// Words that do, and words that undo it. Vectors of such asks are near, and they are not alike.
static OPPOSITES: LazyLock<[[Vec<u64>; 2]; AXES]> = LazyLock::new(|| {
    [
        [
            numbers(
                "create add invite open book schedule enable grant start activate install join",
            ),
            numbers(
                "delete remove cancel revoke disable stop deactivate uninstall leave close undo",
            ),
        ],
        [numbers("import upload ingest load"), numbers("export download")],
        [
            numbers("lock hide archive mute block"),
            numbers("unlock show unarchive unmute unblock restore"),
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
