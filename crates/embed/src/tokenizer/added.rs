//! Tokens that are found in the text as it is, before it is split.

use std::collections::HashMap;
use std::ops::Range;

use regex::Regex;
use serde::Deserialize;

use super::TokenizerError;

pub(super) struct Added {
    pattern: Regex,
    tokens: HashMap<String, Found>,
}

#[derive(Clone, Copy)]
struct Found {
    id: u32,
    /// Whether the token takes the white space before it.
    strips_before: bool,
    /// Whether the token takes the white space after it.
    strips_after: bool,
}

#[derive(Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "the fields of the file")]
pub(super) struct AddedToken {
    content: String,
    #[serde(default)]
    single_word: bool,
    #[serde(default)]
    lstrip: bool,
    #[serde(default)]
    rstrip: bool,
    #[serde(default)]
    normalized: bool,
}

/// Whether text is changed before tokens are found in it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Normalized {
    Yes,
    No,
}

impl Added {
    pub(super) fn new(
        mut tokens: Vec<AddedToken>,
        vocabulary: &HashMap<String, u32>,
        text: Normalized,
    ) -> Result<Option<Self>, TokenizerError> {
        tokens.retain(|token| !token.content.is_empty());
        if let Some(token) = tokens.iter().find(|token| !token.is_literal(text)) {
            return Err(TokenizerError::Unsupported {
                part: "added token",
                found: format!("`{}`, which is normalized or a single word", token.content),
                supported: "a token that is found in the text as it is",
            });
        }
        if tokens.is_empty() {
            return Ok(None);
        }
        let ids = ids(&tokens, vocabulary);
        // Of several at the same place, the longest is found.
        tokens.sort_by_key(|token| std::cmp::Reverse(token.content.len()));
        let alternatives: Vec<String> =
            tokens.iter().map(|token| regex::escape(&token.content)).collect();
        let pattern =
            Regex::new(&alternatives.join("|")).map_err(|_| TokenizerError::Unsupported {
                part: "list of added tokens",
                found: format!("{} tokens long", tokens.len()),
                supported: "a shorter one",
            })?;
        let found = |token: &AddedToken, id| Found {
            id,
            strips_before: token.lstrip,
            strips_after: token.rstrip,
        };
        let tokens = tokens.iter().filter_map(|token| {
            Some((token.content.clone(), found(token, *ids.get(&token.content)?)))
        });
        Ok(Some(Self { pattern, tokens: tokens.collect() }))
    }

    /// The tokens of the text with the bytes they take, from left to right.
    pub(super) fn find(&self, text: &str) -> impl Iterator<Item = (u32, Range<usize>)> {
        let mut done = 0;
        self.pattern.find_iter(text).map(move |matched| {
            let token = self.tokens[matched.as_str()];
            let Range { mut start, mut end } = matched.range();
            // Another token may have taken the white space in between.
            start = start.max(done);
            if token.strips_before {
                start = done + text[done..start].trim_end().len();
            }
            if token.strips_after {
                end = text.len() - text[end..].trim_start().len();
            }
            done = end;
            (token.id, start..end)
        })
    }
}

/// Ids follow those of the vocabulary; a token that is in it keeps its own. The ids in the file are
/// the same and are not read.
fn ids(tokens: &[AddedToken], vocabulary: &HashMap<String, u32>) -> HashMap<String, u32> {
    let mut next = u32::try_from(vocabulary.len()).unwrap_or(u32::MAX)..;
    let mut ids = HashMap::new();
    for token in tokens {
        let id = vocabulary.get(&token.content).copied();
        if let Some(id) = id.or_else(|| ids.get(&token.content).copied()).or_else(|| next.next()) {
            ids.insert(token.content.clone(), id);
        }
    }
    ids
}

impl AddedToken {
    fn is_literal(&self, text: Normalized) -> bool {
        !(self.single_word || self.normalized && text == Normalized::Yes)
    }
}
