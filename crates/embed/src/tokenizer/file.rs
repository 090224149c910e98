//! Reads a `tokenizer.json`.

use std::collections::HashMap;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::added::{Added, AddedToken, Normalized};
use super::bpe::Bpe;
use super::wordpiece::{Normalizer, WordPiece};
use super::{Algorithm, Tokenizer};

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

/// The file with the normalizer, the pre-tokenizer and the model of one algorithm.
#[derive(Deserialize)]
struct File<N, P, M> {
    #[serde(default)]
    added_tokens: Vec<AddedToken>,
    normalizer: N,
    pre_tokenizer: P,
    post_processor: PostProcessor,
    model: M,
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum PostProcessor {
    #[serde(rename = "TemplateProcessing")]
    Template { single: Vec<Piece>, special_tokens: HashMap<String, Special> },
    #[serde(rename = "BertProcessing", alias = "RobertaProcessing")]
    Markers { cls: (String, u32), sep: (String, u32) },
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
struct WordPieceModel {
    unk_token: String,
    continuing_subword_prefix: String,
    max_input_chars_per_word: usize,
    vocab: HashMap<String, u32>,
}

#[derive(Deserialize)]
struct BpeModel {
    dropout: Option<f32>,
    continuing_subword_prefix: Option<String>,
    end_of_word_suffix: Option<String>,
    #[serde(default)]
    byte_fallback: bool,
    #[serde(default)]
    ignore_merges: bool,
    vocab: HashMap<String, u32>,
    merges: Vec<Merge>,
}

/// Two tokens that become one: separated by a space, or as a pair in newer files.
#[derive(Deserialize)]
#[serde(untagged)]
enum Merge {
    Line(String),
    Pair(String, String),
}

#[derive(Deserialize)]
struct ByteLevel {
    add_prefix_space: bool,
    #[serde(default = "enabled")]
    use_regex: bool,
}

fn enabled() -> bool {
    true
}

impl Tokenizer {
    pub(crate) fn from_json(json: &[u8]) -> Result<Self, TokenizerError> {
        let types: Types = serde_json::from_slice(json)?;
        one_of("model", types.model.as_ref(), &["WordPiece", "BPE"], "`WordPiece` or `BPE`")?;
        if is(types.model.as_ref(), "BPE") { bpe(&types, json) } else { wordpiece(&types, json) }
    }
}

fn wordpiece(types: &Types, json: &[u8]) -> Result<Tokenizer, TokenizerError> {
    const NORMALIZER: &str = "BertNormalizer";
    const PRE_TOKENIZER: &str = "BertPreTokenizer";
    one_of("normalizer", types.normalizer.as_ref(), &[NORMALIZER], "`BertNormalizer`")?;
    one_of("pre_tokenizer", types.pre_tokenizer.as_ref(), &[PRE_TOKENIZER], "`BertPreTokenizer`")?;
    check_post_processor(types)?;
    let file: File<Normalizer, IgnoredAny, WordPieceModel> = serde_json::from_slice(json)?;
    let model = file.model;
    let (start, end) = file.post_processor.markers()?;
    let added = Added::new(file.added_tokens, &model.vocab, Normalized::Yes)?;
    let unknown = model.vocab.get(&model.unk_token).copied();
    let unknown = unknown.ok_or(TokenizerError::Missing(model.unk_token))?;
    let wordpiece = WordPiece::new(
        model.vocab,
        &model.continuing_subword_prefix,
        unknown,
        model.max_input_chars_per_word,
        file.normalizer,
    );
    Ok(Tokenizer { algorithm: Algorithm::WordPiece(wordpiece), added, start, end })
}

fn bpe(types: &Types, json: &[u8]) -> Result<Tokenizer, TokenizerError> {
    if let Some(found) = &types.normalizer {
        return Err(unsupported("normalizer", &found.quoted(), "none with `BPE`"));
    }
    one_of(
        "pre_tokenizer",
        types.pre_tokenizer.as_ref(),
        &["ByteLevel"],
        "`ByteLevel` with `BPE`",
    )?;
    check_post_processor(types)?;
    let file: File<Option<IgnoredAny>, ByteLevel, BpeModel> = serde_json::from_slice(json)?;
    let (model, bytes) = (file.model, file.pre_tokenizer);
    model.check()?;
    if !bytes.use_regex {
        let found = "`ByteLevel` without `use_regex`";
        return Err(unsupported("pre_tokenizer", found, "`ByteLevel` with it"));
    }
    let (start, end) = file.post_processor.markers()?;
    let added = Added::new(file.added_tokens, &model.vocab, Normalized::No)?;
    let merges = model.merges.iter().map(Merge::parts);
    let bpe = Bpe::new(&model.vocab, merges, model.ignore_merges, bytes.add_prefix_space)?;
    Ok(Tokenizer { algorithm: Algorithm::Bpe(bpe), added, start, end })
}

impl BpeModel {
    fn check(&self) -> Result<(), TokenizerError> {
        let affix = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
        let found = if self.dropout.is_some_and(|share| share > 0.0) {
            "`BPE` with `dropout`"
        } else if self.byte_fallback {
            "`BPE` with `byte_fallback`"
        } else if affix(&self.continuing_subword_prefix) {
            "`BPE` with `continuing_subword_prefix`"
        } else if affix(&self.end_of_word_suffix) {
            "`BPE` with `end_of_word_suffix`"
        } else {
            return Ok(());
        };
        Err(unsupported("model", found, "`BPE` without"))
    }
}

impl Merge {
    fn parts(&self) -> (&str, &str) {
        match self {
            Self::Line(line) => line.split_once(' ').unwrap_or((line, "")),
            Self::Pair(left, right) => (left, right),
        }
    }
}

fn unsupported(part: &'static str, found: &str, supported: &'static str) -> TokenizerError {
    TokenizerError::Unsupported { part, found: found.to_owned(), supported }
}

impl Type {
    fn quoted(&self) -> String {
        self.name.as_ref().map_or("of no type".to_owned(), |name| format!("`{name}`"))
    }
}

fn is(part: Option<&Type>, name: &str) -> bool {
    part.and_then(|part| part.name.as_deref()) == Some(name)
}

/// An error unless the type of the part is one of these names.
fn one_of(
    part: &'static str,
    found: Option<&Type>,
    names: &[&str],
    supported: &'static str,
) -> Result<(), TokenizerError> {
    if names.iter().any(|name| is(found, name)) {
        return Ok(());
    }
    let found = found.unwrap_or(&Type { name: None }).quoted();
    Err(TokenizerError::Unsupported { part, found, supported })
}

fn check_post_processor(types: &Types) -> Result<(), TokenizerError> {
    const NAMES: [&str; 3] = ["TemplateProcessing", "BertProcessing", "RobertaProcessing"];
    let supported = "`TemplateProcessing`, `BertProcessing` or `RobertaProcessing`";
    one_of("post_processor", types.post_processor.as_ref(), &NAMES, supported)
}

impl PostProcessor {
    /// The markers before and after a text.
    fn markers(self) -> Result<(u32, u32), TokenizerError> {
        match self {
            Self::Markers { cls, sep } => Ok((cls.1, sep.1)),
            Self::Template { single, special_tokens } => {
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
                let supported = "one token before and one after the text";
                markers.ok_or_else(|| unsupported("post_processor", "another template", supported))
            }
        }
    }
}
