//! Keeps a library in step with its files while a server runs.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};

use crate::library::{Changes, Library};

/// Editors write in bursts: a sync starts when files have been quiet this long …
const QUIET: Duration = Duration::from_millis(100);
/// … or when the first change is this old.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often to look by ourselves while a folder cannot be watched.
const POLL: Duration = Duration::from_secs(5);

/// Watches as long as it lives.
#[derive(Debug)]
pub struct Watcher {
    // Dropping both sending sides, this one and the notifier's, ends the thread below.
    _events: Sender<()>,
    _notifier: Option<Arc<Mutex<RecommendedWatcher>>>,
}

impl Watcher {
    /// Syncs `library` whenever something changes in a folder it reads, and tells `changed` what
    /// became of it. Where the system cannot tell of changes, it looks for them now and then.
    pub fn start(
        library: Arc<Library>,
        changed: impl Fn(Changes) + Send + 'static,
    ) -> std::io::Result<Self> {
        let (events, heard) = channel();
        let notifier = notifier(events.clone())
            .inspect_err(|error| tracing::warn!(%error, "looking for changes every {POLL:?}"))
            .ok()
            .map(|notifier| Arc::new(Mutex::new(notifier)));
        let mut folders = Folders::new(notifier.as_ref().map(Arc::downgrade));
        folders.cover(&library);
        std::thread::Builder::new()
            .name("watch".to_owned())
            .spawn(move || follow(&library, &mut folders, &heard, &changed))?;
        Ok(Self { _events: events, _notifier: notifier })
    }
}

fn notifier(events: Sender<()>) -> notify::Result<RecommendedWatcher> {
    notify::recommended_watcher(move |event: notify::Result<Event>| {
        if event.as_ref().map_or(true, |event| !matches!(event.kind, EventKind::Access(_))) {
            let _ = events.send(());
        }
    })
}

fn follow(
    library: &Library,
    folders: &mut Folders,
    heard: &Receiver<()>,
    changed: &impl Fn(Changes),
) {
    while folders.wait(heard) {
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
    /// `None` if the system has no way to tell.
    notifier: Option<Weak<Mutex<RecommendedWatcher>>>,
    watched: HashSet<PathBuf>,
    refused: HashSet<PathBuf>,
}

impl Folders {
    fn new(notifier: Option<Weak<Mutex<RecommendedWatcher>>>) -> Self {
        Self { notifier, watched: HashSet::new(), refused: HashSet::new() }
    }

    /// Waits until it is time to look; `false` when the watch is over.
    fn wait(&self, heard: &Receiver<()>) -> bool {
        if self.notifier.is_some() && self.refused.is_empty() {
            return heard.recv().is_ok();
        }
        !matches!(heard.recv_timeout(POLL), Err(RecvTimeoutError::Disconnected))
    }

    /// Watches what is read now; says whether there was a folder not watched before.
    fn cover(&mut self, library: &Library) -> bool {
        let Some(notifier) = self.notifier.as_ref().and_then(Weak::upgrade) else {
            return false;
        };
        let mut notifier = notifier.lock().unwrap_or_else(PoisonError::into_inner);
        let read: HashSet<PathBuf> =
            library.bases().iter().flat_map(|base| base.folders()).collect();
        for gone in self.watched.difference(&read) {
            // The folder may be gone, and its watch with it.
            let _ = notifier.unwatch(gone);
        }
        self.watched.retain(|folder| read.contains(folder));
        let mut grew = false;
        let mut refused = HashSet::new();
        for folder in read {
            if self.watched.contains(&folder) {
                continue;
            }
            match notifier.watch(&folder, RecursiveMode::NonRecursive) {
                Ok(()) => {
                    grew = true;
                    self.watched.insert(folder);
                }
                Err(error) => {
                    if !self.refused.contains(&folder) {
                        let folder = folder.display();
                        tracing::warn!(%error, %folder, "looking for changes every {POLL:?}");
                    }
                    refused.insert(folder);
                }
            }
        }
        self.refused = refused;
        grew
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_notifier_it_looks_by_itself_and_ends_with_its_watcher() {
        let folders = Folders::new(None);
        let (events, heard) = channel();
        events.send(()).unwrap();
        assert!(folders.wait(&heard), "an event is heard at once");
        drop(events);
        assert!(!folders.wait(&heard), "nobody is left to watch for");
        let (_events, heard) = channel();
        assert!(folders.wait(&heard), "silence is no reason not to look");
    }
}
