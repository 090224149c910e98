//! A byte-level tokenizer is trained here, so that no model's vocabulary has to be part of the sources.

use std::sync::LazyLock;

use proptest::prelude::*;
use serde_json::{Value, json};
use tokenizers::models::bpe::{BPE, BpeTrainer};
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::{AddedToken, Tokenizer, TokenizerBuilder};

use super::LANGUAGES;
use crate::tokenizer::Tokenizer as Ours;

const SPECIAL: [&str; 5] = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"];

static TRAINED: LazyLock<Value> = LazyLock::new(trained);
static PAIR: LazyLock<Pair> = LazyLock::new(|| Pair::new(&TRAINED));

/// The `tokenizer.json` of a `RoBERTa` model with 3,000 tokens.
fn trained() -> Value {
    let special = SPECIAL.map(|token| AddedToken::from(token, true));
    let mut trainer = BpeTrainer::builder()
        .vocab_size(3000)
        .initial_alphabet(ByteLevel::alphabet().into_iter().collect())
        .special_tokens(special.to_vec())
        .show_progress(false)
        .build();
    let mut tokenizer = TokenizerBuilder::default()
        .with_model(BPE::default())
        .with_normalizer(None::<tokenizers::NormalizerWrapper>)
        .with_pre_tokenizer(Some(ByteLevel::new(false, true, true)))
        .with_post_processor(None::<tokenizers::PostProcessorWrapper>)
        .with_decoder(None::<tokenizers::DecoderWrapper>)
        .build()
        .unwrap();
    let sources = include_str!("../mod.rs").lines().chain(include_str!("mod.rs").lines());
    tokenizer.train(&mut trainer, LANGUAGES.lines().chain(sources)).unwrap();
    let mut json: Value = serde_json::from_str(&tokenizer.to_string(false).unwrap()).unwrap();
    json["post_processor"] = json!({
        "type": "RobertaProcessing",
        "sep": ["</s>", 2],
        "cls": ["<s>", 0],
        "trim_offsets": true,
        "add_prefix_space": false,
    });
    json["added_tokens"][4]["lstrip"] = json!(true);
    json
}

struct Pair {
    ours: Ours,
    original: Tokenizer,
}

impl Pair {
    fn new(json: &Value) -> Self {
        let json = json.to_string().into_bytes();
        let original = Tokenizer::from_bytes(&json).unwrap();
        Self { ours: Ours::from_json(&json).unwrap(), original }
    }

    #[track_caller]
    fn check(&self, text: &str) {
        let found = self.ours.encode(text);
        let expected = self.original.encode(text, true).unwrap();
        let marked = [&[self.ours.start], &found.ids[..], &[self.ours.end]].concat();
        assert_eq!(marked, expected.get_ids(), "{text:?}");
        let mut done = 0;
        for range in found.offsets {
            assert!(text.get(range.clone()).is_some(), "{range:?} of {text:?}");
            // Several tokens may be of one character.
            assert!(range.start <= done && range.end >= done, "{range:?} after {done}: {text:?}");
            done = range.end;
        }
        assert_eq!(done, text.len(), "{text:?}");
    }
}

#[track_caller]
fn check(text: &str) {
    PAIR.check(text);
}

#[test]
fn languages_agree() {
    check(LANGUAGES);
    for line in LANGUAGES.lines() {
        check(line);
        check(&line.to_uppercase());
        check(&line.replace(' ', "  "));
        check(&line.replace(' ', "\n\t "));
        for (at, _) in line.char_indices() {
            check(&line[at..]);
        }
    }
}

#[test]
fn every_character_agrees() {
    for c in (0..0x3000).chain((0x3000..0x11_0000).step_by(61)).filter_map(char::from_u32) {
        check(&format!("{c} a{c}b  {c}1{c}{c} 's{c}"));
    }
}

#[test]
fn contractions_and_white_space_agree() {
    for text in [
        "",
        " ",
        "  ",
        "\n",
        " \n",
        "\n ",
        "a ",
        "a  ",
        "a  b",
        "a \n b",
        "\u{A0}a",
        "a\u{3000}\u{3000}b",
        "we'll they've I'm it's don't he'd you're 'S 'LL x'y",
        "1234567890 12.5e-3",
        "...!?",
        " ...a",
        "<mask>",
        "a <mask> b",
        "a \n<mask>  <mask>",
        "<s></s>",
        "<s >",
        "é<mask>É",
        " <mask>",
    ] {
        check(text);
    }
}

#[test]
fn long_pieces_agree() {
    for unit in ["a", "ab", "é", "中", " ", "!", "x1", "the"] {
        check(&unit.repeat(20_000));
    }
}

#[test]
fn other_files_agree() {
    let merges = |json: &mut Value| {
        let pairs = json["model"]["merges"].as_array().unwrap();
        let line = |pair: &Value| match pair {
            Value::Array(pair) => {
                format!("{} {}", pair[0].as_str().unwrap(), pair[1].as_str().unwrap())
            }
            other => other.as_str().unwrap().to_owned(),
        };
        json["model"]["merges"] = pairs.iter().map(line).collect();
    };
    let changes: [&dyn Fn(&mut Value); 5] = [
        &|json| json["pre_tokenizer"]["add_prefix_space"] = json!(true),
        &|json| json["model"]["ignore_merges"] = json!(true),
        &|json| json["added_tokens"][0]["normalized"] = json!(true),
        &|json| json["added_tokens"][4]["rstrip"] = json!(true),
        &merges,
    ];
    for change in changes {
        let mut json = TRAINED.clone();
        change(&mut json);
        let pair = Pair::new(&json);
        for line in LANGUAGES.lines() {
            pair.check(line);
            pair.check(&format!(" {line}<mask> {line}"));
        }
    }
}

#[test]
fn what_is_not_supported_is_named() {
    for (pointer, value, message) in [
        (
            "/normalizer",
            json!({"type": "NFC"}),
            "its normalizer is `NFC`; only none with `BPE` is supported",
        ),
        (
            "/pre_tokenizer/type",
            json!("Whitespace"),
            "its pre_tokenizer is `Whitespace`; only `ByteLevel` with `BPE` is supported",
        ),
        (
            "/pre_tokenizer/use_regex",
            json!(false),
            "its pre_tokenizer is `ByteLevel` without `use_regex`; only `ByteLevel` with it is supported",
        ),
        (
            "/model/dropout",
            json!(0.1),
            "its model is `BPE` with `dropout`; only `BPE` without is supported",
        ),
        (
            "/model/byte_fallback",
            json!(true),
            "its model is `BPE` with `byte_fallback`; only `BPE` without is supported",
        ),
        ("/model/vocab", json!({"a": 0}), "the token `Ā` is not in its vocabulary"),
    ] {
        let mut json = TRAINED.clone();
        *json.pointer_mut(pointer).unwrap() = value;
        let found = Ours::from_json(json.to_string().as_bytes()).err().unwrap();
        assert_eq!(found.to_string(), message);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn any_text_agrees(text in any::<String>()) {
        check(&text);
    }

    #[test]
    fn prose_agrees(text in "([ \t\n\u{A0}]{0,3}[A-Za-zÀ-ɏ中-龥]{0,12}('[a-z]{1,2})?[0-9]{0,4}[.,#_!–]{0,2}(<mask>)?){0,20}") {
        check(&text);
    }
}
