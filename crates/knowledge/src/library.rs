//! The knowledge bases of a process: reads files, maintains the indexes, hands out snapshots.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use kenning_embed::Embedder;

use crate::base::Base;
use crate::diagnostic::Diagnostic;
use crate::document::Document;
use crate::keyword::KeywordIndex;
use crate::path::RelPath;
use crate::reading::{FileSystem, Limits, LocalFiles, Reader};
use crate::semantic::Semantic;
use crate::snapshot::{File, Indexes, Snapshot};
use crate::survey::{Reading, Survey, survey};

pub use crate::reading::Progress;

/// How long after the start [`Library::embed`] waits for the model.
const MODEL_TIMEOUT: Duration = Duration::from_secs(5);

/// All knowledge bases of a process.
pub struct Library {
    bases: Vec<Arc<Base>>,
    current: ArcSwap<Snapshot>,
    semantic: Arc<ArcSwap<Semantic>>,
    generation: Generation,
    opened: Instant,
    reader: Reader,
    lag: Lag,
    /// Locked for the duration of a sync, so that syncs run one after another.
    writer: Mutex<Writer>,
}

/// A counter that a thread can wait on until it grows.
#[derive(Default)]
struct Generation {
    number: Mutex<u64>,
    grew: Condvar,
}

impl Generation {
    fn advance(&self) {
        *self.number.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.grew.notify_all();
    }

    fn wait(&self, seen: Option<u64>) -> u64 {
        let number = self.number.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.grew.wait_while(number, |number| Some(*number) == seen);
        *waited.unwrap_or_else(PoisonError::into_inner)
    }
}

/// Since when the snapshot may differ from the files.
#[derive(Default)]
struct Lag(Mutex<Option<Instant>>);

impl Lag {
    fn begin(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(Instant::now);
    }

    fn end(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn since(&self) -> Option<Instant> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Writer {
    keyword: KeywordIndex,
    next_version: u64,
    /// The diagnostics of the last sync, without those of documents.
    diagnostics: Vec<Diagnostic>,
}

/// The files that a sync found changed, as `base/path`.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Changes {
    pub added: Vec<String>,
    pub changed: Vec<String>,
    pub removed: Vec<String>,
}

impl Changes {
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.changed.is_empty() && self.removed.is_empty()
    }

    /// Whether files were added or removed, so that lists of files are out of date.
    pub fn alters_list(&self) -> bool {
        !self.added.is_empty() || !self.removed.is_empty()
    }
}

#[derive(Debug, thiserror::Error)]
pub enum LibraryError {
    #[error("no knowledge base is configured")]
    NoBase,
    #[error("two knowledge bases are named `{0}`")]
    DuplicateBase(String),
    #[error("the keyword index failed: {0}")]
    Index(#[from] tantivy::TantivyError),
}

impl Library {
    /// Reads all files of all bases.
    pub fn open(bases: Vec<Base>, progress: Progress<'_>) -> Result<Self, LibraryError> {
        Self::open_on(Arc::new(LocalFiles), Limits::default(), bases, progress)
    }

    /// The same on another file system, or with other limits.
    pub fn open_on(
        files: Arc<dyn FileSystem>,
        limits: Limits,
        bases: Vec<Base>,
        progress: Progress<'_>,
    ) -> Result<Self, LibraryError> {
        if bases.is_empty() {
            return Err(LibraryError::NoBase);
        }
        for (i, base) in bases.iter().enumerate() {
            if bases[..i].iter().any(|other| other.name() == base.name()) {
                return Err(LibraryError::DuplicateBase(base.name().to_owned()));
            }
        }
        let bases = bases.into_iter().map(Arc::new).collect();
        let library = Self { reader: Reader::new(files, limits), ..Self::empty(bases)? };
        library.sync(progress)?;
        Ok(library)
    }

    /// A library of documents that are not read from files, for evaluation.
    pub fn of_documents(base: Base, documents: Vec<Document>) -> Result<Self, LibraryError> {
        let library = Self::empty(vec![Arc::new(base)])?;
        {
            let mut writer = library.writer.lock().unwrap_or_else(PoisonError::into_inner);
            let mut files = Vec::with_capacity(documents.len());
            for document in documents {
                files.push(writer.index(0, document)?);
            }
            files.sort_by(|a, b| a.document.path.cmp(&b.document.path));
            library.replace_snapshot(&mut writer, files, Survey::default())?;
        }
        Ok(library)
    }

    fn empty(bases: Vec<Arc<Base>>) -> Result<Self, LibraryError> {
        let semantic = Arc::new(ArcSwap::from_pointee(Semantic::default()));
        let mut keyword = KeywordIndex::new()?;
        let indexes = Indexes { keyword: keyword.commit()?, semantic: semantic.clone() };
        let empty = Snapshot::new(bases.clone(), Vec::new(), indexes, Vec::new());
        Ok(Self {
            bases,
            current: ArcSwap::from_pointee(empty),
            semantic,
            generation: Generation::default(),
            opened: Instant::now(),
            reader: Reader::new(Arc::new(LocalFiles), Limits::default()),
            lag: Lag::default(),
            writer: Mutex::new(Writer { keyword, next_version: 0, diagnostics: Vec::new() }),
        })
    }

    /// The current snapshot. Cheap to get, and not affected by later syncs.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }

    pub fn bases(&self) -> &[Arc<Base>] {
        &self.bases
    }

    /// Brings the library up to date with the files. Documents whose bytes did not change are kept.
    pub fn sync(&self, progress: Progress<'_>) -> Result<Changes, LibraryError> {
        self.expect_changes();
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.snapshot();
        let mut survey = survey(&self.reader, &self.bases, &before, progress);
        let (files, changes) = writer.apply(&self.bases, &before, &mut survey)?;
        let is_current = !survey.is_stalled();
        survey.log_news(&before);
        // Without changes and other diagnostics the snapshot stays, and the indexer is not woken.
        if !changes.is_empty() || survey.diagnostics != writer.diagnostics {
            writer.diagnostics.clone_from(&survey.diagnostics);
            self.replace_snapshot(&mut writer, files, survey)?;
        }
        if is_current {
            self.lag.end();
        }
        Ok(changes)
    }

    fn replace_snapshot(
        &self,
        writer: &mut Writer,
        files: Vec<File>,
        survey: Survey,
    ) -> Result<(), LibraryError> {
        let indexes =
            Indexes { keyword: writer.keyword.commit()?, semantic: self.semantic.clone() };
        let snapshot = Snapshot::new(self.bases.clone(), files, indexes, survey.diagnostics)
            .with_unavailable(survey.unavailable, survey.stalled_files);
        self.current.store(Arc::new(snapshot));
        self.generation.advance();
        Ok(())
    }

    /// Files may have changed. From now on until they are read, the library is behind them.
    pub(crate) fn expect_changes(&self) {
        self.lag.begin();
    }

    /// Whether the files could not be followed for a minute: some are not read, or a sync hangs.
    pub fn is_behind(&self) -> bool {
        self.lag.since().is_some_and(|since| since.elapsed() >= self.reader.limits.behind)
    }

    /// The folders that are read now. Those of a base that does not answer are left out.
    pub(crate) fn folders(&self) -> HashSet<PathBuf> {
        let bases = self.bases.iter().enumerate();
        let listings = bases.filter_map(|(index, base)| self.reader.list(index, base));
        listings.flat_map(|listing| listing.folders).collect()
    }

    /// The embedding of a short text; `None` without a model. Right after the start it waits for
    /// the model, which loads in less than a second.
    pub fn embed(&self, text: &str) -> Option<Vec<f32>> {
        while self.semantic.load().embedder.is_none() && self.opened.elapsed() < MODEL_TIMEOUT {
            std::thread::sleep(Duration::from_millis(5));
        }
        self.semantic.load().embedder.as_ref()?.embed(text).ok()
    }

    /// The embedding of a short text by the built-in model, whichever the bases use: vectors that are
    /// part of the program can be compared with no other.
    pub fn embed_bundled(&self, text: &str) -> Option<Vec<f32>> {
        let vector = self.embed(text);
        match &self.semantic.load().embedder {
            Some(other) if !other.is_bundled() => Embedder::shared_bundled()?.embed(text).ok(),
            _ => vector,
        }
    }

    /// Whether the model is loaded, so that queries can be embedded.
    pub fn has_model(&self) -> bool {
        self.semantic.load().embedder.is_some()
    }

    /// Makes these vectors available to all queries from now on.
    pub(crate) fn publish(&self, semantic: Semantic) {
        self.semantic.store(Arc::new(semantic));
    }

    /// Blocks until the generation differs from `seen`, because of a sync or [`Self::wake`].
    /// Returns at once if `seen` is `None`.
    pub(crate) fn wait_for_change(&self, seen: Option<u64>) -> u64 {
        self.generation.wait(seen)
    }

    pub(crate) fn wake(&self) {
        self.generation.advance();
    }
}

impl Writer {
    /// Indexes the documents that changed. Returns all files, sorted by base and path.
    fn apply(
        &mut self,
        bases: &[Arc<Base>],
        before: &Snapshot,
        survey: &mut Survey,
    ) -> Result<(Vec<File>, Changes), LibraryError> {
        let mut changes = Changes::default();
        let mut files = Vec::with_capacity(survey.readings.len());
        let name = |b: usize, path: &RelPath| format!("{}/{path}", bases[b].name());
        for (base, reading) in survey.readings.drain(..) {
            match reading {
                Reading::Unchanged(file) => files.push(file),
                Reading::Unreadable(diagnostic) => survey.diagnostics.push(diagnostic),
                Reading::Parsed(document) => {
                    let list = match before.file(base, &document.path) {
                        Some(_) => &mut changes.changed,
                        None => &mut changes.added,
                    };
                    list.push(name(base, &document.path));
                    files.push(self.index(base, *document)?);
                }
            }
        }
        let kept: HashSet<u64> = files.iter().map(|file| file.version).collect();
        // A set, because a checkout can change thousands of files at once.
        let changed: HashSet<&String> = changes.changed.iter().collect();
        for gone in before.files().iter().filter(|file| !kept.contains(&file.version)) {
            self.keyword.remove(gone.version);
            let name = name(gone.base, &gone.document.path);
            if !changed.contains(&name) {
                changes.removed.push(name);
            }
        }
        survey.diagnostics.dedup();
        Ok((files, changes))
    }

    fn index(&mut self, base: usize, document: Document) -> Result<File, LibraryError> {
        let version = self.next_version;
        self.next_version += 1;
        self.keyword.add(version, &document)?;
        Ok(File { base, version, document: Arc::new(document) })
    }
}

impl std::fmt::Debug for Library {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Library").field("bases", &self.bases).finish_non_exhaustive()
    }
}
