//! How text becomes words: for the index, for queries and for titles.

use std::sync::LazyLock;

use tantivy::tokenizer::{
    AsciiFoldingFilter, Language, LowerCaser, RemoveLongFilter, SimpleTokenizer, Stemmer,
    StopWordFilter, TextAnalyzer,
};

pub(crate) struct Word {
    /// As it is written.
    pub(crate) text: String,
    pub(crate) stem: String,
    /// Position in the text, counting all words.
    pub(crate) position: usize,
}

/// The words of a text without function words.
pub(crate) fn content_words(text: &str) -> Vec<Word> {
    let mut analyzer = ENGLISH.clone();
    let mut stream = analyzer.token_stream(text);
    let mut words = Vec::new();
    while stream.advance() {
        let token = stream.token();
        let word = text[token.offset_from..token.offset_to].to_lowercase();
        if !FUNCTION_WORDS.contains(&word.as_str()) {
            words.push(Word { text: word, stem: token.text.clone(), position: token.position });
        }
    }
    words
}

/// The stems of the content words of a text.
pub(crate) fn stems(text: &str) -> Vec<String> {
    content_words(text).into_iter().map(|word| word.stem).collect()
}

/// Words of questions that carry no content, besides the stop words, which are not indexed.
const FUNCTION_WORDS: &[&str] = &[
    "i", "me", "my", "mine", "we", "us", "our", "you", "your", "yours", "he", "him", "his", "she",
    "her", "hers", "its", "them", "who", "whom", "whose", "which", "what", "when", "where", "why",
    "how", "do", "does", "did", "doing", "done", "have", "has", "had", "having", "am", "were",
    "been", "being", "can", "could", "may", "might", "must", "shall", "should", "would", "about",
    "above", "after", "again", "against", "all", "also", "any", "because", "before", "below",
    "between", "both", "during", "each", "few", "from", "further", "here", "just", "more", "most",
    "nor", "off", "once", "only", "other", "out", "over", "own", "same", "so", "some", "than",
    "too", "under", "until", "up", "very", "let", "lets", "s", "t", "m", "re", "ve", "ll", "d",
    "don", "please",
];

/// Expensive to build and cheap to clone.
pub(super) static ENGLISH: LazyLock<TextAnalyzer> = LazyLock::new(|| {
    TextAnalyzer::builder(SimpleTokenizer::default())
        .filter(RemoveLongFilter::limit(80))
        .filter(LowerCaser)
        .filter(AsciiFoldingFilter)
        .filter(StopWordFilter::new(Language::English).expect("tantivy ships English stop words"))
        .filter(Stemmer::new(Language::English))
        .build()
});
