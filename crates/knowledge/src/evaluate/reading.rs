//! What an agent reads until it has the right section in its context: with `discover_context`, and with a
//! search for words over the files, as an agent without an index does.

use std::collections::HashMap;

use serde::Serialize;

use super::Judged;
use crate::count_tokens;
use crate::discover::{DiscoverRequest, Discovery};
use crate::error::Error;
use crate::keyword::content_words;
use crate::snapshot::Snapshot;

/// Files or recommendations after which an agent gives up.
const PATIENCE: usize = 20;

/// Tokens read until an answer is in the context, over the questions where it ever is.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Reading {
    pub median_tokens: usize,
    pub mean_tokens: usize,
    pub p90_tokens: usize,
    /// The share of questions whose answer is not among the first 20 files or recommendations.
    pub never: f64,
}

impl Reading {
    fn of(mut tokens: Vec<usize>, questions: usize) -> Self {
        tokens.sort_unstable();
        let at = |percent: usize| tokens.get(tokens.len() * percent / 100).copied().unwrap_or(0);
        Self {
            median_tokens: at(50),
            mean_tokens: tokens.iter().sum::<usize>() / tokens.len().max(1),
            p90_tokens: at(90),
            never: 1.0 - tokens.len() as f64 / questions.max(1) as f64,
        }
    }
}

impl Snapshot {
    /// Reads files whole, those with most of the question's words first and the smaller ones among equals.
    pub fn read_by_words(&self, questions: &[&Judged]) -> Reading {
        let files: Vec<(String, String, usize)> = self
            .files()
            .iter()
            .map(|file| {
                let text = file.document.text();
                (file.document.path.to_string(), text.to_lowercase(), count_tokens(text))
            })
            .collect();
        let read = |one: &&Judged| {
            let words: Vec<String> =
                content_words(&one.question).into_iter().map(|word| word.text).collect();
            let mut ranked: Vec<(usize, usize, &str)> = files
                .iter()
                .map(|(path, text, tokens)| {
                    let found = words.iter().filter(|word| text.contains(word.as_str())).count();
                    (found, *tokens, path.as_str())
                })
                .filter(|(found, ..)| *found > 0)
                .collect();
            ranked.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
            let is_right = |path: &str| one.relevant.keys().any(|answer| file_of(answer) == path);
            let costs = ranked.iter().map(|(_, tokens, path)| (*tokens, is_right(path)));
            until_right(costs)
        };
        Reading::of(questions.iter().filter_map(read).collect(), questions.len())
    }

    /// Reads the recommended sections in their order.
    pub fn read_by_discovery(
        &self,
        questions: &[&Judged],
        settings: &Discovery,
    ) -> Result<Reading, Error> {
        let paths: HashMap<&str, String> =
            self.nodes().map(|node| (node.id(), node.path())).collect();
        let mut read = Vec::new();
        for one in questions {
            let request = DiscoverRequest {
                task_description: one.question.clone(),
                task_type: None,
                current_file: None,
                max_results: Some(PATIENCE),
                token_budget: None,
            };
            let found = self.discover(&request, settings)?.recommendations;
            let is_right = |id: &str| paths.get(id).is_some_and(|p| one.relevant.contains_key(p));
            let costs = found.iter().map(|found| {
                let right = is_right(&found.id)
                    || found.sections.iter().any(|section| is_right(&section.id));
                (found.estimated_tokens, right)
            });
            read.extend(until_right(costs));
        }
        Ok(Reading::of(read, questions.len()))
    }
}

/// The tokens of everything up to the first right one.
fn until_right(costs: impl Iterator<Item = (usize, bool)>) -> Option<usize> {
    let mut total = 0;
    for (tokens, is_right) in costs.take(PATIENCE) {
        total += tokens;
        if is_right {
            return Some(total);
        }
    }
    None
}

fn file_of(path: &str) -> &str {
    path.split_once('#').map_or(path, |(file, _)| file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_stops_at_the_answer_and_at_the_end_of_patience() {
        assert_eq!(until_right([(5, false), (7, true), (9, true)].into_iter()), Some(12));
        assert_eq!(until_right(std::iter::repeat_n((1, false), 30)), None);
        let late = std::iter::repeat_n((1, false), PATIENCE).chain([(1, true)]);
        assert_eq!(until_right(late), None);
        let reading = Reading::of(vec![30, 10, 20], 4);
        assert_eq!((reading.median_tokens, reading.mean_tokens), (20, 20));
        assert!((reading.never - 0.25).abs() < 1e-12);
    }
}
