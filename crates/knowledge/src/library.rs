//! The knowledge bases of a process: reads files, maintains the indexes, hands out snapshots.

use std::collections::HashSet;
use std::io::Read;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use cap_std::fs::Dir;
use kenning_embed::Embedder;
use rayon::prelude::*;

use crate::base::{Base, MAX_FILE_BYTES};
use crate::diagnostic::Diagnostic;
use crate::document::Document;
use crate::keyword::KeywordIndex;
use crate::path::RelPath;
use crate::semantic::Semantic;
use crate::snapshot::{File, Indexes, Snapshot};

/// How long after the start [`Library::embed`] waits for the model.
const MODEL_TIMEOUT: Duration = Duration::from_secs(5);

/// All knowledge bases of a process.
pub struct Library {
    bases: Vec<Arc<Base>>,
    current: ArcSwap<Snapshot>,
    semantic: Arc<ArcSwap<Semantic>>,
    generation: Generation,
    opened: Instant,
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

struct Writer {
    keyword: KeywordIndex,
    next_version: u64,
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

/// Called with the number of files read and of all files.
pub type Progress<'a> = &'a (dyn Fn(usize, usize) + Sync);

#[derive(Debug, thiserror::Error)]
pub enum LibraryError {
    #[error("no knowledge base is configured")]
    NoBase,
    #[error("two knowledge bases are named `{0}`")]
    DuplicateBase(String),
    #[error("the keyword index failed: {0}")]
    Index(#[from] tantivy::TantivyError),
}

enum Reading {
    Unchanged(File),
    Parsed(Document),
    Unreadable(Diagnostic),
}

impl Library {
    /// Reads all files of all bases.
    pub fn open(bases: Vec<Base>, progress: Progress<'_>) -> Result<Self, LibraryError> {
        if bases.is_empty() {
            return Err(LibraryError::NoBase);
        }
        for (i, base) in bases.iter().enumerate() {
            if bases[..i].iter().any(|other| other.name() == base.name()) {
                return Err(LibraryError::DuplicateBase(base.name().to_owned()));
            }
        }
        let library = Self::empty(bases.into_iter().map(Arc::new).collect())?;
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
            library.replace_snapshot(&mut writer, files, Vec::new())?;
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
            writer: Mutex::new(Writer { keyword, next_version: 0 }),
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
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.snapshot();
        let (readings, diagnostics) = self.read_all(&before, progress);
        let (files, mut diagnostics, changes) =
            writer.apply(&self.bases, &before, readings, diagnostics)?;
        // Without changes and new diagnostics the snapshot stays, and the indexer is not woken.
        if changes.is_empty() && diagnostics.iter().all(|note| before.diagnostics().contains(note))
        {
            return Ok(changes);
        }
        diagnostics.dedup();
        self.replace_snapshot(&mut writer, files, diagnostics)?;
        Ok(changes)
    }

    fn replace_snapshot(
        &self,
        writer: &mut Writer,
        files: Vec<File>,
        diagnostics: Vec<Diagnostic>,
    ) -> Result<(), LibraryError> {
        let indexes =
            Indexes { keyword: writer.keyword.commit()?, semantic: self.semantic.clone() };
        let snapshot = Snapshot::new(self.bases.clone(), files, indexes, diagnostics);
        self.current.store(Arc::new(snapshot));
        self.generation.advance();
        Ok(())
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

    fn read_all(
        &self,
        before: &Snapshot,
        progress: Progress<'_>,
    ) -> (Vec<(usize, Reading)>, Vec<Diagnostic>) {
        let mut work: Vec<(usize, Arc<Dir>, RelPath)> = Vec::new();
        let mut diagnostics = Vec::new();
        for (b, base) in self.bases.iter().enumerate() {
            let (paths, notes) = base.files();
            diagnostics.extend(notes);
            match base.open() {
                Ok(dir) => {
                    let dir = Arc::new(dir);
                    work.extend(paths.into_iter().map(|path| (b, dir.clone(), path)));
                }
                Err(error) => {
                    diagnostics.push(base.report("", format!("cannot be opened: {error}")));
                }
            }
        }
        let (done, total) = (AtomicUsize::new(0), work.len());
        let readings = work
            .into_par_iter()
            .map(|(b, dir, path)| {
                let reading = self.read(before, b, &dir, path);
                progress(done.fetch_add(1, Ordering::Relaxed) + 1, total);
                (b, reading)
            })
            .collect();
        (readings, diagnostics)
    }

    fn read(&self, before: &Snapshot, b: usize, dir: &Dir, path: RelPath) -> Reading {
        let bytes = match bounded_read(dir, &path) {
            Ok(bytes) => bytes,
            Err(reason) => {
                return Reading::Unreadable(self.bases[b].report(path.as_str(), reason));
            }
        };
        match before.file(b, &path) {
            Some(file) if file.document.hash == blake3::hash(&bytes) => {
                Reading::Unchanged(file.clone())
            }
            _ => Reading::Parsed(Document::parse(path, &bytes)),
        }
    }
}

fn bounded_read(dir: &Dir, path: &RelPath) -> Result<Vec<u8>, String> {
    let unreadable = |error: std::io::Error| format!("cannot be read: {error}");
    let file = dir.open(path.as_str()).map_err(unreadable)?;
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(format!("is larger than {MAX_FILE_BYTES} bytes and is skipped"));
    }
    Ok(bytes)
}

impl Writer {
    fn apply(
        &mut self,
        bases: &[Arc<Base>],
        before: &Snapshot,
        readings: Vec<(usize, Reading)>,
        mut diagnostics: Vec<Diagnostic>,
    ) -> Result<(Vec<File>, Vec<Diagnostic>, Changes), LibraryError> {
        let mut changes = Changes::default();
        let mut files = Vec::with_capacity(readings.len());
        let name = |b: usize, path: &RelPath| format!("{}/{path}", bases[b].name());
        for (base, reading) in readings {
            match reading {
                Reading::Unchanged(file) => files.push(file),
                Reading::Unreadable(diagnostic) => diagnostics.push(diagnostic),
                Reading::Parsed(document) => {
                    let list = match before.file(base, &document.path) {
                        Some(_) => &mut changes.changed,
                        None => &mut changes.added,
                    };
                    list.push(name(base, &document.path));
                    files.push(self.index(base, document)?);
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
        Ok((files, diagnostics, changes))
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
