//! Compares ids and counts with `bpe-openai`, which in turn is tested against tiktoken.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use kenning_tokens::{count_tokens, encode, token_bytes};
use proptest::prelude::*;

const LANGUAGES: &str = include_str!("languages.txt");

#[track_caller]
fn check(text: &str) {
    let expected = bpe_openai::o200k_base().encode(text);
    let found = encode(text);
    assert_eq!(found, expected, "{text:?}");
    assert_eq!(count_tokens(text), expected.len(), "{text:?}");
    let bytes: Vec<u8> = found.iter().flat_map(|&id| token_bytes(id).unwrap()).copied().collect();
    assert!(bytes == text.as_bytes(), "the tokens are not those of {text:?}");
}

/// `UPDATE_GOLDEN=1` writes the file.
#[test]
fn the_vocabulary_is_that_of_the_original() {
    let original = &bpe_openai::o200k_base().bpe;
    let ids = 0..u32::try_from(original.num_tokens()).unwrap();
    let tokens = ids.map(|id| original.token_bytes(id));
    let expected: Vec<u8> =
        tokens.flat_map(|token| [&[u8::try_from(token.len()).unwrap()], token].concat()).collect();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/o200k_base.tokens");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &expected).unwrap();
    }
    assert!(std::fs::read(&path).unwrap() == expected, "{} is another vocabulary", path.display());
    assert_eq!(token_bytes(199_998), None);
}

/// A piece that is a token is not merged, so every token must be what merging its bytes gives.
#[test]
fn every_token_is_encoded_as_the_original_does() {
    for id in 0..199_998 {
        if let Ok(text) = std::str::from_utf8(token_bytes(id).unwrap()) {
            check(text);
        }
    }
}

#[test]
fn languages_agree() {
    check(LANGUAGES);
    for line in LANGUAGES.lines() {
        check(line);
        check(&line.to_uppercase());
        check(&line.to_lowercase());
        for (at, _) in line.char_indices() {
            check(&line[at..]);
        }
    }
    assert!(LANGUAGES.lines().count() > 60);
}

#[test]
fn contractions_agree_in_any_case() {
    for ending in ["s", "t", "re", "ve", "m", "ll", "d", "lL", "Re", "vE", "S", "ſ", "x", "", "'s"]
    {
        for word in ["it", "IT", "iT", "é", "ÉTÉ", "中", "ไม่", "7", "_", "", " ", "\n"] {
            for quote in ["'", "’", "ʼ", "''"] {
                check(&format!("{word}{quote}{ending}"));
                check(&format!(" {word}{quote}{ending}{word} {quote}{ending}\n"));
            }
        }
    }
}

/// All short texts over the characters that the alternatives of the pattern tell apart.
#[test]
fn short_texts_agree() {
    let kinds = [' ', '\n', '\r', '\t', '\u{3000}', 'a', 'A', '1', '.', '/', '\'', 's', '\u{301}'];
    let mut texts = vec![String::new()];
    for _ in 0..4 {
        let longer = texts.iter().flat_map(|text| kinds.map(|kind| format!("{text}{kind}")));
        texts = longer.collect();
        for text in &texts {
            check(text);
        }
    }
}

#[test]
fn white_space_agrees() {
    let spaces = [" ", "\t", "\u{a0}", "\u{2003}", "\u{3000}", "\u{85}", "\u{2028}", "\u{b}"];
    let breaks = ["", "\n", "\r\n", "\r", "\n\n", " \n ", "\n \t", "\r\n\r\n  "];
    for space in spaces {
        for length in [1, 2, 3, 7, 100] {
            let run = space.repeat(length);
            for end in breaks {
                for after in ["", "x", "X", "1", "!", "/", "中", "\u{200b}", "\u{301}"] {
                    check(&format!("a{run}{end}{after}"));
                    check(&format!("{end}{run}{after}{run}{end}"));
                }
            }
        }
    }
}

#[test]
fn every_character_agrees() {
    // Nothing is assigned in the planes between these.
    let assigned = (0..0x4_0000).chain(0xE_0000..0xE_1000).chain(0x10_FF00..0x11_0000);
    for c in assigned.filter_map(char::from_u32) {
        let text = format!("{c} a{c}A {c}1{c}.{c}\n{c}{c}'{c}s");
        let expected = bpe_openai::o200k_base().encode(&text);
        assert_eq!(encode(&text), expected, "U+{:04X}", u32::from(c));
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
        let text = std::fs::read_to_string(file).unwrap();
        assert_eq!(encode(&text), bpe_openai::o200k_base().encode(&text), "{}", file.display());
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

#[test]
fn long_runs_agree_and_take_linear_time() {
    let units =
        ["a", "ab", "the", "é", "中", "ا", "1", " ", "\n", "-", "=/", "😀", "\u{301}", "xY"];
    for unit in units {
        let text = unit.repeat(100_000 / unit.len());
        let started = Instant::now();
        let count = count_tokens(&text);
        let took = started.elapsed();
        assert!(took < Duration::from_secs(1), "{unit:?} took {took:?}");
        assert_eq!(encode(&text), bpe_openai::o200k_base().encode(&text), "{unit:?}");
        assert_eq!(count, bpe_openai::o200k_base().count(&*text), "{unit:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_text_agrees(text in any::<String>()) {
        check(&text);
    }

    #[test]
    fn any_code_points_agree(text in prop::collection::vec(any::<u32>(), 0..200)) {
        check(&text.into_iter().filter_map(|c| char::from_u32(c % 0x11_0000)).collect::<String>());
    }

    #[test]
    fn long_words_agree(text in "[a-zé\u{301}中ก-๛]{0,300}") {
        check(&text);
    }

    #[test]
    fn prose_agrees(text in "([ \t\r\n]{0,3}[A-Za-zÀ-ɏ]{0,12}('[a-zA-Z]{1,2})?[0-9]{0,4}[.,/!]{0,3}){0,30}") {
        check(&text);
    }

    #[test]
    fn tokens_in_any_order_agree(ids in prop::collection::vec(0_u32..199_998, 0..40)) {
        let bytes: Vec<u8> = ids.iter().flat_map(|&id| token_bytes(id).unwrap()).copied().collect();
        check(&String::from_utf8_lossy(&bytes));
    }
}
