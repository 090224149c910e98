//! Makes a `tokenizer.json` of the `vocab.txt` of a BERT model that has none.

use serde_json::{Map, Value, json};

use super::TokenizerError;

/// What BERT's own tokenizer has where the files say nothing.
const TOKENS: [(&str, &str); 5] = [
    ("pad_token", "[PAD]"),
    ("unk_token", "[UNK]"),
    ("cls_token", "[CLS]"),
    ("sep_token", "[SEP]"),
    ("mask_token", "[MASK]"),
];

/// A `tokenizer.json` for a `vocab.txt`, which has a token in each line. `config` has the fields of
/// `tokenizer_config.json` and, where that has none, of `special_tokens_map.json`.
pub(crate) fn from_vocabulary(vocabulary: &str, config: &Value) -> Result<Value, TokenizerError> {
    let lines = vocabulary.lines().map(str::trim_end);
    let words: Map<String, Value> =
        lines.enumerate().map(|(id, token)| (token.to_owned(), json!(id))).collect();
    let tokens = TOKENS.map(|(field, default)| token(config, field).unwrap_or(default));
    let [_, unknown, start, end, _] = tokens;
    let id =
        |token: &str| words.get(token).ok_or_else(|| TokenizerError::Missing(token.to_owned()));
    let (start_id, end_id) = (id(start)?, id(end)?);
    let added: Vec<Value> = tokens
        .into_iter()
        .filter(|token| words.contains_key(*token))
        .map(|token| json!({"content": token}))
        .collect();
    let flag = |field: &str| config.get(field).and_then(Value::as_bool);
    Ok(json!({
        "added_tokens": added,
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": true,
            "handle_chinese_chars": flag("tokenize_chinese_chars").unwrap_or(true),
            "strip_accents": flag("strip_accents"),
            "lowercase": flag("do_lower_case").unwrap_or(true),
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {
            "type": "BertProcessing",
            "cls": [start, start_id],
            "sep": [end, end_id],
        },
        "model": {
            "type": "WordPiece",
            "unk_token": unknown,
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": words,
        },
    }))
}

/// A token is written as text, or as an object with its content.
fn token<'a>(config: &'a Value, field: &str) -> Option<&'a str> {
    let value = config.get(field)?;
    value.as_str().or_else(|| value.get("content")?.as_str())
}
