//! Attribute lists: `{ #anchor }`, `{: .class }`, `{#id .class key=value}`.

/// What an attribute list says that matters here.
pub(super) struct Attributes<'a> {
    pub(super) id: Option<&'a str>,
}

/// The attributes, if `inside` (the text between the braces) is a list of them.
pub(super) fn parse(inside: &str) -> Option<Attributes<'_>> {
    let (inside, marked) = match inside.trim().strip_prefix(':') {
        Some(rest) => (rest.trim(), true),
        None => (inside.trim(), false),
    };
    let mut id = None;
    let mut rest = inside;
    while !rest.is_empty() {
        let (token, after) = split_token(rest);
        let is_class = token.strip_prefix('.').is_some_and(is_name);
        // `{:toc}`: a bare word counts only behind the colon.
        let is_word = marked && is_name(token);
        if let Some(name) = token.strip_prefix('#').filter(|name| is_name(name)) {
            id = Some(name);
        } else if !(is_class || is_word || token == "-" || is_pair(token)) {
            return None;
        }
        rest = after.trim_start();
    }
    (marked || !inside.is_empty()).then_some(Attributes { id })
}

/// Whether a whole line is an attribute list.
pub(super) fn is_line(line: &str) -> bool {
    inner(line).is_some_and(|inside| parse(inside).is_some())
}

/// The anchor in a line that is only an attribute list, as kramdown writes it below a heading.
pub(crate) fn anchor_line(line: &str) -> Option<&str> {
    parse(inner(line)?)?.id
}

fn inner(line: &str) -> Option<&str> {
    let inside = line.trim().strip_prefix('{')?.strip_suffix('}')?;
    (!inside.contains(['{', '}'])).then_some(inside)
}

/// The first token; white space inside quotes does not end it.
fn split_token(text: &str) -> (&str, &str) {
    let mut quote = None;
    for (at, c) in text.char_indices() {
        if quote.is_some() {
            quote = quote.filter(|&open| open != c);
        } else if matches!(c, '"' | '\'') {
            quote = Some(c);
        } else if c.is_whitespace() {
            return text.split_at(at);
        }
    }
    (text, "")
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "-_.:".contains(c))
}

fn is_pair(token: &str) -> bool {
    token.split_once('=').is_some_and(|(key, value)| {
        key.starts_with(|c: char| c.is_ascii_alphabetic()) && is_name(key) && !value.is_empty()
    })
}
