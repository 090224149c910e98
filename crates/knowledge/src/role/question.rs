//! Whether a question is about releases, so that release notes are what it asks for.

/// Phrases that only a question about releases has.
const PHRASES: [&str; 26] = [
    "changelog",
    "change log",
    "release notes",
    "release note",
    "release history",
    "version history",
    "what changed",
    "what has changed",
    "what's new",
    "whats new",
    "what is new",
    "new in ",
    "changed in ",
    "added in ",
    "removed in ",
    "deprecated in ",
    "introduced in ",
    "fixed in ",
    "changes in version",
    "breaking changes",
    "changes between",
    "changes since",
    "latest version",
    "latest release",
    "since version",
    "in the last release",
];
/// These need a version or a release behind them: "new in the sidebar" is about a sidebar.
const OPEN_PHRASES: [&str; 7] = [
    "new in ",
    "changed in ",
    "added in ",
    "removed in ",
    "deprecated in ",
    "introduced in ",
    "fixed in ",
];
/// A version behind one of these is another product's.
const PLATFORMS: [&str; 26] = [
    "python",
    "node",
    "nodejs",
    "node.js",
    "java",
    "jdk",
    "ruby",
    "php",
    "go",
    "rust",
    "ubuntu",
    "debian",
    "macos",
    "ios",
    "android",
    "windows",
    "http",
    "tls",
    "ssl",
    "ip",
    "oauth",
    "openapi",
    "css",
    "es",
    "typescript",
    "postgres",
];
/// Words that make of a version a question about what it changed.
const CHANGES: [&str; 16] = [
    "change",
    "changes",
    "changed",
    "new",
    "add",
    "added",
    "fix",
    "fixed",
    "fixes",
    "remove",
    "removed",
    "deprecated",
    "release",
    "released",
    "breaking",
    "introduced",
];
/// Before "release", these make it a noun that means a version.
const WHICH: [&str; 10] = [
    "last", "latest", "previous", "recent", "current", "which", "what", "stable", "major", "minor",
];
/// Who publishes a release asks for a guide.
const PUBLISHING: [&str; 10] = [
    "publish", "create", "cut", "make", "draft", "automate", "write", "generate", "trigger", "tag",
];

/// Whether a question is about releases: what changed, in which version, when.
pub fn is_about_releases(question: &str) -> bool {
    let question = question.to_lowercase().replace('\u{2019}', "'");
    let words: Vec<&str> = question
        .split(|c: char| c.is_whitespace() || ",;:?!()\"`".contains(c))
        .map(|word| word.trim_matches(['.', '\'']))
        .filter(|word| !word.is_empty())
        .collect();
    if words.iter().any(|word| PUBLISHING.contains(word)) {
        return false;
    }
    has_phrase(&question) || has_version(&words) || has_release(&words)
}

fn has_phrase(question: &str) -> bool {
    PHRASES.iter().any(|phrase| {
        question.match_indices(phrase).any(|(at, _)| {
            let starts = question[..at].chars().next_back().is_none_or(|c| !c.is_alphanumeric());
            let behind = question[at + phrase.len()..].split_whitespace().next();
            let behind = behind.unwrap_or_default().trim_matches(['?', '.', ',']);
            // "What is new in …" is judged by what it is new in.
            let is_open =
                OPEN_PHRASES.contains(phrase) || phrase.ends_with("new") && behind == "in";
            let names_release = ["version", "release", "v"].contains(&behind);
            starts && (!is_open || names_release || numbers(behind).is_some())
        })
    })
}

/// The number of parts of a version; `None` if it is none. An address has four.
fn numbers(word: &str) -> Option<usize> {
    let bare = word.strip_prefix('v').unwrap_or(word);
    let is_marked = bare.len() < word.len();
    let core = bare.split(['-', '+']).next().unwrap_or_default();
    let parts: Vec<&str> = core.split('.').collect();
    let is_number = |part: &&str| part.parse::<u32>().is_ok() || *part == "x";
    let starts = parts.first().is_some_and(|part| part.parse::<u32>().is_ok());
    let is_version = starts && parts.iter().all(is_number) && parts.len() <= 3;
    (is_version && (parts.len() > 1 || is_marked)).then_some(parts.len())
}

fn has_version(words: &[&str]) -> bool {
    let has_change = words.iter().any(|word| CHANGES.contains(word));
    words.iter().enumerate().any(|(at, word)| {
        let before = at.checked_sub(1).map(|at| words[at]).unwrap_or_default();
        if PLATFORMS.contains(&before) {
            return false;
        }
        let named = before == "version" && word.starts_with(|c: char| c.is_ascii_digit());
        match numbers(word) {
            Some(3) => true,
            Some(_) => has_change,
            None => named && has_change,
        }
    })
}

fn has_release(words: &[&str]) -> bool {
    words.iter().enumerate().any(|(at, word)| {
        let before = at.checked_sub(1).map(|at| words[at]).unwrap_or_default();
        let after = words.get(at + 1).copied().unwrap_or_default();
        match *word {
            "release" => WHICH.contains(&before) && after != "the" || after == "date",
            "releases" => words.iter().any(|word| CHANGES.contains(word)),
            "released" => before == "was" || before == "is" || words.first() == Some(&"when"),
            "version" => before == "which" || before == "what",
            _ => false,
        }
    })
}
