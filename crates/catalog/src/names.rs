//! Names as people write them.

/// Lower case, words only: `Sub-Agents!` and `sub agents` are the same name.
pub(crate) fn normal(name: &str) -> String {
    let words: Vec<String> = name
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    if words.is_empty() { name.trim().to_lowercase() } else { words.join(" ") }
}

/// Whether two names differ by no more than slips of the fingers.
pub(crate) fn is_slip(a: &str, b: &str) -> bool {
    let (long, short) = (a.chars().count().max(b.chars().count()), a.len().min(b.len()));
    let slips = match long {
        0..=2 => return false,
        // Three letters mean too many things: only `skd` for `sdk`.
        3 => return same_letters(a, b) && strsim::osa_distance(a, b) == 1,
        4..=7 => 1,
        _ => 2,
    };
    a.len().abs_diff(b.len()) <= slips && short > slips && strsim::osa_distance(a, b) <= slips
}

fn same_letters(a: &str, b: &str) -> bool {
    let sorted = |text: &str| {
        let mut letters: Vec<char> = text.chars().collect();
        letters.sort_unstable();
        letters
    };
    sorted(a) == sorted(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_by_their_words() {
        assert_eq!(normal("  Sub-Agents! "), "sub agents");
        assert_eq!(normal("/compact"), "compact");
        assert_eq!(normal("???"), "???");
    }

    #[test]
    fn slips_are_few_for_the_length() {
        assert!(is_slip("mpc suport", "mcp support"));
        assert!(is_slip("hoks", "hooks"));
        assert!(is_slip("sdk", "skd"));
        assert!(!is_slip("sdk", "sdd"));
        assert!(!is_slip("hook", "book club"));
        assert!(!is_slip("skills", "pills"));
    }
}
