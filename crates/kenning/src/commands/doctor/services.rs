//! Checks of bases, model, store and vectors.

use std::path::Path;
use std::sync::Arc;

use kenning_embed::Embedder;
use kenning_knowledge::Library;
use kenning_knowledge::semantic::{Coverage, Indexer, NoCache, VectorCache};
use kenning_settings::{Layers, Settings};
use kenning_store::{ExposedKind, Location, ReadOnly, Schema, Store};

use super::Check;
use crate::commands::context::store_location;
use crate::failure::Failure;
use crate::printer::count;

pub(super) fn checks(settings: &Settings, layers: &Layers) -> Vec<Check> {
    let mut checks = Vec::new();
    let library = library(settings, layers);
    match &library {
        Ok(library) => {
            checks.extend(bases(library));
            checks.extend(stalled_files(library));
        }
        Err(failure) => checks.push(Check::fail("bases", failure.clone())),
    }
    let model = model(settings, layers);
    match &model {
        Ok(model) => checks.push(Check::ok("model", format!("loads ({})", model.fingerprint()))),
        Err(failure) => checks.push(Check::fail("model", failure.clone())),
    }
    let (check, store) = store(settings, layers);
    checks.push(check);
    if let Ok(Some(Location::Folder(folder))) = store_location(settings, layers)
        && store.is_some()
    {
        checks.push(store_access(&folder));
    }
    if let (Ok(library), Ok(model)) = (library, model) {
        checks.push(vectors(library, model, store));
    }
    checks
}

fn library(settings: &Settings, layers: &Layers) -> Result<Library, Failure> {
    let bases = settings.open_bases(layers)?;
    Ok(Library::open(bases, &|_, _| {})?)
}

fn model(settings: &Settings, layers: &Layers) -> Result<Arc<Embedder>, Failure> {
    Ok(settings.model(layers)?.load()?)
}

fn bases(library: &Library) -> Vec<Check> {
    let snapshot = library.snapshot();
    let check = |base: &kenning_knowledge::Base| {
        let name = format!("base {}", base.name());
        let files = snapshot.roots().filter(|root| root.base().name() == base.name()).count();
        let nodes = snapshot.nodes().filter(|node| node.base().name() == base.name()).count();
        let diagnostics = snapshot.diagnostics().iter();
        let problems = diagnostics.filter(|found| found.base == base.name()).count();
        let root = base.root().display();
        let found = format!(
            "{}, {} and {} in {root}",
            count(files, "file"),
            count(nodes, "node"),
            count(problems, "problem")
        );
        if let Some(gone) = snapshot.unavailable().iter().find(|one| one.name == base.name()) {
            return Check::fail(name, Failure::new(gone.message.clone()))
                .next("check that the folder exists and its file system is mounted");
        }
        if files == 0 {
            return Check::warn(name, format!("no Markdown in {root}"))
                .next("name a folder with --root, or run `kenning init`");
        }
        if problems > 0 {
            return Check::warn(name, found)
                .next("`kenning index` lists the problems with file and line");
        }
        Check::ok(name, found)
    };
    snapshot.bases().map(check).collect()
}

fn stalled_files(library: &Library) -> Option<Check> {
    let stalled = library.snapshot().stalled_files();
    (stalled > 0).then(|| {
        let problem =
            format!("{} not read: the file system does not answer", count(stalled, "file"));
        Check::fail("files", Failure::new(problem))
            .next("`kenning index` names them; check the mount that they are on")
    })
}

fn store(settings: &Settings, layers: &Layers) -> (Check, Option<Store>) {
    let location = match store_location(settings, layers) {
        Ok(Some(location)) => location,
        Ok(None) => {
            let check = Check::warn("store", "there is no folder for the store");
            return (check.next("set HOME, or index.storage_path"), None);
        }
        Err(failure) => return (Check::fail("store", failure), None),
    };
    match Store::open_read_only(&location) {
        Ok(ReadOnly::Absent { place }) => (
            Check::ok("store", format!("{place} does not exist yet; the first use creates it")),
            None,
        ),
        Ok(ReadOnly::Present { store, schema }) => {
            let check = schema_check(store.place(), schema);
            (check, (schema.found > 0).then_some(store))
        }
        Err(error) => {
            let next = match location {
                Location::Folder(_) => "move the file away; vectors are computed again",
                Location::Postgres(_) => "check that the server is up and the URL is right",
            };
            (Check::fail("store", Failure::from(error)).next(next), None)
        }
    }
}

/// Whether other users of this machine can read the store.
fn store_access(folder: &Path) -> Check {
    let name = "store access";
    let exposed = kenning_store::exposed(folder);
    let (own, shared): (Vec<_>, Vec<_>) =
        exposed.iter().partition(|one| one.kind == ExposedKind::Own);
    let place = folder.display();
    if own.is_empty() {
        let found = "only its owner can read the store's files".to_owned();
        let others = "; others can list the folder, whose mode is not changed because it holds \
                      other files, too";
        let others = if shared.is_empty() { "" } else { others };
        return Check::ok(name, format!("{found} in {place}{others}"));
    }
    let found: Vec<String> =
        own.iter().map(|one| format!("{} ({:04o})", one.path.display(), one.mode)).collect();
    let problem = format!("other users can reach {}", found.join(", "));
    let paths: Vec<String> = own.iter().map(|one| one.path.display().to_string()).collect();
    let next = format!("run `chmod go-rwx {}` as their owner", paths.join(" "));
    Check::warn(name, problem)
        .next(format!("{next}; the next use of the store by its owner does so, too"))
}

fn schema_check(place: &str, Schema { found, known }: Schema) -> Check {
    match found {
        found if found > known => {
            let problem =
                format!("{place} has schema {found}, which is newer than {known} of this version");
            Check::fail("store", Failure::new(problem)).next("install a newer version of Kenning")
        }
        found if found < known => Check::ok(
            "store",
            format!("{place}, schema {found}; the next use migrates it to {known}"),
        ),
        found => Check::ok("store", format!("{place}, schema {found}")),
    }
}

fn vectors(library: Library, model: Arc<Embedder>, store: Option<Store>) -> Check {
    let library = Arc::new(library);
    let cache: Arc<dyn VectorCache> = match store {
        Some(store) => Arc::new(store),
        None => Arc::new(NoCache),
    };
    Indexer::new(library.clone(), cache, model).load_cached();
    let coverage = library.snapshot().coverage();
    let Coverage { embedded, total } = coverage;
    let found = format!("stored for {embedded} of {total} nodes");
    if coverage.is_complete() {
        return Check::ok("vectors", found);
    }
    Check::warn("vectors", found)
        .next("run `kenning index --embed`; a server computes them by itself")
}
