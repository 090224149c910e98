//! `eval retrieval`: measures search on a set of documents with known answers, in the files that
//! BEIR data sets use.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use kenning_knowledge::evaluate::{Evaluation, Judged, Quality};
use kenning_knowledge::path::RelPath;
use kenning_knowledge::{Base, Document, Library};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::Context;
use crate::failure::{Exit, Failure};

#[derive(Deserialize)]
struct Entry {
    #[serde(rename = "_id")]
    id: String,
    #[serde(default)]
    title: String,
    text: String,
}

#[derive(Deserialize)]
struct Judgement {
    #[serde(alias = "query-id")]
    query_id: String,
    #[serde(alias = "corpus-id")]
    corpus_id: String,
    score: f64,
}

pub(super) fn run(context: &Context, folder: &Path) -> Result<Exit, Failure> {
    let corpus: Vec<Entry> = lines(&folder.join("corpus.jsonl"))?;
    // Paths are numbers, because the ids of a set may hold any character.
    let paths: HashMap<String, String> =
        corpus.iter().enumerate().map(|(n, entry)| (entry.id.clone(), format!("{n}.md"))).collect();
    let documents = corpus.iter().map(|entry| {
        let path = RelPath::parse(&paths[&entry.id]).expect("a number is a path");
        Document::single(path, &entry.title, &entry.text)
    });
    let base = Base::new("evaluation", folder, &[], &[])
        .map_err(|error| Failure::usage(error.to_string()).hint(error.hint()))?;
    let library = Arc::new(Library::of_documents(base, documents.collect())?);
    let store = context.open_store()?;
    context.embed(&library, Context::vector_cache(store.as_ref()))?;
    if let Ok(out) = std::env::var("DUMP") {
        use std::io::Write;
        let mut file = std::io::BufWriter::new(fs::File::create(out).unwrap());
        let back: HashMap<&String, &String> = paths.iter().map(|(k, v)| (v, k)).collect();
        let queries: Vec<Entry> = lines(&folder.join("queries.jsonl"))?;
        let snapshot = library.snapshot();
        for query in queries {
            let mut raw = snapshot.raw(&query.text)?;
            for c in &mut raw.candidates {
                c.path = back[&c.file].to_string();
            }
            writeln!(file, "{}", serde_json::json!({"id": query.id, "text": query.text, "raw": raw})).unwrap();
        }
        return Ok(Exit::Success);
    }
    let judged = judged(folder, &paths)?;
    let evaluation = library.snapshot().evaluate(&judged)?;
    context.answer(&evaluation, text)
}

/// The queries that have at least one relevant document.
fn judged(folder: &Path, paths: &HashMap<String, String>) -> Result<Vec<Judged>, Failure> {
    let mut relevant: HashMap<String, HashMap<String, f64>> = HashMap::new();
    for judgement in lines::<Judgement>(&folder.join("qrels.jsonl"))? {
        if let Some(path) = paths.get(&judgement.corpus_id)
            && judgement.score > 0.0
        {
            let answers = relevant.entry(judgement.query_id).or_default();
            answers.insert(path.clone(), judgement.score);
        }
    }
    let queries: Vec<Entry> = lines(&folder.join("queries.jsonl"))?;
    let judged = queries.into_iter().filter_map(|query| {
        Some(Judged { relevant: relevant.remove(&query.id)?, query: query.text })
    });
    Ok(judged.collect())
}

fn lines<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>, Failure> {
    let text = fs::read_to_string(path).map_err(|error| {
        Failure::usage(format!("cannot read `{}`: {error}", path.display()))
            .hint("a set is a folder with corpus.jsonl, queries.jsonl and qrels.jsonl")
    })?;
    let parse = |(n, line): (usize, &str)| {
        serde_json::from_str(line)
            .map_err(|error| Failure::usage(format!("{}:{}: {error}", path.display(), n + 1)))
    };
    text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()).map(parse).collect()
}

fn text(evaluation: &Evaluation) -> String {
    let row = |name: &str, quality: &Quality| {
        format!(
            "{name:9}{:8.3}{:11.3}{:8.3}{:7.3}\n",
            quality.ndcg_at_10, quality.recall_at_10, quality.mrr_at_10, quality.hit_at_1
        )
    };
    let mut out = format!(
        "{} queries, {} documents\n          nDCG@10  Recall@10  MRR@10  Hit@1\n",
        evaluation.queries, evaluation.documents
    );
    out += &row("keyword", &evaluation.keyword);
    out += &row("semantic", &evaluation.semantic);
    out += &row("hybrid", &evaluation.hybrid);
    out += "\nscore from  results  relevant\n";
    for band in &evaluation.bands {
        out += &format!("{:10.1}{:9}{:10.3}\n", band.from, band.results, band.relevant_share);
    }
    out
}
