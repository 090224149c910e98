//! Keyword search: BM25 with English stemming, in memory.

use std::sync::Arc;

use tantivy::collector::{Count, FilterCollector, TopDocs};
use tantivy::query::{BooleanQuery, BoostQuery, Occur, Query, TermQuery};
use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::snippet::SnippetGenerator;
use tantivy::tokenizer::{
    AsciiFoldingFilter, Language, LowerCaser, RemoveLongFilter, SimpleTokenizer, Stemmer,
    StopWordFilter, TextAnalyzer,
};
use tantivy::{Index, IndexReader, IndexWriter, ReloadPolicy, Searcher, TantivyDocument, Term};

use crate::document::Document;

const ANALYZER: &str = "english";
const WRITER_BYTES: usize = 64_000_000;
/// A word in a heading says more than one in the text below it.
const TITLE_BOOST: f32 = 2.0;
const SNIPPET_CHARS: usize = 240;

/// Names one section of one version of a document, in the index and in snapshots alike.
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

#[derive(Clone, Copy)]
struct Fields {
    version: Field,
    key: Field,
    title: Field,
    body: Field,
}

/// The side that changes: documents come and go, then [`KeywordIndex::commit`].
pub(crate) struct KeywordIndex {
    fields: Fields,
    writer: IndexWriter,
    reader: IndexReader,
}

/// The side that answers, on the documents of one commit.
#[derive(Clone)]
pub(crate) struct KeywordSearcher {
    fields: Fields,
    searcher: Searcher,
}

pub(crate) struct Hit {
    pub(crate) key: NodeKey,
    pub(crate) score: f32,
}

impl KeywordIndex {
    pub(crate) fn new() -> tantivy::Result<Self> {
        let mut schema = Schema::builder();
        let indexing = TextFieldIndexing::default()
            .set_tokenizer(ANALYZER)
            .set_index_option(IndexRecordOption::WithFreqs);
        let text = TextOptions::default().set_indexing_options(indexing);
        let fields = Fields {
            version: schema.add_u64_field("version", INDEXED),
            key: schema.add_u64_field("key", FAST),
            title: schema.add_text_field("title", text.clone()),
            body: schema.add_text_field("body", text),
        };
        let index = Index::create_in_ram(schema.build());
        index.tokenizers().register(ANALYZER, analyzer());
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
            entry.add_text(self.fields.body, document.body(i));
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
        Ok(KeywordSearcher { fields: self.fields, searcher: self.reader.searcher() })
    }
}

impl KeywordSearcher {
    /// The best `limit` sections that `wanted` lets through, and how many matched in all.
    pub(crate) fn search(
        &self,
        query: &KeywordQuery,
        limit: usize,
        wanted: impl Fn(NodeKey) -> bool + Send + Sync + 'static,
    ) -> tantivy::Result<(Vec<Hit>, usize)> {
        if query.terms.is_empty() {
            return Ok((Vec::new(), 0));
        }
        let wanted = Arc::new(wanted);
        let filter = move |key: u64| wanted(NodeKey(key));
        let collector = (TopDocs::with_limit(limit.max(1)).order_by_score(), Count);
        let collector = FilterCollector::new("key".to_owned(), filter, collector);
        let (top, total) = self.searcher.search(&*query.query, &collector)?;
        let mut hits = Vec::with_capacity(top.len());
        for (score, address) in top {
            let segment = self.searcher.segment_reader(address.segment_ord);
            let keys = segment.fast_fields().u64("key")?;
            let key = keys.first(address.doc_id).expect("every entry has a key");
            let key = NodeKey(key);
            hits.push(Hit { key, score });
        }
        Ok((hits, total))
    }

    pub(crate) fn query(&self, text: &str) -> KeywordQuery {
        let mut analyzer = analyzer();
        let mut stream = analyzer.token_stream(text);
        let mut terms: Vec<String> = Vec::new();
        while stream.advance() {
            let term = &stream.token().text;
            if !terms.contains(term) {
                terms.push(term.clone());
            }
        }
        let clauses = terms.iter().flat_map(|term| {
            let of = |field| {
                let term = Term::from_field_text(field, term);
                Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs)) as Box<dyn Query>
            };
            let title = Box::new(BoostQuery::new(of(self.fields.title), TITLE_BOOST));
            [(Occur::Should, title as Box<dyn Query>), (Occur::Should, of(self.fields.body))]
        });
        KeywordQuery { query: Box::new(BooleanQuery::new(clauses.collect())), terms }
    }

    /// The stretch of `text` that shows best why it matched; empty when only the title did.
    pub(crate) fn snippets(&self, query: &KeywordQuery) -> tantivy::Result<Snippets> {
        let mut of = SnippetGenerator::create(&self.searcher, &*query.query, self.fields.body)?;
        of.set_max_num_chars(SNIPPET_CHARS);
        Ok(Snippets(of))
    }
}

pub(crate) struct KeywordQuery {
    query: Box<dyn Query>,
    /// The words that are looked for, as they stand in the index.
    pub(crate) terms: Vec<String>,
}

pub(crate) struct Snippets(SnippetGenerator);

impl Snippets {
    pub(crate) fn of(&self, text: &str) -> Option<String> {
        let snippet = self.0.snippet(text);
        (!snippet.is_empty()).then(|| snippet.fragment().to_owned())
    }
}

impl std::fmt::Debug for KeywordSearcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeywordSearcher").finish_non_exhaustive()
    }
}

fn analyzer() -> TextAnalyzer {
    TextAnalyzer::builder(SimpleTokenizer::default())
        .filter(RemoveLongFilter::limit(80))
        .filter(LowerCaser)
        .filter(AsciiFoldingFilter)
        .filter(StopWordFilter::new(Language::English).expect("tantivy ships English stop words"))
        .filter(Stemmer::new(Language::English))
        .build()
}
