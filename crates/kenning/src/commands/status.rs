use kenning_knowledge::semantic::{Coverage, Indexer};
use serde::Serialize;

use super::Context;
use crate::failure::{Exit, Failure};

#[derive(Serialize)]
struct Status {
    bases: Vec<String>,
    files: usize,
    nodes: usize,
    to_mend: usize,
    /// Nodes whose vectors are remembered.
    embedded: usize,
    model: String,
    store: Option<String>,
    remembered_vectors: u64,
    misses: u64,
}

pub(super) fn run(context: &Context) -> Result<Exit, Failure> {
    let store = context.open_store()?;
    let library = std::sync::Arc::new(context.open_library()?);
    let cache = Context::vector_cache(store.as_ref());
    let mut indexer =
        Indexer::new(library.clone(), cache, context.settings.model(&context.layers)?.load()?);
    indexer.load_cached();
    let snapshot = library.snapshot();
    let Coverage { embedded, total } = snapshot.coverage();
    let counts = store.as_ref().map(|store| {
        Ok::<_, kenning_store::StoreError>((
            store.embedding_count(indexer.model())?,
            store.miss_count()?,
        ))
    });
    let (remembered_vectors, misses) = counts.transpose()?.unwrap_or_default();
    let status = Status {
        bases: snapshot
            .bases()
            .map(|base| format!("{} ({})", base.name(), base.root().display()))
            .collect(),
        files: snapshot.file_count(),
        nodes: total,
        to_mend: snapshot.diagnostics().len(),
        embedded,
        model: indexer.model().to_owned(),
        store: store.map(|store| store.place().to_owned()),
        remembered_vectors,
        misses,
    };
    context.printer.answer(&status, text)?;
    Ok(Exit::Success)
}

fn text(status: &Status) -> String {
    let Status { files, nodes, to_mend, embedded, model, remembered_vectors, misses, .. } = status;
    let store = status.store.as_deref().unwrap_or("none");
    format!(
        "bases    {}\nfiles    {files}, with {nodes} nodes; {to_mend} to mend\n\
         vectors  {embedded} of {nodes} nodes (model {model})\n\
         store    {store}, with vectors of {remembered_vectors} texts\n\
         misses   {misses}\n",
        status.bases.join(", ")
    )
}
