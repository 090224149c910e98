//! Keeps a library in step with its files while a server runs.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};

use crate::library::{Changes, Library};

/// Editors write in bursts: a sync starts when files have been quiet this long …
const QUIET: Duration = Duration::from_millis(100);
/// … or when the first change is this old.
const PATIENCE: Duration = Duration::from_secs(1);

/// Watches as long as it lives.
#[derive(Debug)]
pub struct Watcher {
    // Dropping the sending side inside ends the thread below.
    _notifier: Arc<std::sync::Mutex<RecommendedWatcher>>,
}

impl Watcher {
    /// Syncs `library` whenever something changes in a folder it reads, and tells `changed` what
    /// became of it.
    pub fn start(
        library: Arc<Library>,
        changed: impl Fn(Changes) + Send + 'static,
    ) -> notify::Result<Self> {
        let (events, heard) = channel();
        let notifier = notify::recommended_watcher(move |event: notify::Result<Event>| {
            if event.as_ref().map_or(true, |event| !matches!(event.kind, EventKind::Access(_))) {
                let _ = events.send(());
            }
        })?;
        let notifier = Arc::new(std::sync::Mutex::new(notifier));
        let mut folders = Folders { notifier: Arc::downgrade(&notifier), watched: HashSet::new() };
        folders.cover(&library);
        std::thread::Builder::new()
            .name("watch".to_owned())
            .spawn(move || follow(&library, &mut folders, &heard, &changed))
            .map_err(notify::Error::io)?;
        Ok(Self { _notifier: notifier })
    }
}

fn follow(
    library: &Library,
    folders: &mut Folders,
    heard: &Receiver<()>,
    changed: &impl Fn(Changes),
) {
    while heard.recv().is_ok() {
        wait_for_quiet(heard);
        // A new folder may have filled before it was watched: look again until there is none.
        loop {
            let grew = folders.cover(library);
            match library.sync(&|_, _| {}) {
                Ok(changes) if changes.is_empty() => {}
                Ok(changes) => changed(changes),
                Err(error) => tracing::error!(%error, "knowledge bases could not be synced"),
            }
            if !grew {
                break;
            }
        }
    }
}

fn wait_for_quiet(heard: &Receiver<()>) {
    let first = Instant::now();
    while first.elapsed() < PATIENCE {
        if let Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) =
            heard.recv_timeout(QUIET)
        {
            return;
        }
    }
}

/// The folders under watch: those that are read, not the ignored ones, which may be huge.
struct Folders {
    notifier: std::sync::Weak<std::sync::Mutex<RecommendedWatcher>>,
    watched: HashSet<PathBuf>,
}

impl Folders {
    /// Watches what is read now; says whether there was a folder not watched before.
    fn cover(&mut self, library: &Library) -> bool {
        let Some(notifier) = self.notifier.upgrade() else {
            return false;
        };
        let mut notifier = notifier.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let read: HashSet<PathBuf> =
            library.bases().iter().flat_map(|base| base.folders()).collect();
        for gone in self.watched.difference(&read) {
            // The folder may be gone, and its watch with it.
            let _ = notifier.unwatch(gone);
        }
        let mut grew = false;
        for folder in read.difference(&self.watched) {
            match notifier.watch(folder, RecursiveMode::NonRecursive) {
                Ok(()) => grew = true,
                Err(error) => {
                    tracing::warn!(%error, folder = %folder.display(), "cannot be watched");
                }
            }
        }
        self.watched = read;
        grew
    }
}
