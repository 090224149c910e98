//! Prototype.
use serde::Serialize;

use crate::error::Error;
use crate::keyword::{NodeKey, content_words};
use crate::snapshot::Snapshot;
use crate::text::plain;

fn content_words_of(text: &str) -> Vec<String> {
    content_words(text).into_iter().map(|w| w.stem).collect()
}

#[derive(Debug, Serialize)]
pub struct RawQuery {
    pub idf: Vec<f32>,
    pub title_idf: Vec<f32>,
    pub count: Vec<f32>,
    pub words: Vec<String>,
    pub n: usize,
    pub bg_mean: f32,
    pub bg_std: f32,
    pub candidates: Vec<RawCandidate>,
}

#[derive(Debug, Serialize)]
pub struct RawCandidate {
    pub path: String,
    pub file: String,
    pub title: String,
    pub up: Vec<String>,
    pub keyword: f32,
    pub title_score: f32,
    pub cos: Option<f32>,
    pub tf: Vec<u16>,
    pub in_title: Vec<u8>,
    pub in_up: Vec<u8>,
    pub words: usize,
    pub title_words: usize,
    pub title_mass: f32,
    pub level: u8,
    pub children: usize,
}

impl Snapshot {
    pub fn raw(&self, text: &str) -> Result<RawQuery, Error> {
        let query = self.prepare(text)?;
        let (found, _) = self.candidates(&query, 50, |_: NodeKey| true)?;
        let (bg_mean, bg_std) = query.background();
        let terms = &query.keyword.terms;
        let mut candidates = Vec::new();
        for (node, evidence) in found {
            let stems = content_words_of(&plain(&node.body()));
            let title = content_words_of(node.title());
            let mut up = Vec::new();
            let mut parent = node.parent();
            while let Some(p) = parent {
                up.push(p.title().to_owned());
                parent = p.parent();
            }
            let up_stems: Vec<String> = up.iter().flat_map(|t| content_words_of(t)).collect();
            let mut title_mass = 0.0;
            for stem in &title {
                title_mass += self.keyword().idf_of(stem)?;
            }
            candidates.push(RawCandidate {
                path: node.path(),
                file: node.document().path.to_string(),
                title: node.title().to_owned(),
                keyword: evidence.keyword,
                title_score: evidence.title,
                cos: evidence.cosine,
                tf: terms.iter().map(|t| stems.iter().filter(|s| **s == t.stem).count() as u16).collect(),
                in_title: terms.iter().map(|t| u8::from(title.contains(&t.stem))).collect(),
                in_up: terms.iter().map(|t| u8::from(up_stems.contains(&t.stem))).collect(),
                up,
                words: stems.len(),
                title_words: title.len(),
                title_mass,
                level: node.section().level,
                children: node.children().len(),
            });
        }
        Ok(RawQuery {
            idf: terms.iter().map(|t| t.idf).collect(),
            title_idf: terms.iter().map(|t| t.title_idf).collect(),
            count: terms.iter().map(|t| t.count).collect(),
            words: terms.iter().map(|t| t.word.clone()).collect(),
            n: self.node_count(),
            bg_mean,
            bg_std,
            candidates,
        })
    }
}
