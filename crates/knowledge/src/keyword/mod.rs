//! The keyword index: BM25 with English stemming, in memory.
//!
//! The index is rebuilt from the files at every start, so it is never stale and needs no disk.

mod analysis;

use std::collections::HashSet;
use std::sync::Arc;

use tantivy::collector::{Count, FilterCollector, TopDocs};
use tantivy::query::{BooleanQuery, BoostQuery, Occur, PhraseQuery, Query, TermQuery};
use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::snippet::SnippetGenerator;
use tantivy::{
    DocAddress, DocId, DocSet, Index, IndexReader, IndexWriter, ReloadPolicy, Searcher,
    TantivyDocument, Term,
};

use self::analysis::{ENGLISH, Word};
pub(crate) use self::analysis::{content_words, stems};
use crate::document::Document;

const ANALYZER: &str = "english";
const WRITER_BYTES: usize = 15_000_000;
/// The parameters of BM25: term frequency saturation and length normalisation. Tantivy uses the
/// same values; [`KeywordQuery::bound`] depends on them.
const K1: f32 = 1.2;
const B: f32 = 0.75;
/// Weight of two words that have the same distance in the text as in the query.
const PAIR_BOOST: f32 = 0.3;
/// Pairs of a query that are searched for; a page of text as a query would have thousands.
const MAX_PAIRS: usize = 64;
const SNIPPET_CHARS: usize = 240;

/// Identifies one section of one version of a document, in the index and in snapshots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct NodeKey(u64);

impl NodeKey {
    /// Sections are fewer than `MAX_NODES_PER_FILE`, so 16 bits hold them.
    pub(crate) fn new(version: u64, section: usize) -> Self {
        Self(version << 16 | section as u64)
    }

    pub(crate) fn version(self) -> u64 {
        self.0 >> 16
    }

    pub(crate) fn section(self) -> usize {
        (self.0 & 0xffff) as usize
    }
}

#[derive(Debug, Clone, Copy)]
struct Fields {
    version: Field,
    key: Field,
    title: Field,
    /// Title and body.
    text: Field,
}

/// The writing side: add and remove documents, then [`KeywordIndex::commit`].
pub(crate) struct KeywordIndex {
    fields: Fields,
    writer: IndexWriter,
    reader: IndexReader,
}

/// The reading side, on the documents of one commit.
#[derive(Debug, Clone)]
pub(crate) struct KeywordSearcher {
    fields: Fields,
    searcher: Searcher,
    mean_title_words: f32,
}

pub(crate) struct Hit {
    pub(crate) key: NodeKey,
    pub(crate) score: f32,
}

impl KeywordIndex {
    pub(crate) fn new() -> tantivy::Result<Self> {
        let mut schema = Schema::builder();
        let indexed = |option| {
            let indexing = TextFieldIndexing::default();
            TextOptions::default()
                .set_indexing_options(indexing.set_tokenizer(ANALYZER).set_index_option(option))
        };
        let fields = Fields {
            version: schema.add_u64_field("version", INDEXED),
            key: schema.add_u64_field("key", FAST | INDEXED),
            title: schema.add_text_field("title", indexed(IndexRecordOption::WithFreqs)),
            text: schema.add_text_field("text", indexed(IndexRecordOption::WithFreqsAndPositions)),
        };
        let index = Index::create_in_ram(schema.build());
        index.tokenizers().register(ANALYZER, ENGLISH.clone());
        Ok(Self {
            fields,
            writer: index.writer_with_num_threads(1, WRITER_BYTES)?,
            reader: index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?,
        })
    }

    pub(crate) fn add(&self, version: u64, document: &Document) -> tantivy::Result<()> {
        for (i, section) in document.sections.iter().enumerate() {
            let mut entry = TantivyDocument::default();
            entry.add_u64(self.fields.version, version);
            entry.add_u64(self.fields.key, NodeKey::new(version, i).0);
            entry.add_text(self.fields.title, &section.title);
            entry.add_text(self.fields.text, &section.title);
            entry.add_text(self.fields.text, document.commonmark(i));
            self.writer.add_document(entry)?;
        }
        Ok(())
    }

    pub(crate) fn remove(&self, version: u64) {
        self.writer.delete_term(Term::from_field_u64(self.fields.version, version));
    }

    pub(crate) fn commit(&mut self) -> tantivy::Result<KeywordSearcher> {
        self.writer.commit()?;
        self.reader.reload()?;
        KeywordSearcher::new(self.fields, self.reader.searcher())
    }
}

impl KeywordSearcher {
    /// The best `limit` sections that `accepts` lets through, and how many matched in all.
    pub(crate) fn search(
        &self,
        query: &KeywordQuery,
        limit: usize,
        accepts: impl Fn(NodeKey) -> bool + Send + Sync + 'static,
    ) -> tantivy::Result<(Vec<Hit>, usize)> {
        if query.terms.is_empty() {
            return Ok((Vec::new(), 0));
        }
        let accepts = Arc::new(accepts);
        let filter = move |key: u64| accepts(NodeKey(key));
        let collector = (TopDocs::with_limit(limit.max(1)).order_by_score(), Count);
        let collector = FilterCollector::new("key".to_owned(), filter, collector);
        let (top, total) = self.searcher.search(&*query.query, &collector)?;
        let segments = self.searcher.segment_readers().iter();
        let keys: Vec<_> =
            segments.map(|segment| segment.fast_fields().u64("key")).collect::<Result<_, _>>()?;
        let hit = |(score, at): (f32, DocAddress)| {
            let key = keys[at.segment_ord as usize].first(at.doc_id);
            Hit { key: NodeKey(key.expect("every entry has a key")), score }
        };
        Ok((top.into_iter().map(hit).collect(), total))
    }

    /// How the words of a query occur in the given sections, in their order.
    pub(crate) fn matches(
        &self,
        query: &KeywordQuery,
        keys: &[NodeKey],
    ) -> tantivy::Result<Vec<Matches>> {
        let mut matches = vec![Matches::default(); keys.len()];
        for segment in self.searcher.segment_readers() {
            let by_key = segment.inverted_index(self.fields.key)?;
            let mut entries: Vec<(DocId, usize)> = Vec::new();
            for (at, key) in keys.iter().enumerate() {
                let term = Term::from_field_u64(self.fields.key, key.0);
                if let Some(found) = by_key.read_postings(&term, IndexRecordOption::Basic)? {
                    entries.push((found.doc(), at));
                }
            }
            if entries.is_empty() {
                continue;
            }
            entries.sort_unstable();
            let lengths = segment.get_fieldnorms_reader(self.fields.text)?;
            for &(entry, at) in &entries {
                matches[at].words = lengths.fieldnorm(entry);
            }
            let texts = segment.inverted_index(self.fields.text)?;
            for (n, term) in query.terms.iter().enumerate().take(Matches::MAX_TERMS) {
                let term = Term::from_field_text(self.fields.text, &term.stem);
                let Some(mut found) = texts.read_postings(&term, IndexRecordOption::Basic)? else {
                    continue;
                };
                for &(entry, at) in &entries {
                    if found.doc() < entry {
                        found.seek(entry);
                    }
                    if found.doc() == entry {
                        matches[at].terms |= 1 << n;
                    }
                }
            }
        }
        Ok(matches)
    }

    fn new(fields: Fields, searcher: Searcher) -> tantivy::Result<Self> {
        let mut tokens = 0;
        for segment in searcher.segment_readers() {
            tokens += segment.inverted_index(fields.title)?.total_num_tokens();
        }
        let mean_title_words = (tokens as f32 / searcher.num_docs().max(1) as f32).max(1.0);
        Ok(Self { fields, searcher, mean_title_words })
    }

    /// The content words of a query, each with its weights.
    pub(crate) fn query(&self, text: &str) -> tantivy::Result<KeywordQuery> {
        let words = content_words(text);
        let mut terms: Vec<QueryTerm> = Vec::new();
        for Word { stem, text, .. } in &words {
            match terms.iter_mut().find(|term| term.stem == *stem) {
                Some(known) => known.count += 1.0,
                None => terms.push(QueryTerm {
                    idf: self.idf(self.fields.text, stem)?,
                    title_idf: self.idf(self.fields.title, stem)?,
                    word: text.clone(),
                    stem: stem.clone(),
                    count: 1.0,
                }),
            }
        }
        let single = terms.iter().map(|term| {
            let text = Term::from_field_text(self.fields.text, &term.stem);
            boosted(TermQuery::new(text, IndexRecordOption::WithFreqs), term.count)
        });
        let pairs =
            words.windows(2).filter_map(|pair| self.pair(&pair[0], &pair[1])).take(MAX_PAIRS);
        let query = Box::new(BooleanQuery::new(single.chain(pairs).collect()));
        Ok(KeywordQuery { query, terms })
    }

    /// A phrase query for two words at the distance they have in the query.
    fn pair(&self, first: &Word, second: &Word) -> Option<(Occur, Box<dyn Query>)> {
        if first.stem == second.stem {
            return None;
        }
        let term = |word: &Word| Term::from_field_text(self.fields.text, &word.stem);
        let distance = second.position - first.position;
        let phrase = PhraseQuery::new_with_offset(vec![(0, term(first)), (distance, term(second))]);
        Some(boosted(phrase, PAIR_BOOST))
    }

    fn idf(&self, field: Field, stem: &str) -> tantivy::Result<f32> {
        let matching = self.searcher.doc_freq(&Term::from_field_text(field, stem))? as f32;
        let all = self.searcher.num_docs() as f32;
        Ok((1.0 + (all - matching + 0.5).max(0.0) / (matching + 0.5)).ln())
    }

    /// How well a title alone matches: its BM25 as a share of the greatest possible, times the
    /// share of the title's words, weighted by IDF, that the query mentions.
    pub(crate) fn title_match(
        &self,
        query: &KeywordQuery,
        stems: &[String],
    ) -> tantivy::Result<f32> {
        if stems.is_empty() || query.terms.is_empty() {
            return Ok(0.0);
        }
        let norm = K1 * (1.0 - B + B * stems.len() as f32 / self.mean_title_words);
        let mut score = 0.0;
        for term in &query.terms {
            let mentions = stems.iter().filter(|stem| **stem == term.stem).count() as f32;
            score += term.count * term.title_idf * mentions * (K1 + 1.0) / (mentions + norm);
        }
        if score == 0.0 {
            return Ok(0.0);
        }
        let (mut mentioned, mut all) = (0.0, f32::MIN_POSITIVE);
        let mut seen: Vec<&String> = Vec::new();
        for stem in stems {
            if seen.contains(&stem) {
                continue;
            }
            seen.push(stem);
            let idf = self.idf(self.fields.text, stem)?;
            all += idf;
            if query.terms.iter().any(|term| term.stem == *stem) {
                mentioned += idf;
            }
        }
        Ok(score / query.bound() * mentioned / all)
    }

    /// Generates the passages of texts that match the query best.
    pub(crate) fn snippets(&self, query: &KeywordQuery) -> tantivy::Result<Snippets> {
        let mut generator =
            SnippetGenerator::create(&self.searcher, &*query.query, self.fields.text)?;
        generator.set_max_num_chars(SNIPPET_CHARS);
        Ok(Snippets(generator))
    }
}

/// How the words of a query occur in one section.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Matches {
    /// A bit for each term of the query that the title or the text has.
    terms: u128,
    /// Words of title and text; longer texts are counted less exactly.
    pub(crate) words: u32,
}

impl Matches {
    /// Further terms of a page of text as a question are not looked at.
    pub(crate) const MAX_TERMS: usize = 128;

    pub(crate) fn has(self, term: usize) -> bool {
        term < Self::MAX_TERMS && self.terms >> term & 1 == 1
    }
}

pub(crate) struct KeywordQuery {
    query: Box<dyn Query>,
    pub(crate) terms: Vec<QueryTerm>,
}

pub(crate) struct QueryTerm {
    /// As it is written in the query.
    pub(crate) word: String,
    /// As it is indexed.
    pub(crate) stem: String,
    pub(crate) count: f32,
    pub(crate) idf: f32,
    title_idf: f32,
}

impl KeywordQuery {
    /// The greatest possible BM25 score: that of a text that only repeats the words of the query.
    /// Words that are in no node count, so the score stays low when few words match.
    pub(crate) fn bound(&self) -> f32 {
        let mass: f32 = self.terms.iter().map(|term| term.count * term.idf).sum();
        (mass * (K1 + 1.0)).max(f32::MIN_POSITIVE)
    }

    /// The words of the query that occur in a text.
    pub(crate) fn words_in(&self, text: &str) -> Vec<String> {
        let stems: HashSet<String> =
            content_words(text).into_iter().map(|word| word.stem).collect();
        let found = self.terms.iter().filter(|term| stems.contains(&term.stem));
        found.map(|term| term.word.clone()).collect()
    }
}

fn boosted(query: impl Query, boost: f32) -> (Occur, Box<dyn Query>) {
    (Occur::Should, Box::new(BoostQuery::new(Box::new(query), boost)))
}

pub(crate) struct Snippets(SnippetGenerator);

impl Snippets {
    /// `None` when only the title matched.
    pub(crate) fn of(&self, text: &str) -> Option<String> {
        let snippet = self.0.snippet(text);
        (!snippet.is_empty()).then(|| snippet.fragment().to_owned())
    }
}
