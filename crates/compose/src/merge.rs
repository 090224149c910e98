//! Several texts as one: the strategies of composition.

use serde_json::{Map, Value};

use crate::error::Error;

/// One after the other, with an empty line between.
pub(crate) fn concat<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let texts = texts.into_iter().map(|text| text.trim_matches(['\n', '\r']));
    let texts: Vec<&str> = texts.filter(|text| !text.is_empty()).collect();
    if texts.is_empty() { String::new() } else { texts.join("\n\n") + "\n" }
}

/// Into each other, by format. `texts` come with the id they have in messages.
pub(crate) fn merge(format: &str, texts: &[(&str, &str)]) -> Result<String, Error> {
    match format.to_ascii_lowercase().as_str() {
        "json" => {
            let merged = merged(texts, |text| {
                serde_json::from_str(text).map_err(|error| error.to_string())
            })?;
            let mut text = serde_json::to_string_pretty(&merged).unwrap_or_default();
            text.push('\n');
            Ok(text)
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

fn merged(
    texts: &[(&str, &str)],
    parse: impl Fn(&str) -> Result<Value, String>,
) -> Result<Value, Error> {
    let mut all = Value::Null;
    for (id, text) in texts.iter().filter(|(_, text)| !text.trim().is_empty()) {
        let value = parse(text).map_err(|problem| Error::Merge {
            problem: format!("`{id}` cannot be parsed: {problem}"),
        })?;
        all = deep(all, value);
    }
    Ok(all)
}

/// Objects go into each other key by key, lists are joined without repeating what is there; of
/// anything else, the later one stays.
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

/// A heading with what stands under it.
#[derive(Debug, Default)]
struct Section {
    heading: String,
    level: usize,
    body: Vec<String>,
    below: Vec<Section>,
}

/// Sections with the same headings above them become one: the bodies follow each other under the
/// heading that came first.
fn markdown<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    let mut root = Section::default();
    for text in texts {
        let mut path: Vec<usize> = Vec::new();
        for (heading, body) in sections(text) {
            let level = heading.as_ref().map_or(0, |heading| level(heading));
            if let Some(heading) = heading {
                while section(&mut root, &path).level >= level {
                    path.pop();
                }
                let above = section(&mut root, &path);
                path.push(place(above, &heading, level));
            }
            let body = body.trim_matches('\n');
            let here = section(&mut root, &path);
            if !body.trim().is_empty() && !here.body.iter().any(|known| known == body) {
                here.body.push(body.to_owned());
            }
        }
    }
    let mut out = Vec::new();
    written(&root, &mut out);
    concat(out.iter().map(String::as_str))
}

fn section<'a>(root: &'a mut Section, path: &[usize]) -> &'a mut Section {
    path.iter().fold(root, |section, &place| &mut section.below[place])
}

/// Where the section with this heading is; a new one if there is none yet.
fn place(above: &mut Section, heading: &str, level: usize) -> usize {
    let same = |known: &Section| known.level == level && known.heading == heading;
    if let Some(place) = above.below.iter().position(same) {
        return place;
    }
    above.below.push(Section { heading: heading.to_owned(), level, ..Section::default() });
    above.below.len() - 1
}

fn written(section: &Section, out: &mut Vec<String>) {
    if section.level > 0 {
        out.push(section.heading.clone());
    }
    out.extend(section.body.iter().cloned());
    section.below.iter().for_each(|below| written(below, out));
}

fn level(heading: &str) -> usize {
    heading.chars().take_while(|c| *c == '#').count()
}

/// Headings with the text up to the next one; text in fences has none.
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

/// What a `template` strategy sees of a child.
pub(crate) fn children(texts: &[(&str, &str)]) -> Map<String, Value> {
    texts.iter().map(|(id, text)| ((*id).to_owned(), Value::String((*text).to_owned()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_go_into_each_other() {
        let a = json!({"a": 1, "list": [1, 2], "in": {"x": 1}});
        let b = json!({"a": 2, "list": [2, 3], "in": {"y": 2}, "none": null});
        let all = json!({"a": 2, "list": [1, 2, 3], "in": {"x": 1, "y": 2}, "none": null});
        assert_eq!(deep(a, b), all);
    }

    #[test]
    fn markdown_is_merged_by_heading() {
        let one = "intro\n\n# A\n\none\n\n## Deep\n\nd1\n\n# B\n\nb\n";
        let two = "# A\n\ntwo\n\n## Deep\n\nd2\n\n```\n# no heading\n```\n";
        let all = "intro\n\n# A\n\none\n\ntwo\n\n## Deep\n\nd1\n\nd2\n\n```\n# no heading\n```\n\n# B\n\nb\n";
        assert_eq!(markdown([one, two].into_iter()), all);
    }
}
