//! Compares names regardless of case, punctuation and typos.

/// Lower case, words only: `Sub-Agents!` and `sub agents` are the same name.
pub(crate) fn normalize(name: &str) -> String {
    let words: Vec<String> = name
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    if words.is_empty() { name.trim().to_lowercase() } else { words.join(" ") }
}

/// Whether two names differ only by a typo.
pub(crate) fn is_typo(a: &str, b: &str) -> bool {
    let (long, short) = (a.chars().count().max(b.chars().count()), a.len().min(b.len()));
    let allowed = match long {
        0..=2 => return false,
        // Too many three-letter names differ by one letter: only a swap such as `skd` is a typo.
        3 => return same_letters(a, b) && strsim::osa_distance(a, b) == 1,
        4..=7 => 1,
        _ => 2,
    };
    a.len().abs_diff(b.len()) <= allowed && short > allowed && strsim::osa_distance(a, b) <= allowed
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
    fn normalizes_case_and_punctuation() {
        assert_eq!(normalize("  Sub-Agents! "), "sub agents");
        assert_eq!(normalize("/compact"), "compact");
        assert_eq!(normalize("???"), "???");
    }

    #[test]
    fn allows_more_typos_in_longer_names() {
        assert!(is_typo("mpc suport", "mcp support"));
        assert!(is_typo("hoks", "hooks"));
        assert!(is_typo("sdk", "skd"));
        assert!(!is_typo("sdk", "sdd"));
        assert!(!is_typo("hook", "book club"));
        assert!(!is_typo("skills", "pills"));
    }
}
