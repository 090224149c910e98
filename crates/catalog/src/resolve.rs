//! Finds the capability, and the agent, that a query means.
//!
//! In this order: an exact name; an alias; a typo of either; then a ranked match with every name,
//! alias, description, agent-specific term and phrase, by lexical and semantic similarity. A
//! capability scores the mean of its three best phrases. Its lead on phrases about unrelated things,
//! and on the next capability, gives the confidence. `docs/catalog.md` says how the constants were
//! chosen.

use std::collections::HashMap;

use crate::catalog::{Catalog, Phrases};
use crate::data::{Agent, Definition};
use crate::error::Error;
use crate::lexical::Grams;
use crate::meaning::{Embed, Vectors};
use crate::names::{is_typo, normalize};

pub const MAX_CHARS: usize = 300;
/// A match with at least this confidence is the answer; below, it is one of several.
pub const CONFIDENT: f64 = 0.7;
/// Below this, nothing matches.
const MIN_CONFIDENCE: f64 = 0.25;
const ALTERNATIVES: usize = 3;
/// The weight of lexical similarity; semantic similarity has weight 1.
const LEXICAL_WEIGHT: f32 = 0.8;
/// A capability's score is the mean of this many phrases.
const BEST_PHRASES: usize = 3;
/// Confidence is a logistic function of the lead on unrelated phrases and on the next capability.
const LEAD_ON_UNRELATED: f32 = 8.6;
const LEAD_ON_NEXT: f32 = 1.2;
const BIAS: f32 = 2.5;
/// Lexical similarity alone is never confident: `memory foam` looks like `memory`.
const LEXICAL_ONLY_CAP: f64 = 0.65;

/// A capability that a query may mean.
#[derive(Debug, Clone, PartialEq)]
pub struct Match {
    pub name: String,
    pub confidence: f64,
}

/// The result of resolving a query.
#[derive(Debug, Clone, PartialEq)]
pub enum Resolved {
    /// The answer, and what else the query may mean.
    One(Match, Vec<Match>),
    /// The likeliest, best first.
    Ambiguous(Vec<Match>),
    /// Nothing matches; these are the nearest names.
    Nothing(Vec<Match>),
}

/// The phrases of all capabilities, indexed.
#[derive(Debug)]
pub struct Resolver {
    phrases: PhraseTable,
    grams: Grams,
    vectors: Vectors,
}

impl Resolver {
    pub(crate) fn bundled(agents: &[Agent], definitions: &[Definition], phrases: &Phrases) -> Self {
        let mut table = PhraseTable::default();
        table.add_unrelated(&phrases.unrelated);
        table.add(agents, definitions);
        for (name, phrases) in &phrases.capabilities {
            for phrase in phrases {
                table.push(name, phrase);
            }
        }
        let bundled = table.texts.len();
        Self::index(table, bundled)
    }

    pub(crate) fn new(agents: &[Agent], definitions: &[Definition], unrelated: &[String]) -> Self {
        let mut table = PhraseTable::default();
        table.add_unrelated(unrelated);
        // Only the unrelated phrases are among the bundled vectors, and they come first there.
        let bundled = table.texts.len();
        table.add(agents, definitions);
        Self::index(table, bundled)
    }

    /// Adds agents and capabilities.
    pub(crate) fn with(self, agents: &[Agent], definitions: &[Definition]) -> Self {
        let mut table = self.phrases;
        table.add(agents, definitions);
        Self::index(table, self.vectors.bundled)
    }

    fn index(phrases: PhraseTable, bundled: usize) -> Self {
        let grams = Grams::new(phrases.texts.iter().map(String::as_str));
        Self { phrases, grams, vectors: Vectors::new(bundled) }
    }

    pub(crate) fn into_texts(self) -> Vec<String> {
        self.phrases.texts
    }

    fn resolve(&self, query: &str, embed: Embed<'_>) -> Resolved {
        let name = normalize(query);
        if let Some(known) = self.phrases.names.get(&name) {
            return self.one(*known, 1.0);
        }
        if let Some(near) = self.typo(&name) {
            return self.one(near, 0.9);
        }
        let mut matches = self.ranked(query, embed);
        match matches.first().map_or(0.0, |best| best.confidence) {
            CONFIDENT.. => {
                let best = matches.remove(0);
                matches.retain(|other| other.confidence >= MIN_CONFIDENCE);
                Resolved::One(best, matches)
            }
            MIN_CONFIDENCE.. => Resolved::Ambiguous(matches),
            _ => Resolved::Nothing(matches),
        }
    }

    fn one(&self, capability: usize, confidence: f64) -> Resolved {
        let name = self.phrases.capabilities[capability].clone();
        Resolved::One(Match { name, confidence }, Vec::new())
    }

    /// The only capability that has a name or alias that differs by a typo.
    fn typo(&self, name: &str) -> Option<usize> {
        let mut near = self.phrases.names.iter().filter(|(known, _)| is_typo(name, known));
        let (_, &first) = near.next()?;
        near.all(|(_, &other)| other == first).then_some(first)
    }

    fn ranked(&self, query: &str, embed: Embed<'_>) -> Vec<Match> {
        let lexical = self.best_of_each(&self.grams.compare(query));
        let semantic = self.vectors.compare(&self.phrases.texts, query, embed);
        let (scores, most) = match semantic {
            None => (lexical, LEXICAL_ONLY_CAP),
            Some(semantic) => {
                let both = self.best_of_each(&semantic).into_iter().zip(lexical);
                (both.map(|(semantic, lexical)| semantic + LEXICAL_WEIGHT * lexical).collect(), 1.0)
            }
        };
        let (unrelated, scores) = (scores[0], &scores[1..]);
        let mut order: Vec<usize> = (0..scores.len()).collect();
        order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]).then(a.cmp(b)));
        let confidence = |rank: usize| {
            let score = scores[order[rank]];
            let next = order.iter().skip(rank + 1).map(|i| scores[*i]).next().unwrap_or(0.0);
            let lead = LEAD_ON_UNRELATED * (score - unrelated) + LEAD_ON_NEXT * (score - next);
            (1.0 / (1.0 + f64::from(BIAS - lead).exp())).min(most)
        };
        let count = order.len().min(ALTERNATIVES);
        let mut matches: Vec<Match> = (0..count)
            .map(|rank| Match {
                name: self.phrases.capabilities[order[rank]].clone(),
                confidence: (confidence(rank) * 100.0).round() / 100.0,
            })
            .collect();
        // A query has one answer, so no match is more confident than a better one.
        for rank in 1..matches.len() {
            let (before, after) = matches.split_at_mut(rank);
            after[0].confidence = after[0].confidence.min(before[rank - 1].confidence);
        }
        matches
    }

    /// The score of the unrelated phrases, then that of every capability.
    fn best_of_each(&self, cosines: &[f32]) -> Vec<f32> {
        let mut best = vec![[0.0_f32; BEST_PHRASES]; self.phrases.capabilities.len() + 1];
        for (owner, cosine) in self.phrases.owners.iter().zip(cosines) {
            let best = &mut best[owner.map_or(0, |capability| capability + 1)];
            let mut cosine = *cosine;
            for place in best {
                if cosine > *place {
                    std::mem::swap(place, &mut cosine);
                }
            }
        }
        best.iter().map(|best| best.iter().sum::<f32>() / BEST_PHRASES as f32).collect()
    }
}

/// Every text that a query is compared with.
#[derive(Debug, Default)]
struct PhraseTable {
    /// Normalised name or alias → capability.
    names: HashMap<String, usize>,
    capabilities: Vec<String>,
    /// The capability of each text; `None` for unrelated phrases.
    owners: Vec<Option<usize>>,
    texts: Vec<String>,
}

impl PhraseTable {
    fn add_unrelated(&mut self, phrases: &[String]) {
        self.owners.extend(phrases.iter().map(|_| None));
        self.texts.extend_from_slice(phrases);
    }

    fn add(&mut self, agents: &[Agent], definitions: &[Definition]) {
        for definition in definitions {
            let capability = self.capability(&definition.name);
            for name in std::iter::once(&definition.name).chain(&definition.aliases) {
                self.names.entry(normalize(name)).or_insert(capability);
                self.push(&definition.name, name);
            }
            self.push(&definition.name, &definition.description);
        }
        for claim in agents.iter().flat_map(|agent| &agent.capabilities) {
            if let Some(term) = &claim.terminology {
                self.push(&claim.name, term);
            }
        }
    }

    fn push(&mut self, capability: &str, phrase: &str) {
        let capability = self.capability(capability);
        self.owners.push(Some(capability));
        self.texts.push(phrase.to_owned());
    }

    fn capability(&mut self, name: &str) -> usize {
        let known = self.capabilities.iter().position(|known| known == name);
        known.unwrap_or_else(|| {
            self.capabilities.push(name.to_owned());
            self.capabilities.len() - 1
        })
    }
}

impl Catalog {
    /// Finds the capability that a query means.
    pub fn resolve(&self, query: &str, embed: Embed<'_>) -> Result<Resolved, Error> {
        check_text("capability", query)?;
        Ok(self.resolver.resolve(query, embed))
    }

    /// Whether a query is the name or an alias of a capability, so that resolving it is immediate.
    pub fn is_name(&self, query: &str) -> bool {
        self.resolver.phrases.names.contains_key(&normalize(query))
    }

    /// Finds the agent that a query means by its id, name or an alias.
    pub fn resolve_agent(&self, query: &str) -> Result<&Agent, Error> {
        check_text("agent", query)?;
        if let Some(agent) = self.agents.iter().find(|agent| agent.agent == query) {
            return Ok(agent);
        }
        let asked = normalize(query);
        let names = |agent: &Agent| -> Vec<String> {
            let own = [&agent.agent, &agent.name].into_iter().chain(&agent.aliases);
            own.map(|name| normalize(name)).collect()
        };
        let exact = self.agents.iter().find(|agent| names(agent).contains(&asked));
        if let Some(agent) = exact.or_else(|| self.only(|agent| is_near(&names(agent), &asked))) {
            return Ok(agent);
        }
        let mut near: Vec<(f64, &Agent)> = self
            .agents
            .iter()
            .map(|agent| {
                let likeness = |name: &String| strsim::normalized_damerau_levenshtein(name, &asked);
                (names(agent).iter().map(likeness).fold(0.0, f64::max), agent)
            })
            .collect();
        near.sort_by(|a, b| b.0.total_cmp(&a.0));
        let near = near.iter().map(|(_, agent)| agent.agent.clone()).collect();
        Err(Error::AgentNotFound { asked: query.to_owned(), near })
    }

    fn only(&self, is_meant: impl Fn(&Agent) -> bool) -> Option<&Agent> {
        let mut meant = self.agents.iter().filter(|agent| is_meant(agent));
        let first = meant.next()?;
        meant.next().is_none().then_some(first)
    }
}

/// A typo, or the name among other words (`the gemini cli please`).
fn is_near(names: &[String], asked: &str) -> bool {
    let within = format!(" {asked} ");
    names.iter().any(|name| is_typo(name, asked) || within.contains(&format!(" {name} ")))
}

fn check_text(name: &'static str, text: &str) -> Result<(), Error> {
    if text.trim().is_empty() {
        return Err(Error::Empty { name });
    }
    match text.chars().count() {
        length if length > MAX_CHARS => Err(Error::TooLong { name, length, most: MAX_CHARS }),
        _ => Ok(()),
    }
}
