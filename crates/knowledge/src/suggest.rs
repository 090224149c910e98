//! Suggestions for names that were not found.

const MAX: usize = 3;
/// Jaro-Winkler similarity from which a name is worth suggesting.
const MIN_SIMILARITY: f64 = 0.85;

/// The names most similar to `given`, best first. The last component counts almost as much as the
/// whole name, because people remember `authentication`, not
/// `guidelines.security.authentication`.
pub(crate) fn nearest<'a>(given: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let given = given.trim().to_lowercase();
    let mut near: Vec<(f64, &str)> = names
        .map(|name| (similarity(&given, &name.to_lowercase()), name))
        .filter(|(similarity, _)| *similarity >= MIN_SIMILARITY)
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.len().cmp(&b.1.len())));
    near.into_iter().take(MAX).map(|(_, name)| name.to_owned()).collect()
}

fn similarity(given: &str, name: &str) -> f64 {
    if given.is_empty() {
        return 0.0;
    }
    let last = name.rsplit(['.', '/', ':']).next().unwrap_or(name);
    let given_last = given.rsplit(['.', '/', ':', '#']).next().unwrap_or(given);
    let whole = strsim::jaro_winkler(given, name);
    let part = 0.98 * strsim::jaro_winkler(given_last, last);
    if name == given {
        1.0
    } else if last == given_last {
        0.99
    } else {
        whole.max(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typos_and_last_components_are_found() {
        let names = ["guidelines.security.authentication", "context.architecture", "plans.x"];
        let near = |given| nearest(given, names.into_iter());
        assert_eq!(near("authentication"), ["guidelines.security.authentication"]);
        assert_eq!(near("Guidelines.Security.Authentification"), [names[0]]);
        assert_eq!(near("context.architcture"), [names[1]]);
        assert!(near("zebra").is_empty());
    }
}
