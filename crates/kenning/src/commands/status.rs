//! `status`: what is indexed and stored.

use kenning_knowledge::semantic::{Coverage, cached_coverage};
use kenning_store::StoreError;
use serde::Serialize;

use super::Context;
use crate::failure::{Exit, Failure};
use crate::printer::count;

#[derive(Serialize)]
struct Status {
    bases: Vec<String>,
    files: usize,
    nodes: usize,
    /// Problems that `kenning index` lists.
    #[serde(rename = "to_mend")]
    problems: usize,
    /// Nodes whose vectors are stored.
    embedded: usize,
    model: String,
    store: Option<String>,
    remembered_vectors: u64,
    misses: u64,
}

pub(super) fn run(context: &Context) -> Result<Exit, Failure> {
    let store = context.open_store()?;
    let cache = Context::vector_cache(store.as_ref());
    let model = context.settings.model(&context.layers)?.fingerprint()?;
    let snapshot = context.open_library()?.snapshot();
    let Coverage { embedded, total } = cached_coverage(&snapshot, &*cache, &model)
        .map_err(|error| Failure::new(error.to_string()))?;
    let counts = store
        .as_ref()
        .map(|store| Ok::<_, StoreError>((store.embedding_count(&model)?, store.miss_count()?)));
    let (remembered_vectors, misses) = counts.transpose()?.unwrap_or_default();
    let bases = snapshot.bases();
    let status = Status {
        bases: bases.map(|base| format!("{} ({})", base.name(), base.root().display())).collect(),
        files: snapshot.file_count(),
        nodes: total,
        problems: snapshot.diagnostics().len(),
        embedded,
        model,
        store: store.map(|store| store.place().to_owned()),
        remembered_vectors,
        misses,
    };
    context.answer(&status, text)
}

fn text(status: &Status) -> String {
    let Status { files, nodes, problems, embedded, model, remembered_vectors, misses, .. } = status;
    let store = status.store.as_deref().unwrap_or("none");
    format!(
        "bases    {}\nfiles    {files}, with {}; {}\n\
         vectors  {embedded} of {nodes} nodes (model {model})\n\
         store    {store}, with vectors of {remembered_vectors} texts\n\
         misses   {misses}\n",
        status.bases.join(", "),
        count(*nodes, "node"),
        count(*problems, "problem"),
    )
}
