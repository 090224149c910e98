//! Which capability, and which agent, somebody means.
//!
//! In this order: the name itself; an alias; a slip of the fingers in either; then a ranked match
//! of the question with every name, alias, description, agents' own word and phrase, by how alike
//! they look and how alike they mean. A capability scores as the mean of its three best phrases.
//! How far it is ahead of phrases about other things, and of the next capability, says how sure
//! the match is. `docs/catalog.md` says how the constants were chosen.

use std::collections::HashMap;

use crate::catalog::{Catalog, Phrases};
use crate::data::{Agent, Definition};
use crate::error::Error;
use crate::lexical::Grams;
use crate::meaning::{Embed, Vectors};
use crate::names::{is_slip, normal};

pub const MAX_CHARS: usize = 300;
/// From here on a match is an answer; below, it is one of several.
pub const CONFIDENT: f64 = 0.7;
/// Below this, nothing matches at all.
const HOPELESS: f64 = 0.25;
const ALTERNATIVES: usize = 3;
/// What looking alike counts beside meaning alike.
const LOOKS: f32 = 0.8;
/// Phrases whose mean is a capability's score.
const BEST: usize = 3;
/// Confidence is a logistic curve over the lead on unrelated phrases and on the next capability.
const LEAD_ON_UNRELATED: f32 = 8.6;
const LEAD_ON_NEXT: f32 = 1.2;
const DOUBT: f32 = 2.5;
/// Looks alone do not make sure: `memory foam` looks like `memory`.
const LOOKS_ONLY_CAP: f64 = 0.65;

/// A capability that may be meant.
#[derive(Debug, Clone, PartialEq)]
pub struct Match {
    pub name: String,
    pub confidence: f64,
}

/// What a question was found to mean.
#[derive(Debug, Clone, PartialEq)]
pub enum Resolved {
    /// The rest of the list is what it might be instead.
    One(Match, Vec<Match>),
    /// The likeliest, best first.
    Ambiguous(Vec<Match>),
    /// Nothing like it is known; the nearest names, for what they are worth.
    Nothing(Vec<Match>),
}

/// The names of capabilities, ready to be compared with a question.
#[derive(Debug)]
pub struct Resolver {
    /// Normal form of every name and alias → capability.
    names: HashMap<String, usize>,
    capabilities: Vec<String>,
    /// Which capability each phrase is of; `None` for those about other things.
    owners: Vec<Option<usize>>,
    grams: Grams,
    vectors: Vectors,
    texts: Vec<String>,
    bundled: usize,
}

impl Resolver {
    pub(crate) fn bundled(agents: &[Agent], definitions: &[Definition], phrases: &Phrases) -> Self {
        let mut list = List::default();
        list.add_unrelated(&phrases.unrelated);
        list.add(agents, definitions);
        for (name, phrases) in &phrases.capabilities {
            for phrase in phrases {
                list.push(name, phrase);
            }
        }
        let bundled = list.texts.len();
        list.into_resolver(bundled)
    }

    pub(crate) fn new(agents: &[Agent], definitions: &[Definition], unrelated: &[String]) -> Self {
        let mut list = List::default();
        list.add_unrelated(unrelated);
        // Only the unrelated phrases are among the bundled vectors, and they come first there.
        let bundled = list.texts.len();
        list.add(agents, definitions);
        list.into_resolver(bundled)
    }

    /// The same with more agents and capabilities.
    pub(crate) fn with(self, agents: &[Agent], definitions: &[Definition]) -> Self {
        let mut list = List {
            names: self.names,
            capabilities: self.capabilities,
            owners: self.owners,
            texts: self.texts,
        };
        list.add(agents, definitions);
        list.into_resolver(self.bundled)
    }

    pub(crate) fn texts(&self) -> Vec<String> {
        self.texts.clone()
    }

    fn resolve(&self, question: &str, embed: Embed<'_>) -> Resolved {
        let name = normal(question);
        if let Some(known) = self.names.get(&name) {
            return self.one(*known, 1.0);
        }
        if let Some(near) = self.slip(&name) {
            return self.one(near, 0.9);
        }
        let mut matches = self.ranked(question, embed);
        match matches.first().map_or(0.0, |best| best.confidence) {
            CONFIDENT.. => {
                let best = matches.remove(0);
                matches.retain(|other| other.confidence >= HOPELESS);
                Resolved::One(best, matches)
            }
            HOPELESS.. => Resolved::Ambiguous(matches),
            _ => Resolved::Nothing(matches),
        }
    }

    fn one(&self, capability: usize, confidence: f64) -> Resolved {
        let name = self.capabilities[capability].clone();
        Resolved::One(Match { name, confidence }, Vec::new())
    }

    /// The one capability that has a name or alias like this but for a slip.
    fn slip(&self, name: &str) -> Option<usize> {
        let mut near = self.names.iter().filter(|(known, _)| is_slip(name, known));
        let (_, &first) = near.next()?;
        near.all(|(_, &other)| other == first).then_some(first)
    }

    fn ranked(&self, question: &str, embed: Embed<'_>) -> Vec<Match> {
        let looks = self.grams.compare(question);
        let meaning = self.vectors.compare(question, embed);
        let looks = self.best_of_each(&looks);
        let scores: Vec<f32> = match &meaning {
            None => looks,
            Some(meaning) => {
                let meaning = self.best_of_each(meaning);
                meaning.iter().zip(looks).map(|(meaning, looks)| meaning + LOOKS * looks).collect()
            }
        };
        let (unrelated, scores) = (scores[0], &scores[1..]);
        let mut order: Vec<usize> = (0..scores.len()).collect();
        order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]).then(a.cmp(b)));
        let most = if meaning.is_some() { 1.0 } else { LOOKS_ONLY_CAP };
        let confidence = |rank: usize| {
            let score = scores[order[rank]];
            let next = order.iter().skip(rank + 1).map(|i| scores[*i]).next().unwrap_or(0.0);
            let lead = LEAD_ON_UNRELATED * (score - unrelated) + LEAD_ON_NEXT * (score - next);
            (1.0 / (1.0 + f64::from(DOUBT - lead).exp())).min(most)
        };
        let count = order.len().min(ALTERNATIVES);
        let mut matches: Vec<Match> = (0..count)
            .map(|rank| Match {
                name: self.capabilities[order[rank]].clone(),
                confidence: (confidence(rank) * 100.0).round() / 100.0,
            })
            .collect();
        // One question has one answer: what the first is sure of, the others cannot be.
        for rank in 1..matches.len() {
            let (before, after) = matches.split_at_mut(rank);
            after[0].confidence = after[0].confidence.min(before[rank - 1].confidence);
        }
        matches
    }

    /// The score of phrases about other things, then that of every capability.
    fn best_of_each(&self, cosines: &[f32]) -> Vec<f32> {
        let mut best = vec![[0.0_f32; BEST]; self.capabilities.len() + 1];
        for (owner, cosine) in self.owners.iter().zip(cosines) {
            let best = &mut best[owner.map_or(0, |capability| capability + 1)];
            let mut cosine = *cosine;
            for place in best {
                if cosine > *place {
                    std::mem::swap(place, &mut cosine);
                }
            }
        }
        best.iter().map(|best| best.iter().sum::<f32>() / BEST as f32).collect()
    }
}

/// Phrases, being gathered.
#[derive(Default)]
struct List {
    names: HashMap<String, usize>,
    capabilities: Vec<String>,
    owners: Vec<Option<usize>>,
    texts: Vec<String>,
}

impl List {
    fn add_unrelated(&mut self, phrases: &[String]) {
        self.owners.extend(phrases.iter().map(|_| None));
        self.texts.extend_from_slice(phrases);
    }

    fn add(&mut self, agents: &[Agent], definitions: &[Definition]) {
        for definition in definitions {
            let capability = self.capability(&definition.name);
            for name in std::iter::once(&definition.name).chain(&definition.aliases) {
                self.names.entry(normal(name)).or_insert(capability);
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

    fn into_resolver(self, bundled: usize) -> Resolver {
        Resolver {
            grams: Grams::new(self.texts.iter().map(String::as_str)),
            vectors: Vectors::new(self.texts.clone(), bundled),
            names: self.names,
            capabilities: self.capabilities,
            owners: self.owners,
            texts: self.texts,
            bundled,
        }
    }
}

impl Catalog {
    /// The capability that `question` means.
    pub fn resolve(&self, question: &str, embed: Embed<'_>) -> Result<Resolved, Error> {
        given("capability", question)?;
        Ok(self.resolver.resolve(question, embed))
    }

    /// The agent that `question` means: its id, its name, what people call it.
    /// Whether a capability is called just this, by its name or an alias: then it is found without
    /// comparing anything.
    pub fn is_name(&self, question: &str) -> bool {
        self.resolver.names.contains_key(&normal(question))
    }

    pub fn resolve_agent(&self, question: &str) -> Result<&Agent, Error> {
        given("agent", question)?;
        if let Some(agent) = self.agents.iter().find(|agent| agent.agent == question) {
            return Ok(agent);
        }
        let asked = normal(question);
        let names = |agent: &Agent| -> Vec<String> {
            let own = [&agent.agent, &agent.name].into_iter().chain(&agent.aliases);
            own.map(|name| normal(name)).collect()
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
        Err(Error::AgentNotFound { asked: question.to_owned(), near })
    }

    fn only(&self, is_meant: impl Fn(&Agent) -> bool) -> Option<&Agent> {
        let mut meant = self.agents.iter().filter(|agent| is_meant(agent));
        let first = meant.next()?;
        meant.next().is_none().then_some(first)
    }
}

/// A slip of the fingers, or the name among other words (`the gemini cli please`).
fn is_near(names: &[String], asked: &str) -> bool {
    let within = format!(" {asked} ");
    names.iter().any(|name| is_slip(name, asked) || within.contains(&format!(" {name} ")))
}

fn given(name: &'static str, text: &str) -> Result<(), Error> {
    if text.trim().is_empty() {
        return Err(Error::Empty { name });
    }
    match text.chars().count() {
        length if length > MAX_CHARS => Err(Error::TooLong { name, length, most: MAX_CHARS }),
        _ => Ok(()),
    }
}
