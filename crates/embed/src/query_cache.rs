//! The vectors of the last queries: the same question is often asked again, by the same client in
//! another mode, by the page after every key, or by several agents with one task.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// 256 vectors have 400 KB.
const ENTRIES: usize = 256;
/// Longer texts are not kept, so that the memory stays bounded; they are rarely asked twice.
const MAX_BYTES: usize = 4096;

#[derive(Default)]
pub(crate) struct QueryCache(Mutex<Entries>);

#[derive(Default)]
struct Entries {
    by_text: HashMap<String, Entry>,
    /// Counts uses, as a clock.
    clock: u64,
}

struct Entry {
    vector: Vec<f32>,
    last_used: u64,
}

impl QueryCache {
    /// The vector of a text, from the cache or computed. It is computed without the lock, so that
    /// other queries do not wait.
    pub(crate) fn get_or_compute<E>(
        &self,
        text: &str,
        compute: impl FnOnce() -> Result<Vec<f32>, E>,
    ) -> Result<Vec<f32>, E> {
        if let Some(vector) = self.entries().get(text) {
            return Ok(vector);
        }
        let vector = compute()?;
        if text.len() <= MAX_BYTES {
            self.entries().insert(text, vector.clone());
        }
        Ok(vector)
    }

    /// A panic elsewhere leaves the entries valid: each is complete before it is inserted.
    fn entries(&self) -> std::sync::MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entries {
    fn get(&mut self, text: &str) -> Option<Vec<f32>> {
        self.clock += 1;
        let entry = self.by_text.get_mut(text)?;
        entry.last_used = self.clock;
        Some(entry.vector.clone())
    }

    /// Looking through all entries for the oldest takes far less time than computing one.
    fn insert(&mut self, text: &str, vector: Vec<f32>) {
        if self.by_text.len() >= ENTRIES && !self.by_text.contains_key(text) {
            let oldest = self.by_text.iter().min_by_key(|(_, entry)| entry.last_used);
            if let Some(oldest) = oldest.map(|(text, _)| text.clone()) {
                self.by_text.remove(&oldest);
            }
        }
        let last_used = self.clock;
        self.by_text.insert(text.to_owned(), Entry { vector, last_used });
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Asks for a text; whether it was computed.
    fn ask(cache: &QueryCache, text: &str) -> bool {
        let computed = Cell::new(false);
        let compute = || {
            computed.set(true);
            Ok::<_, ()>(vec![text.len() as f32])
        };
        assert_eq!(cache.get_or_compute(text, compute), Ok(vec![text.len() as f32]));
        computed.get()
    }

    #[test]
    fn the_same_question_is_not_embedded_twice() {
        let cache = QueryCache::default();
        assert!(ask(&cache, "how to deploy"));
        assert!(!ask(&cache, "how to deploy"));
        assert!(ask(&cache, "how to Deploy"), "another text");
    }

    #[test]
    fn the_question_that_was_not_asked_for_longest_is_forgotten() {
        let cache = QueryCache::default();
        let questions: Vec<String> = (0..ENTRIES).map(|i| format!("question {i}")).collect();
        assert!(questions.iter().all(|question| ask(&cache, question)));
        assert!(!ask(&cache, &questions[0]), "used again");
        assert!(ask(&cache, "one more"));
        assert!(!ask(&cache, &questions[0]), "kept");
        assert!(ask(&cache, &questions[1]), "forgotten");
        assert_eq!(cache.entries().by_text.len(), ENTRIES);
    }

    #[test]
    fn a_long_text_and_a_failure_are_not_kept() {
        let cache = QueryCache::default();
        let long = "x".repeat(MAX_BYTES + 1);
        assert!(ask(&cache, &long) && ask(&cache, &long));
        assert_eq!(cache.get_or_compute("fails", || Err(())), Err(()));
        assert!(ask(&cache, "fails"));
    }
}
