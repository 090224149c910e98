//! Words, for comparing and showing what people asked for.

use std::collections::BTreeSet;
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

/// The words of a text that carry meaning, reduced to their stems.
pub(crate) fn stems(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let words = words.map(str::to_lowercase);
    words.filter(|word| !EMPTY_WORDS.contains(&word.as_str())).map(|word| stem(&word)).collect()
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

/// How much of their words two texts share, 0 to 1.
pub(crate) fn overlap(a: &BTreeSet<String>, b: &BTreeSet<String>) -> f32 {
    let total = a.len() + b.len();
    if total == 0 {
        return 0.0;
    }
    2.0 * a.intersection(b).count() as f32 / total as f32
}

/// Words that do, and words that undo it. Vectors of such asks are near, and they are not alike.
static OPPOSITES: LazyLock<[[BTreeSet<String>; 2]; 3]> = LazyLock::new(|| {
    [
        [
            stems("create add invite open book schedule enable grant start activate install join"),
            stems("delete remove cancel revoke disable stop deactivate uninstall leave close undo"),
        ],
        [stems("import upload ingest load"), stems("export download")],
        [
            stems("lock hide archive mute block"),
            stems("unlock show unarchive unmute unblock restore"),
        ],
    ]
});

/// Whether one text undoes what the other does.
pub(crate) fn opposed(a: &BTreeSet<String>, b: &BTreeSet<String>) -> bool {
    let side = |words: &BTreeSet<String>, axis: &[BTreeSet<String>; 2]| {
        let [does, undoes] = [&axis[0], &axis[1]].map(|side| !side.is_disjoint(words));
        (does != undoes).then_some(does)
    };
    OPPOSITES.iter().any(|axis| match (side(a, axis), side(b, axis)) {
        (Some(a), Some(b)) => a != b,
        _ => false,
    })
}

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
