//! How close a knowledge file is to the file being worked on, by the words of their paths.

use std::collections::HashSet;

/// 1 for the file itself, 0 if the paths share no word.
pub(crate) fn proximity(current: &str, path: &str) -> f64 {
    if current.trim_start_matches("./") == path || current.ends_with(&format!("/{path}")) {
        return 1.0;
    }
    let wanted = words(current);
    if wanted.is_empty() {
        return 0.0;
    }
    let shared = words(path).intersection(&wanted).count();
    0.9 * shared as f64 / wanted.len() as f64
}

/// The words of a path, without those that most paths have.
fn words(path: &str) -> HashSet<String> {
    let stem = path.rsplit_once('.').map_or(path, |(stem, _)| stem);
    stem.split(|c: char| !c.is_alphanumeric())
        .map(str::to_lowercase)
        .filter(|word| {
            word.len() > 2 && !["src", "lib", "crates", "docs", "mod"].contains(&word.as_str())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proximity_grows_with_the_shared_words_of_paths() {
        assert!((proximity("guides/SETUP.md", "guides/SETUP.md") - 1.0).abs() < f64::EPSILON);
        assert!(
            (proximity("/home/me/kb/guides/SETUP.md", "guides/SETUP.md") - 1.0).abs()
                < f64::EPSILON
        );
        let auth = proximity("src/security/tokens.rs", "guidelines/SECURITY.md");
        let other = proximity("src/security/tokens.rs", "context/GLOSSARY.md");
        assert!(auth > 0.0 && other == 0.0, "{auth} {other}");
        assert!(proximity("", "a.md").abs() < f64::EPSILON);
    }
}
