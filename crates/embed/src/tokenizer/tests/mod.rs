//! Compares ids and offsets with the crate `tokenizers`, and the tables with those that it uses.

mod bpe;

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use proptest::prelude::*;
use serde_json::{Value, json};
use tokenizers::Tokenizer;
use unicode_categories::UnicodeCategories;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::{canonical_combining_class, decompose_canonical};
use unicode_normalization_alignments::char as original_char;

use super::{Tokenizer as Ours, TokenizerError};
use crate::TOKENIZER_JSON;

pub(super) const LANGUAGES: &str = include_str!("../../../../tokens/tests/languages.txt");

static BUNDLED: LazyLock<Pair> = LazyLock::new(|| Pair::new(TOKENIZER_JSON));

/// Our tokenizer and the original, from the same file.
struct Pair {
    ours: Ours,
    original: Tokenizer,
}

impl Pair {
    fn new(json: &[u8]) -> Self {
        let mut original = Tokenizer::from_bytes(json).unwrap();
        original.with_truncation(None).unwrap();
        original.with_padding(None);
        Self { ours: Ours::from_json(json).unwrap(), original }
    }

    #[track_caller]
    fn check(&self, text: &str) {
        let found = self.ours.encode(text);
        let expected = self.original.encode(text, true).unwrap();
        let inner = 1..expected.get_ids().len() - 1;
        assert_eq!(found.ids, expected.get_ids()[inner.clone()], "{text:?}");
        let offsets: Vec<_> = found.offsets.iter().map(|range| (range.start, range.end)).collect();
        assert_eq!(offsets, expected.get_offsets()[inner], "{text:?}");
        let markers = [self.ours.start, self.ours.end].map(Some);
        assert_eq!(
            markers,
            [expected.get_ids().first(), expected.get_ids().last()].map(Option::<&u32>::copied)
        );
    }
}

#[track_caller]
fn check(text: &str) {
    BUNDLED.check(text);
}

/// `UPDATE_GOLDEN=1` writes the file.
#[test]
fn the_tables_are_those_of_the_original() {
    let mut tables = String::from(
        "//! Written by a test, see `the_tables_are_those_of_the_original`.\n\nuse super::CodePoints;\n",
    );
    table(&mut tables, "CONTROL", char::is_other);
    table(&mut tables, "PUNCTUATION", char::is_punctuation);
    table(&mut tables, "ACCENTS", char::is_mark_nonspacing);
    table(&mut tables, "NEWER", |c| {
        let (mut ours, mut original) = (Vec::new(), Vec::new());
        decompose_canonical(c, |part| ours.push(part));
        original_char::decompose_canonical(c, |part| original.push(part));
        let class = original_char::canonical_combining_class(c);
        ours != original || canonical_combining_class(c) != class
    });
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tokenizer/wordpiece/unicode/tables.rs");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &tables).unwrap();
    }
    assert!(std::fs::read_to_string(&path).unwrap() == tables, "{} is old", path.display());
}

fn table(text: &mut String, name: &str, contains: impl Fn(char) -> bool) {
    let mut ranges: Vec<(char, char)> = Vec::new();
    for c in ('\u{80}'..=char::MAX).filter(|&c| contains(c)) {
        match ranges.last_mut() {
            Some((_, last)) if u32::from(*last) + 1 == u32::from(c) => *last = c,
            _ => ranges.push((c, c)),
        }
    }
    write!(text, "\n#[rustfmt::skip]\npub(super) const {name}: &[CodePoints] = &[").unwrap();
    for (index, (first, last)) in ranges.iter().enumerate() {
        let gap = if index % 3 == 0 { "\n    " } else { " " };
        let (first, last) = (first.escape_unicode(), last.escape_unicode());
        write!(text, "{gap}('{first}', '{last}'),").unwrap();
    }
    text.push_str("\n];\n");
}

#[test]
fn languages_agree() {
    check(LANGUAGES);
    for line in LANGUAGES.lines() {
        let forms: [String; 4] = [
            line.nfc().collect(),
            line.nfd().collect(),
            line.nfkc().collect(),
            line.nfkd().collect(),
        ];
        for form in forms {
            check(&form);
            check(&form.to_uppercase());
            check(&form.to_lowercase());
        }
        for (at, _) in line.char_indices() {
            check(&line[at..]);
        }
    }
}

#[test]
fn every_character_agrees() {
    // Of ideographs and of code points that are not assigned, some are enough.
    let others = (0x2_0000..0x11_0000).step_by(61);
    for c in (0..0x2_0000).chain(0xE_0000..0xE_1000).chain(others).filter_map(char::from_u32) {
        check(&format!("{c} a{c}b {c}\u{301}\u{323}{c}\u{302E} é{c}"));
    }
}

#[test]
fn control_characters_and_white_space_agree() {
    let controls = ('\0'..'\u{A1}').chain('\u{2000}'..'\u{2070}').chain([
        '\u{AD}',
        '\u{FEFF}',
        '\u{FFFD}',
        '\u{3000}',
        '\u{180E}',
        '\u{1680}',
        '\u{E0001}',
    ]);
    for c in controls {
        for text in
            ["a_b", "_", "__", "a _ b", "中_文", "é_\u{301}", "_a_", "[CLS]_[SEP]", "[CL_S]"]
        {
            check(&text.replace('_', &c.to_string()));
        }
    }
}

#[test]
fn added_tokens_agree() {
    for text in [
        "[CLS]",
        "[SEP][SEP]",
        "a[MASK]b",
        "[cls]",
        "[CLS",
        "CLS]",
        "[[CLS]]",
        " [PAD] [UNK] ",
        "é[SEP]É",
        "[CLS]\u{301}",
        "\u{301}[SEP]\u{301}e",
        "中[MASK]文",
        "[\u{301}CLS]",
        "[UNK",
    ] {
        check(text);
    }
}

#[test]
fn long_words_agree() {
    for length in [98, 99, 100, 101, 102, 5000] {
        for unit in ["a", "ab", "é", "中", "ß", "İ", "ﬁ", "ॐ", "!", "e\u{301}", "x\u{200B}", "zq"]
        {
            check(&unit.repeat(length));
            check(&format!("see {} there", unit.repeat(length)));
        }
    }
}

#[test]
fn sources_and_documents_agree() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().parent().unwrap();
    let mut files = Vec::new();
    for folder in ["crates", "docs", "data", "examples", "skills", "xtask"] {
        collect(&root.join(folder), &mut files);
    }
    for file in &files {
        check(&std::fs::read_to_string(file).unwrap());
    }
    assert!(files.len() > 100, "{} files", files.len());
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let extension = path.extension().and_then(|extension| extension.to_str());
        if path.is_dir() {
            collect(&path, files);
        } else if let Some("rs" | "md" | "toml" | "py" | "css" | "js" | "mjs") = extension {
            files.push(path);
        }
    }
}

/// The bundled file with one value changed.
fn changed(pointer: &str, value: Value) -> Vec<u8> {
    let mut json: Value = serde_json::from_slice(TOKENIZER_JSON).unwrap();
    *json.pointer_mut(pointer).unwrap() = value;
    serde_json::to_vec(&json).unwrap()
}

#[test]
fn other_files_agree() {
    let bert = json!({"type": "BertProcessing", "sep": ["[SEP]", 102], "cls": ["[CLS]", 101]});
    for (pointer, value) in [
        ("/normalizer/clean_text", json!(false)),
        ("/normalizer/handle_chinese_chars", json!(false)),
        ("/normalizer/strip_accents", json!(false)),
        ("/normalizer/lowercase", json!(false)),
        ("/model/max_input_chars_per_word", json!(5)),
        ("/model/continuing_subword_prefix", json!("")),
        ("/model/unk_token", json!("the")),
        ("/added_tokens", json!([])),
        ("/added_tokens/0/content", json!("[CLS][SEP]")),
        ("/added_tokens/4/lstrip", json!(true)),
        ("/added_tokens/4/rstrip", json!(true)),
        ("/post_processor", bert),
        ("/post_processor/special_tokens/[CLS]/ids", json!([7])),
    ] {
        let pair = Pair::new(&changed(pointer, value));
        for line in LANGUAGES.lines() {
            pair.check(line);
            pair.check(&line.nfd().collect::<String>());
        }
        pair.check("a\tb\r\n\u{1}c [CLS][SEP] \u{B}[MASK]unaffable");
        pair.check("a \n [MASK] [MASK]\u{A0} [SEP] [MASK]  ");
    }
}

#[test]
fn what_is_not_supported_is_named() {
    for (pointer, value, message) in [
        (
            "/model",
            json!({"type": "Unigram", "unk_id": 0, "vocab": [["a", -1.0]]}),
            "its model is `Unigram`; only `WordPiece` or `BPE` is supported",
        ),
        ("/model/unk_token", json!("[NONE]"), "the token `[NONE]` is not in its vocabulary"),
        (
            "/normalizer",
            json!(null),
            "its normalizer is of no type; only `BertNormalizer` is supported",
        ),
        (
            "/normalizer",
            json!({"type": "Sequence", "normalizers": []}),
            "its normalizer is `Sequence`; only `BertNormalizer` is supported",
        ),
        (
            "/pre_tokenizer/type",
            json!("Metaspace"),
            "its pre_tokenizer is `Metaspace`; only `BertPreTokenizer` is supported",
        ),
        (
            "/post_processor/type",
            json!("ByteLevel"),
            "its post_processor is `ByteLevel`; only `TemplateProcessing`, `BertProcessing` or `RobertaProcessing` is supported",
        ),
        (
            "/post_processor/single",
            json!([]),
            "its post_processor is another template; only one token before and one after the text is supported",
        ),
        (
            "/added_tokens/4/normalized",
            json!(true),
            "its added token is `[MASK]`, which is normalized or a single word; only a token that is found in the text as it is is supported",
        ),
    ] {
        let found = Ours::from_json(&changed(pointer, value)).err().unwrap();
        assert_eq!(found.to_string(), message);
    }
    assert!(matches!(Ours::from_json(b"{"), Err(TokenizerError::Json(_))));
}

/// Characters that decompose or have a combining class.
static MARKS: LazyLock<Vec<char>> = LazyLock::new(|| {
    let is_mark = |&c: &char| {
        canonical_combining_class(c) != 0 || c.nfd().count() > 1 || c.nfd().next() != Some(c)
    };
    let hangul = |c: &char| ('\u{AC00}'..='\u{D7A3}').contains(c);
    (' '..=char::MAX).filter(|c| !hangul(c)).filter(is_mark).collect()
});

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_text_agrees(text in any::<String>()) {
        check(&text);
    }

    #[test]
    fn any_code_points_agree(text in prop::collection::vec(0_u32..0x3_4000, 0..100)) {
        check(&text.into_iter().filter_map(char::from_u32).collect::<String>());
    }

    #[test]
    fn marks_in_any_order_agree(text in prop::collection::vec(prop::sample::select(&MARKS[..]), 0..20)) {
        check(&text.into_iter().collect::<String>());
    }

    #[test]
    fn prose_agrees(text in "([ \t\n\u{A0}]{0,2}[A-Za-zÀ-ɏ\u{300}-\u{330}]{0,12}[0-9]{0,4}[.,#_!–]{0,2}){0,30}") {
        check(&text);
    }
}
