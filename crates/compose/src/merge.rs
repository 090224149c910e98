//! Composition strategies: concatenates texts, or merges them by format.

use serde_json::Value;

use crate::error::{Error, Result};

/// Joins texts with an empty line between them.
pub(crate) fn concat<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let texts = texts.into_iter().map(|text| text.trim_matches(['\n', '\r']));
    let texts: Vec<&str> = texts.filter(|text| !text.is_empty()).collect();
    if texts.is_empty() { String::new() } else { texts.join("\n\n") + "\n" }
}

/// Merges texts by format. Each comes with the id that errors name.
pub(crate) fn merge(format: &str, texts: &[(&str, &str)]) -> Result<String> {
    match format.to_ascii_lowercase().as_str() {
        "json" => {
            let merged = merged(texts, |text| {
                serde_json::from_str(text).map_err(|error| error.to_string())
            })?;
            Ok(serde_json::to_string_pretty(&merged).unwrap_or_default() + "\n")
        }
        "yaml" | "yml" => {
            let merged = merged(texts, yaml)?;
            serde_saphyr::to_string(&merged)
                .map_err(|error| Error::Merge { problem: error.to_string() })
        }
        "markdown" | "md" => Ok(markdown(texts.iter().map(|(_, text)| *text))),
        other => Err(Error::Merge { problem: format!("`{other}` cannot be merged") }),
    }
}

pub(crate) fn yaml(text: &str) -> Result<Value, String> {
    serde_saphyr::from_str(text).map_err(|error| error.to_string())
}

fn merged(texts: &[(&str, &str)], parse: impl Fn(&str) -> Result<Value, String>) -> Result<Value> {
    let mut all = Value::Null;
    for (id, text) in texts.iter().filter(|(_, text)| !text.trim().is_empty()) {
        let value = parse(text).map_err(|problem| Error::Merge {
            problem: format!("`{id}` cannot be parsed: {problem}"),
        })?;
        all = deep(all, value);
    }
    Ok(all)
}

/// Objects are merged key by key, lists are joined without duplicates; otherwise the later value
/// wins, unless it is null.
pub(crate) fn deep(a: Value, b: Value) -> Value {
    match (a, b) {
        (Value::Object(mut a), Value::Object(b)) => {
            for (key, value) in b {
                let before = a.get_mut(&key).map_or(Value::Null, Value::take);
                a.insert(key, deep(before, value));
            }
            Value::Object(a)
        }
        (Value::Array(mut a), Value::Array(b)) => {
            for item in b {
                if !a.contains(&item) {
                    a.push(item);
                }
            }
            Value::Array(a)
        }
        (before, Value::Null) => before,
        (_, later) => later,
    }
}

/// A heading with its text and the sections below it.
#[derive(Debug, Default)]
struct Section {
    heading: String,
    level: usize,
    body: Vec<String>,
    below: Vec<Section>,
}

/// Sections with the same path of headings become one, at the position of the first; their bodies
/// follow each other.
fn markdown<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    let mut root = Section::default();
    for text in texts {
        let mut path: Vec<usize> = Vec::new();
        for (heading, body) in sections(text) {
            let level = heading.as_ref().map_or(0, |heading| level(heading));
            if let Some(heading) = heading {
                while root.at(&path).level >= level {
                    path.pop();
                }
                let index = root.at(&path).index_of(&heading, level);
                path.push(index);
            }
            let body = body.trim_matches('\n');
            let here = root.at(&path);
            if !body.trim().is_empty() && !here.body.iter().any(|known| known == body) {
                here.body.push(body.to_owned());
            }
        }
    }
    let mut parts = Vec::new();
    root.collect(&mut parts);
    concat(parts)
}

impl Section {
    fn at(&mut self, path: &[usize]) -> &mut Self {
        path.iter().fold(self, |section, &index| &mut section.below[index])
    }

    /// The index of the section with this heading, which is added if it is new.
    fn index_of(&mut self, heading: &str, level: usize) -> usize {
        let same = |known: &Self| known.level == level && known.heading == heading;
        self.below.iter().position(same).unwrap_or_else(|| {
            self.below.push(Self { heading: heading.to_owned(), level, ..Self::default() });
            self.below.len() - 1
        })
    }

    fn collect<'a>(&'a self, parts: &mut Vec<&'a str>) {
        parts.push(&self.heading);
        parts.extend(self.body.iter().map(String::as_str));
        self.below.iter().for_each(|below| below.collect(parts));
    }
}

fn level(heading: &str) -> usize {
    heading.chars().take_while(|c| *c == '#').count()
}

/// Headings with the text up to the next one. Lines inside code fences are not headings.
fn sections(text: &str) -> Vec<(Option<String>, String)> {
    let mut all: Vec<(Option<String>, String)> = vec![(None, String::new())];
    let mut fence: Option<(char, usize)> = None;
    for line in text.lines() {
        let marked = line.trim_start();
        let run = |mark: char| marked.chars().take_while(|c| *c == mark).count();
        let here = ['`', '~'].into_iter().map(|mark| (mark, run(mark))).find(|(_, n)| *n >= 3);
        fence = match (fence, here) {
            (None, opened) => opened,
            (Some((mark, length)), Some((other, n)))
                if mark == other && n >= length && marked.trim_end().len() == n =>
            {
                None
            }
            (open, _) => open,
        };
        let hashes = level(line);
        let is_heading =
            fence.is_none() && (1..=6).contains(&hashes) && line[hashes..].starts_with(' ');
        if is_heading {
            all.push((Some(line.trim_end().to_owned()), String::new()));
        } else if let Some((_, body)) = all.last_mut() {
            body.push_str(line);
            body.push('\n');
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn merges_values_deeply() {
        let a = json!({"a": 1, "list": [1, 2], "in": {"x": 1}});
        let b = json!({"a": 2, "list": [2, 3], "in": {"y": 2}, "none": null});
        let all = json!({"a": 2, "list": [1, 2, 3], "in": {"x": 1, "y": 2}, "none": null});
        assert_eq!(deep(a, b), all);
    }

    #[test]
    fn merges_markdown_by_heading() {
        let one = "intro\n\n# A\n\none\n\n## Deep\n\nd1\n\n# B\n\nb\n";
        let two = "# A\n\ntwo\n\n## Deep\n\nd2\n\n```\n# no heading\n```\n";
        let all = "intro\n\n# A\n\none\n\ntwo\n\n## Deep\n\nd1\n\nd2\n\n```\n# no heading\n```\n\n# B\n\nb\n";
        assert_eq!(markdown([one, two].into_iter()), all);
    }
}
