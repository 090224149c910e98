//! Assigns an id to every section of a base.

use std::collections::HashMap;

use crate::diagnostic::Diagnostic;
use crate::document::Document;

/// The ids of all sections, a list per document.
///
/// Ids written by authors are assigned first. A root without an id gets the stem of its file; if
/// several files share it, the one nearest to the base's root does and the others get their dotted
/// path. Any other section gets `parent_id.slug`. A number is appended to an id that is taken.
pub(crate) fn assign(documents: &[&Document], base: &str) -> (Vec<Vec<String>>, Vec<Diagnostic>) {
    let mut ids = Assignment {
        owners: HashMap::new(),
        ids: documents.iter().map(|d| vec![None; d.sections.len()]).collect(),
        diagnostics: Vec::new(),
    };
    ids.claim_written(documents, base);
    ids.claim_roots(documents);
    ids.claim_rest(documents);
    let all = ids.ids.into_iter().map(|ids| {
        let ids = ids.into_iter();
        ids.map(|id| id.expect("every section was claimed in one of the passes")).collect()
    });
    (all.collect(), ids.diagnostics)
}

struct Assignment {
    /// Document and section by id.
    owners: HashMap<String, (usize, usize)>,
    ids: Vec<Vec<Option<String>>>,
    diagnostics: Vec<Diagnostic>,
}

impl Assignment {
    fn claim_written(&mut self, documents: &[&Document], base: &str) {
        let mut duplicates = Vec::new();
        for (d, document) in documents.iter().enumerate() {
            for (s, section) in document.sections.iter().enumerate() {
                match section.metadata.text("id") {
                    Some(id) if self.owners.contains_key(&id) => duplicates.push((d, s, id)),
                    Some(id) => self.claim(d, s, id),
                    None => {}
                }
            }
        }
        for (d, s, id) in duplicates {
            let (first_d, first_s) = self.owners[&id];
            let first = &documents[first_d];
            let distinct = self.distinct(&id);
            let message = format!(
                "id `{id}` is already used by {}:{}; this one gets `{distinct}`",
                first.path, first.sections[first_s].line
            );
            let line = documents[d].sections[s].line;
            let path = documents[d].path.as_str();
            self.diagnostics.push(Diagnostic::new(line, message).located(base, path));
            self.claim(d, s, distinct);
        }
    }

    fn claim_roots(&mut self, documents: &[&Document]) {
        let mut order: Vec<usize> = (0..documents.len()).collect();
        order.sort_by_key(|&d| (documents[d].path.depth(), &documents[d].path));
        for d in order {
            if self.ids[d][0].is_some() {
                continue;
            }
            let path = &documents[d].path;
            let id = if self.owners.contains_key(path.stem()) {
                self.distinct(&path.dotted())
            } else {
                path.stem().to_owned()
            };
            self.claim(d, 0, id);
        }
    }

    fn claim_rest(&mut self, documents: &[&Document]) {
        for (d, document) in documents.iter().enumerate() {
            for (s, section) in document.sections.iter().enumerate() {
                if self.ids[d][s].is_some() {
                    continue;
                }
                let parent = section.parent.and_then(|parent| self.ids[d][parent].as_deref());
                let id = match parent {
                    Some(parent) => format!("{parent}.{}", section.slug),
                    None => section.slug.clone(),
                };
                let id = self.distinct(&id);
                self.claim(d, s, id);
            }
        }
    }

    fn claim(&mut self, d: usize, s: usize, id: String) {
        self.owners.insert(id.clone(), (d, s));
        self.ids[d][s] = Some(id);
    }

    fn distinct(&self, id: &str) -> String {
        if !self.owners.contains_key(id) {
            return id.to_owned();
        }
        // There is one more number than there are owners, so one is free.
        (2..=self.owners.len() + 2)
            .map(|n| format!("{id}-{n}"))
            .find(|candidate| !self.owners.contains_key(candidate))
            .expect("one of the numbers is free")
    }
}
