//! The vectors that a command searches with: the stored ones, or all if it is asked to wait.
//!
//! What is missing is left to a process of its own ([`BackgroundRun`]), which continues after the
//! command has ended, or to a running server. A lock ([`IndexLock`]) shows that one of them is at work.

use std::fs::{DirBuilder, File, TryLockError};
use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use kenning_knowledge::Library;
use kenning_knowledge::library::Progress;
use kenning_knowledge::semantic::{Coverage, Indexer, ModelSource, VectorCache};
use kenning_store::{Location, Store};

use super::context::store_location;
use super::paths::data_folder;
use super::{Context, flags_of};
use crate::cli;
use crate::failure::{Exit, Failure};
use crate::printer::Printer;

/// How often to look for vectors that another process computes.
const POLL: Duration = Duration::from_millis(300);
/// After this long without a new vector from the other process, compute them here, too.
const PATIENCE: Duration = Duration::from_mins(1);
/// The background run gives way to everything else on the machine.
#[cfg(unix)]
const NICE: i32 = 10;

/// What to do about vectors that are not stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    /// Search by keywords instead.
    Leave,
    Compute,
}

impl From<cli::Wait> for Missing {
    fn from(args: cli::Wait) -> Self {
        if args.wait { Self::Compute } else { Self::Leave }
    }
}

/// The vectors of a library, loaded when a command first needs them.
pub(super) struct Vectors {
    library: Arc<Library>,
    cache: Arc<dyn VectorCache>,
    model: ModelSource,
    printer: Printer,
    /// `None` without a store.
    lock: Option<IndexLock>,
    /// `None` if it is switched off.
    background: Option<BackgroundRun>,
    are_loaded: AtomicBool,
}

impl Context {
    pub(super) fn vectors(
        &self,
        library: &Arc<Library>,
        store: Option<&Arc<Store>>,
    ) -> Result<Vectors, Failure> {
        let runs = self.settings.index.background && store.is_some();
        Ok(Vectors {
            library: library.clone(),
            cache: Self::vector_cache(store),
            model: self.settings.model(&self.layers)?,
            printer: self.printer,
            lock: store.and_then(|store| IndexLock::of(self, store, library)),
            background: runs.then(|| BackgroundRun::of(self)),
            are_loaded: AtomicBool::new(false),
        })
    }
}

impl Vectors {
    /// Makes vectors available to searches. A second call does nothing.
    pub(super) fn load(&self, missing: Missing) -> Result<(), Failure> {
        if self.are_loaded.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        let mut indexer =
            Indexer::new(self.library.clone(), self.cache.clone(), self.model.load()?);
        match missing {
            Missing::Leave => indexer.load_cached(),
            Missing::Compute => self.compute(&mut indexer)?,
        }
        Ok(())
    }

    fn compute(&self, indexer: &mut Indexer) -> Result<(), Failure> {
        let _lock = {
            let bar = self.printer.progress("embedding");
            self.wait_for_others(indexer, &|done, total| bar.set(done, total))
        };
        let bar = self.printer.progress("embedding");
        indexer.catch_up(&|done, total| bar.set(done, total))?;
        Ok(())
    }

    /// Waits while another process computes the vectors, and returns the lock if it is free then.
    fn wait_for_others(&self, indexer: &mut Indexer, progress: Progress<'_>) -> Option<File> {
        let lock = self.lock.as_ref()?;
        let (mut most, mut grew) = (0, Instant::now());
        loop {
            match lock.try_exclusive() {
                Ok(held) => return Some(held),
                Err(TryLockError::Error(_)) => return None,
                Err(TryLockError::WouldBlock) => {}
            }
            indexer.load_cached();
            let Coverage { embedded, total } = self.library.snapshot().coverage();
            progress(embedded, total);
            if embedded > most {
                (most, grew) = (embedded, Instant::now());
            }
            if embedded == total || grew.elapsed() > PATIENCE {
                return None;
            }
            std::thread::sleep(POLL);
        }
    }

    /// Leaves vectors that a search lacked to the background, and says what becomes of them. `None` if
    /// none are missing, or the command did not search.
    pub(super) fn leave_rest(&self) -> Option<String> {
        let coverage = self.library.snapshot().coverage();
        if !self.are_loaded.load(Ordering::Relaxed) || coverage.is_complete() {
            return None;
        }
        let is_computed = self.lock.as_ref().is_some_and(|lock| match lock.try_exclusive() {
            Err(TryLockError::WouldBlock) => true,
            Err(TryLockError::Error(_)) => false,
            Ok(held) => self.background.as_ref().is_some_and(|run| run.start(held)),
        });
        let rest = if is_computed {
            "the rest is computed in the background; --wait waits for it"
        } else {
            "--wait computes the rest"
        };
        Some(rest.to_owned())
    }

    /// The same, with how far the vectors are.
    pub(super) fn leave_rest_and_report(&self) -> Option<String> {
        let percent = self.library.snapshot().coverage().percent();
        self.leave_rest().map(|rest| format!("meaning: {percent} % ready; {rest}"))
    }
}

/// Marks a library whose vectors a process computes for one model and one store: held exclusively by
/// a run that ends, shared by servers. The kernel releases it however they end.
#[derive(Debug)]
pub(super) struct IndexLock {
    folder: PathBuf,
    file: PathBuf,
}

impl IndexLock {
    /// `None` if there is no folder for it.
    pub(super) fn of(context: &Context, store: &Store, library: &Library) -> Option<Self> {
        let folder = match store_location(&context.settings, &context.layers).ok()?? {
            Location::Folder(folder) => folder,
            Location::Postgres(_) => data_folder()?,
        };
        let model = context.settings.model(&context.layers).ok()?;
        let mut name = blake3::Hasher::new();
        name.update(format!("{model:?}\0{}", store.place()).as_bytes());
        for base in library.bases() {
            name.update(b"\0").update(base.root().as_os_str().as_encoded_bytes());
        }
        let folder = folder.join("run");
        let file = folder.join(format!("vectors-{}.lock", &name.finalize().to_hex()[..16]));
        Some(Self { folder, file })
    }

    pub(super) fn try_exclusive(&self) -> Result<File, TryLockError> {
        let file = self.open().map_err(TryLockError::Error)?;
        file.try_lock().map(|()| file)
    }

    pub(super) fn try_shared(&self) -> Result<File, TryLockError> {
        let file = self.open().map_err(TryLockError::Error)?;
        file.try_lock_shared().map(|()| file)
    }

    /// Whether this process got the lock from the one that started it.
    #[cfg(unix)]
    fn is_stdin(&self) -> bool {
        use std::os::fd::AsFd;
        use std::os::unix::fs::MetadataExt;
        let stdin = io::stdin().as_fd().try_clone_to_owned().map(File::from);
        let identity =
            |file: io::Result<std::fs::Metadata>| file.map(|file| (file.dev(), file.ino()));
        let stdin = identity(stdin.and_then(|stdin| stdin.metadata()));
        stdin.ok().is_some_and(|stdin| identity(self.file.metadata()).ok() == Some(stdin))
    }

    /// Locks are not inherited there.
    #[cfg(not(unix))]
    fn is_stdin(&self) -> bool {
        false
    }

    /// Sockets of servers are in the same folder, which must be the user's alone.
    fn open(&self) -> io::Result<File> {
        let (mut folder, mut file) = (DirBuilder::new(), File::options());
        #[cfg(unix)]
        {
            use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
            folder.mode(0o700);
            file.mode(0o600);
        }
        folder.recursive(true).create(&self.folder)?;
        file.create(true).truncate(false).write(true).open(&self.file)
    }
}

/// A process that computes the vectors that are missing, and ends.
#[derive(Debug)]
struct BackgroundRun {
    flags: Vec<String>,
    /// May hold a password, which must not show in the list of processes.
    store: Option<String>,
}

impl BackgroundRun {
    fn of(context: &Context) -> Self {
        Self { flags: flags_of(&context.global), store: context.global.store.clone() }
    }

    /// Whether it could be started. It gets the lock with its standard input, so that no command
    /// finds the lock free in between and starts another one.
    fn start(&self, held: File) -> bool {
        let Ok(program) = std::env::current_exe() else { return false };
        let mut command = Command::new(program);
        command.args(&self.flags).args(["--quiet", "index", "--background"]);
        if let Some(store) = &self.store {
            command.env("KENNING_STORE_URL", store);
        }
        command.stdin(held).stdout(Stdio::null()).stderr(Stdio::null());
        // Ctrl-C in the terminal of the command does not end it.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command
            .spawn()
            .inspect_err(|error| tracing::warn!(%error, "the background run cannot be started"))
            .is_ok()
    }
}

/// The background run itself.
pub(super) fn run_in_background(context: &Context) -> Result<Exit, Failure> {
    #[cfg(unix)]
    let _ = rustix::process::nice(NICE);
    let Some(store) = context.open_store()? else { return Ok(Exit::Success) };
    let library = Arc::new(context.open_library()?);
    let Some(lock) = IndexLock::of(context, &store, &library) else { return Ok(Exit::Success) };
    let _lock = match lock.try_exclusive() {
        Ok(held) => Some(held),
        Err(_) if lock.is_stdin() => None,
        Err(_) => return Ok(Exit::Success),
    };
    let model = context.settings.model(&context.layers)?.load()?;
    Indexer::new(library, store, model).requiring_cache().catch_up(&|_, _| {})?;
    Ok(Exit::Success)
}
