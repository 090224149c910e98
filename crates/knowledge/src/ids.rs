//! Which id each section of a base goes by.

use std::collections::HashMap;

use crate::diagnostic::Diagnostic;
use crate::document::Document;

/// The ids of all sections, a list per document.
///
/// What authors wrote comes first. A root without an id is named after its file (the one nearest
/// to the base's root, if several files share the name; the others are named by their path), any
/// other section `parent_id.slug`. An id that is taken gets a number.
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
    /// Who holds an id: document and section.
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
                "id `{id}` is already used by {}:{}; this one goes by `{distinct}`",
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
        // As many numbers as there are owners, and one more, cannot all be taken.
        (2..=self.owners.len() + 2)
            .map(|n| format!("{id}-{n}"))
            .find(|candidate| !self.owners.contains_key(candidate))
            .expect("one of the numbers is free")
    }
}
