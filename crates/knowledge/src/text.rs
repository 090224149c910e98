//! Small views of text: slugs, plain text, keywords, token counts.

use std::collections::HashMap;

use pulldown_cmark::{Event, Options, Parser, TagEnd};
use tantivy::tokenizer::{Language, StopWordFilter, TextAnalyzer};
use tantivy::tokenizer::{LowerCaser, RemoveLongFilter, SimpleTokenizer};

/// The Markdown extensions that every reader in this crate understands.
pub(crate) fn markdown_options() -> Options {
    Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
}

/// Lower case, runs of anything but letters and digits become one `-`.
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

/// Markdown with its markup removed; code keeps its lines.
pub(crate) fn plain(markdown: &str) -> String {
    let mut out = String::with_capacity(markdown.len());
    for event in Parser::new_ext(markdown, markdown_options()) {
        match event {
            Event::Text(text) | Event::Code(text) => out.push_str(&text),
            Event::Html(html) | Event::InlineHtml(html) => without_tags(&html, &mut out),
            Event::SoftBreak | Event::HardBreak => out.push('\n'),
            Event::End(TagEnd::TableCell) => out.push('\t'),
            Event::End(TagEnd::Item | TagEnd::TableRow | TagEnd::TableHead) => newline(&mut out, 1),
            Event::End(TagEnd::Paragraph | TagEnd::Heading(_) | TagEnd::CodeBlock) => {
                newline(&mut out, 2);
            }
            _ => {}
        }
    }
    out.truncate(out.trim_end().len());
    out
}

/// What stands between the tags.
fn without_tags(html: &str, out: &mut String) {
    let mut inside = false;
    for c in html.chars() {
        match c {
            '<' => inside = true,
            '>' if inside => inside = false,
            c if !inside => out.push(c),
            _ => {}
        }
    }
}

/// The day of a date such as `2026-10-20`, counted from 1970.
pub(crate) fn days_since_epoch(date: &str) -> Option<i64> {
    let mut parts = date.get(..10)?.split('-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Years are counted from March, so that the leap day is the last of them.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    Some(era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468)
}

/// The date of a day counted from 1970: the opposite of [`days_since_epoch`].
pub(crate) fn date_of_day(day: u64) -> String {
    let day = day.saturating_add(719_468);
    let (era, of_era) = (day / 146_097, day % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (year, month) = (year + era * 400 + month / 10, (month + 2) % 12 + 1);
    format!("{year:04}-{month:02}-{day:02}")
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

/// White space folded, cut at `max` characters with an ellipsis.
pub(crate) fn one_line(text: &str, max: usize) -> String {
    let folded = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match folded.char_indices().nth(max) {
        Some((cut, _)) => format!("{}…", folded[..cut].trim_end()),
        None => folded,
    }
}

/// How many tokens a model of the GPT-4o family (`o200k_base`) reads in `text`.
///
/// Other models' tokenizers differ by some percent; the count is for budgeting. `bpe` is linear in
/// the length of its input where the reference implementation is quadratic on long runs.
pub fn count_tokens(text: &str) -> usize {
    bpe_openai::o200k_base().count(text)
}

/// The words a text is about: those of its title first, then its most frequent ones.
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
    fn days_and_dates_correspond() {
        assert_eq!(date_of_day(0), "1970-01-01");
        for day in (0..3_000_000).step_by(59).chain(11_000..12_000) {
            let date = date_of_day(day);
            if date.len() == 10 {
                assert_eq!(days_since_epoch(&date), Some(day.cast_signed()), "{date}");
            }
        }
    }

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
    fn dates_are_days() {
        for (date, days) in [
            ("1970-01-01", Some(0)),
            ("2000-03-01", Some(11_017)),
            ("2026-11-16", Some(20_773)),
            ("2026-11-16T08:00:00Z", Some(20_773)),
            ("2026-13-01", None),
            ("soon", None),
        ] {
            assert_eq!(days_since_epoch(date), days, "{date}");
        }
    }

    #[test]
    fn keywords_start_with_the_title() {
        let words = keywords("JWT Authentication", "Tokens expire. Tokens are signed.", 4);
        assert_eq!(words, ["jwt", "authentication", "tokens", "expire"]);
    }

    #[test]
    fn token_counts_are_those_of_the_tokenizer() {
        assert_eq!(count_tokens(""), 0);
        assert_eq!(count_tokens("hello world"), 2);
    }
}
