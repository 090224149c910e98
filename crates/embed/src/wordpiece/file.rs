//! Reads a `tokenizer.json`.

use std::collections::HashMap;

use regex::Regex;
use serde::Deserialize;

use super::normalize::Normalizer;
use super::{Added, WordPiece};

/// Why a `tokenizer.json` cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TokenizerError {
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    #[error("its {part} is {found}; only {supported} is supported")]
    Unsupported { part: &'static str, found: String, supported: &'static str },
    #[error("the token `{0}` is not in its vocabulary")]
    Missing(String),
}

/// The types of the parts. They are read first, because other types have other fields.
#[derive(Deserialize)]
struct Types {
    normalizer: Option<Type>,
    pre_tokenizer: Option<Type>,
    post_processor: Option<Type>,
    model: Option<Type>,
}

#[derive(Deserialize)]
struct Type {
    #[serde(rename = "type")]
    name: Option<String>,
}

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    added_tokens: Vec<AddedToken>,
    normalizer: Normalizer,
    post_processor: PostProcessor,
    model: Model,
}

#[derive(Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "the fields of the file")]
struct AddedToken {
    content: String,
    single_word: bool,
    lstrip: bool,
    rstrip: bool,
    normalized: bool,
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum PostProcessor {
    TemplateProcessing { single: Vec<Piece>, special_tokens: HashMap<String, Special> },
    BertProcessing { cls: (String, u32), sep: (String, u32) },
}

#[derive(Deserialize)]
enum Piece {
    SpecialToken { id: String },
    Sequence {},
}

#[derive(Deserialize)]
struct Special {
    ids: Vec<u32>,
}

#[derive(Deserialize)]
struct Model {
    unk_token: String,
    continuing_subword_prefix: String,
    max_input_chars_per_word: usize,
    vocab: HashMap<String, u32>,
}

impl WordPiece {
    pub(crate) fn from_json(json: &[u8]) -> Result<Self, TokenizerError> {
        serde_json::from_slice::<Types>(json)?.check()?;
        let File { added_tokens, normalizer, post_processor, model } =
            serde_json::from_slice(json)?;
        let (start, end) = post_processor.markers()?;
        let added = Added::new(added_tokens, &model.vocab)?;
        let unknown = model.vocab.get(&model.unk_token).copied();
        let unknown = unknown.ok_or(TokenizerError::Missing(model.unk_token))?;
        let continuations = model.vocab.iter().filter_map(|(token, id)| {
            Some((token.strip_prefix(&model.continuing_subword_prefix)?.to_owned(), *id))
        });
        Ok(Self {
            continuations: continuations.collect(),
            words: model.vocab,
            unknown,
            max_chars: model.max_input_chars_per_word,
            normalizer,
            added,
            start,
            end,
        })
    }
}

impl Types {
    fn check(&self) -> Result<(), TokenizerError> {
        let supported: [(_, _, &[&str], _); 4] = [
            ("model", &self.model, &["WordPiece"], "`WordPiece`"),
            ("normalizer", &self.normalizer, &["BertNormalizer"], "`BertNormalizer`"),
            ("pre_tokenizer", &self.pre_tokenizer, &["BertPreTokenizer"], "`BertPreTokenizer`"),
            (
                "post_processor",
                &self.post_processor,
                &["TemplateProcessing", "BertProcessing"],
                "`TemplateProcessing` or `BertProcessing`",
            ),
        ];
        for (part, found, names, supported) in supported {
            let found = found.as_ref().and_then(|found| found.name.as_deref());
            if !found.is_some_and(|name| names.contains(&name)) {
                let found = found.map_or("of no type".to_owned(), |name| format!("`{name}`"));
                return Err(TokenizerError::Unsupported { part, found, supported });
            }
        }
        Ok(())
    }
}

impl PostProcessor {
    /// The markers before and after a text.
    fn markers(self) -> Result<(u32, u32), TokenizerError> {
        match self {
            Self::BertProcessing { cls, sep } => Ok((cls.1, sep.1)),
            Self::TemplateProcessing { single, special_tokens } => {
                let id = |name: &str| match special_tokens.get(name)?.ids[..] {
                    [id] => Some(id),
                    _ => None,
                };
                let markers = match &single[..] {
                    [
                        Piece::SpecialToken { id: start },
                        Piece::Sequence {},
                        Piece::SpecialToken { id: end },
                    ] => id(start).zip(id(end)),
                    _ => None,
                };
                markers.ok_or_else(|| TokenizerError::Unsupported {
                    part: "post_processor",
                    found: "another template".to_owned(),
                    supported: "one token before and one after the text",
                })
            }
        }
    }
}

impl Added {
    fn new(
        mut tokens: Vec<AddedToken>,
        vocabulary: &HashMap<String, u32>,
    ) -> Result<Option<Self>, TokenizerError> {
        tokens.retain(|token| !token.content.is_empty());
        if let Some(token) = tokens.iter().find(|token| !token.is_literal()) {
            return Err(TokenizerError::Unsupported {
                part: "added token",
                found: format!(
                    "`{}`, which is normalized, stripped or a single word",
                    token.content
                ),
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
        Ok(Some(Self { pattern, ids }))
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
    fn is_literal(&self) -> bool {
        !(self.single_word || self.lstrip || self.rstrip || self.normalized)
    }
}
