//! Text functions: slugs, plain text, summaries, keywords, dates, token counts.

use std::collections::HashMap;

use chrono::{DateTime, NaiveDate, Utc};
use pulldown_cmark::{Event, Options, Parser, TagEnd};
use tantivy::tokenizer::{Language, StopWordFilter, TextAnalyzer};
use tantivy::tokenizer::{LowerCaser, RemoveLongFilter, SimpleTokenizer};

use crate::dialect::{Dialect, commonmark};

/// The Markdown extensions that every parser in this crate enables.
pub(crate) fn markdown_options() -> Options {
    Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
}

/// Lower case, with runs of anything but letters, digits and `_` replaced by one `-`.
pub(crate) fn slug(text: &str) -> String {
    let mut slug = String::with_capacity(text.len());
    for c in text.chars().flat_map(char::to_lowercase) {
        if c.is_alphanumeric() || c == '_' {
            slug.push(c);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.truncate(slug.trim_end_matches('-').len());
    if slug.is_empty() {
        slug.push_str("section");
    }
    slug
}

/// Markdown with its markup removed; code keeps its lines. Whether it is MDX is guessed.
pub(crate) fn plain(markdown: &str) -> String {
    plain_of(markdown, Dialect::guess(markdown))
}

/// Markdown of a known dialect with its markup removed; code keeps its lines.
pub(crate) fn plain_of(markdown: &str, dialect: Dialect) -> String {
    let markdown = commonmark(markdown, dialect);
    let mut out = String::with_capacity(markdown.len());
    // A block of HTML comes line by line, but tags and comments span lines.
    let mut html_block = String::new();
    for event in Parser::new_ext(&markdown, markdown_options()) {
        match event {
            Event::Text(text) | Event::Code(text) => out.push_str(&text),
            Event::Html(html) => html_block.push_str(&html),
            Event::InlineHtml(html) => push_without_tags(&html, &mut out),
            Event::SoftBreak | Event::HardBreak => out.push('\n'),
            Event::End(TagEnd::HtmlBlock) => {
                push_without_tags(&html_block, &mut out);
                html_block.clear();
            }
            Event::End(TagEnd::TableCell) => out.push('\t'),
            Event::End(TagEnd::Item | TagEnd::TableRow | TagEnd::TableHead) => newline(&mut out, 1),
            Event::End(TagEnd::Paragraph | TagEnd::Heading(_) | TagEnd::CodeBlock) => {
                newline(&mut out, 2);
            }
            _ => {}
        }
    }
    out.truncate(out.trim_end().len());
    out.drain(..out.len() - out.trim_start_matches('\n').len());
    out
}

/// Appends the text between the tags. Comments, scripts and styles are no text.
fn push_without_tags(html: &str, out: &mut String) {
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let is_tag = rest[1..].starts_with(|c: char| c.is_ascii_alphabetic() || "/!?".contains(c));
        if !is_tag {
            out.push('<');
            rest = &rest[1..];
            continue;
        }
        let end = match invisible(rest) {
            Some(end) => rest.find(end).map(|at| at + end.len()),
            None => rest.find('>').map(|at| at + 1),
        };
        if is_block(rest) && !out.ends_with(char::is_whitespace) && !out.is_empty() {
            out.push(' ');
        }
        rest = &rest[end.unwrap_or(rest.len())..];
    }
    out.push_str(rest);
}

/// The end of a construct that hides what is in it.
fn invisible(html: &str) -> Option<&'static str> {
    [("<!--", "-->"), ("<script", "</script>"), ("<style", "</style>")]
        .into_iter()
        .find(|(start, _)| html.starts_with(start))
        .map(|(_, end)| end)
}

/// Whether the tag that `html` starts with separates words.
fn is_block(html: &str) -> bool {
    const NAMES: [&str; 18] = [
        "p", "div", "br", "li", "ul", "ol", "td", "th", "tr", "table", "dt", "dd", "summary",
        "details", "h1", "h2", "h3", "h4",
    ];
    let name = html.trim_start_matches(['<', '/']);
    let end = name.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(name.len());
    NAMES.iter().any(|known| name[..end].eq_ignore_ascii_case(known))
}

/// The date at the start of `text`, such as `2026-10-20` or `2026-10-20T08:00:00Z`.
pub(crate) fn parse_date(text: &str) -> Option<NaiveDate> {
    text.get(..10)?.parse().ok()
}

/// The date of a moment in milliseconds since 1970, such as `2026-10-20`.
pub(crate) fn format_date(millis: u64) -> String {
    let millis = i64::try_from(millis).unwrap_or(i64::MAX);
    let moment = DateTime::from_timestamp_millis(millis).unwrap_or(DateTime::<Utc>::MAX_UTC);
    moment.date_naive().to_string()
}

fn newline(out: &mut String, wanted: usize) {
    if out.is_empty() {
        return;
    }
    out.truncate(out.trim_end_matches(['\n', '\t']).len());
    out.extend(std::iter::repeat_n('\n', wanted));
}

/// The first paragraph of Markdown as one line of at most `max` characters.
pub(crate) fn summary(markdown: &str, max: usize) -> String {
    let plain = plain(markdown);
    let first = plain.split("\n\n").next().unwrap_or_default();
    one_line(first, max)
}

/// Collapses white space and cuts at `max` characters with an ellipsis.
pub(crate) fn one_line(text: &str, max: usize) -> String {
    let folded = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match folded.char_indices().nth(max) {
        Some((cut, _)) => format!("{}…", folded[..cut].trim_end()),
        None => folded,
    }
}

/// Keywords of a text: the words of its title first, then the most frequent ones.
pub(crate) fn keywords(title: &str, body: &str, max: usize) -> Vec<String> {
    let mut analyzer = TextAnalyzer::builder(SimpleTokenizer::default())
        .filter(RemoveLongFilter::limit(40))
        .filter(LowerCaser)
        .filter(StopWordFilter::new(Language::English).expect("tantivy ships English stop words"))
        .build();
    let mut seen: HashMap<String, (usize, usize)> = HashMap::new();
    let mut count = |text: &str, weight: usize| {
        let mut stream = analyzer.token_stream(text);
        while stream.advance() {
            let word = &stream.token().text;
            if word.chars().count() > 2 && !word.chars().all(|c| c.is_ascii_digit()) {
                let next = seen.len();
                seen.entry(word.clone()).or_insert((0, next)).0 += weight;
            }
        }
    };
    count(title, 1000);
    count(&plain(body), 1);
    let mut ranked: Vec<_> = seen.into_iter().collect();
    ranked.sort_by_key(|(_, (weight, first))| (std::cmp::Reverse(*weight), *first));
    ranked.into_iter().take(max).map(|(word, _)| word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs_keep_letters_of_any_script() {
        for (text, expected) in [
            ("Problem Statement", "problem-statement"),
            ("Tool: discover_context", "tool-discover_context"),
            ("  C++ & Rust!  ", "c-rust"),
            ("Überblick 設計", "überblick-設計"),
            ("!!!", "section"),
        ] {
            assert_eq!(slug(text), expected);
        }
    }

    #[test]
    fn plain_text_drops_markup_and_keeps_code() {
        let markdown = "A *very* `small` [link](x).\n\n- one\n- two\n\n```sh\nls -l\n```\n";
        assert_eq!(plain(markdown), "A very small link.\n\none\ntwo\nls -l");
    }

    #[test]
    fn dates_are_parsed_and_formatted() {
        for (text, date) in [
            ("1970-01-01", Some("1970-01-01")),
            ("2026-11-16T08:00:00Z", Some("2026-11-16")),
            ("2026-13-01", None),
            ("soon", None),
        ] {
            assert_eq!(parse_date(text).map(|date| date.to_string()).as_deref(), date, "{text}");
        }
        assert_eq!(format_date(20_773 * 86_400_000 + 1), "2026-11-16");
        assert!(!format_date(u64::MAX).is_empty());
    }

    #[test]
    fn keywords_start_with_the_title() {
        let words = keywords("JWT Authentication", "Tokens expire. Tokens are signed.", 4);
        assert_eq!(words, ["jwt", "authentication", "tokens", "expire"]);
    }
}
