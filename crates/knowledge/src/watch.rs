//! The file watcher: syncs a library when its files change.
//!
//! Only folders that are read are watched, one by one: ignored folders may be huge. Where the
//! system cannot report changes, the watcher polls.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use notify::event::ModifyKind;
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};

use crate::library::{Changes, Library};

/// Debounce, because editors write in bursts: a sync starts after this long without events …
const QUIET: Duration = Duration::from_millis(100);
/// … or when the first event is this old.
const MAX_DELAY: Duration = Duration::from_secs(1);
/// How often to poll while a folder cannot be watched.
const POLL: Duration = Duration::from_secs(5);

/// Watches until it is dropped.
#[derive(Debug)]
pub struct Watcher {
    // The thread ends once both senders are dropped, this one and the notifier's.
    _events: Sender<FileEvent>,
    _notifier: Option<Arc<Mutex<RecommendedWatcher>>>,
}

impl Watcher {
    /// Syncs `library` whenever something changes in a folder it reads, and calls `on_change` with
    /// the changes.
    pub fn start(
        library: Arc<Library>,
        on_change: impl Fn(Changes) + Send + 'static,
    ) -> std::io::Result<Self> {
        let (sender, events) = channel();
        let notifier = notifier(sender.clone())
            .inspect_err(|error| tracing::warn!(%error, "cannot watch; polling every {POLL:?}"))
            .ok()
            .map(|notifier| Arc::new(Mutex::new(notifier)));
        let mut watches = Watches::new(notifier.as_ref().map(Arc::downgrade));
        watches.update(&library);
        // Files may have changed after they were read and before they were watched.
        let _ = sender.send(FileEvent::Changed);
        std::thread::Builder::new()
            .name("watch".to_owned())
            .spawn(move || run(&library, &mut watches, &events, &on_change))?;
        Ok(Self { _events: sender, _notifier: notifier })
    }
}

/// A sync reads every file, so an event need not say which file changed. It has to say which
/// watches are no longer valid.
#[derive(Debug, PartialEq, Eq)]
enum FileEvent {
    Changed,
    /// Paths that were removed or renamed. The watch of a folder is removed with it, and is not
    /// restored for a new folder of the same name.
    Removed(Vec<PathBuf>),
    /// The system lost events, so anything may have changed.
    Overflow,
}

impl FileEvent {
    /// `None` for events that change nothing.
    fn from_notify(event: notify::Result<Event>) -> Option<Self> {
        let Ok(event) = event else { return Some(Self::Overflow) };
        if event.need_rescan() {
            return Some(Self::Overflow);
        }
        match event.kind {
            EventKind::Access(_) => None,
            EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_)) => {
                Some(Self::Removed(event.paths))
            }
            _ => Some(Self::Changed),
        }
    }
}

fn notifier(events: Sender<FileEvent>) -> notify::Result<RecommendedWatcher> {
    notify::recommended_watcher(move |event: notify::Result<Event>| {
        if let Some(event) = FileEvent::from_notify(event) {
            let _ = events.send(event);
        }
    })
}

fn run(
    library: &Library,
    watches: &mut Watches,
    events: &Receiver<FileEvent>,
    on_change: &impl Fn(Changes),
) {
    while watches.wait(events) {
        library.expect_changes();
        watches.wait_for_quiet(events);
        // Files may be added to a new folder before it is watched: sync until no folder is new.
        loop {
            let grew = watches.update(library);
            match library.sync(&|_, _| {}) {
                Ok(changes) if changes.is_empty() => {}
                Ok(changes) => on_change(changes),
                Err(error) => tracing::error!(%error, "sync failed; keeping the previous snapshot"),
            }
            if !grew {
                break;
            }
        }
        watches.retries = library.snapshot().stalled_files() > 0;
    }
}

/// The folders being watched.
struct Watches {
    /// `None` if the system cannot report changes.
    notifier: Option<Weak<Mutex<RecommendedWatcher>>>,
    watched: HashSet<PathBuf>,
    /// Folders that cannot be watched and have to be polled.
    unwatchable: HashSet<PathBuf>,
    /// Whether files could not be read and have to be tried again.
    retries: bool,
}

impl Watches {
    fn new(notifier: Option<Weak<Mutex<RecommendedWatcher>>>) -> Self {
        Self { notifier, watched: HashSet::new(), unwatchable: HashSet::new(), retries: false }
    }

    /// Blocks until it is time to sync; `false` when the watcher was dropped.
    fn wait(&mut self, events: &Receiver<FileEvent>) -> bool {
        let first = if self.notifier.is_some() && self.unwatchable.is_empty() && !self.retries {
            events.recv().map_err(RecvTimeoutError::from)
        } else {
            events.recv_timeout(POLL)
        };
        match first {
            Ok(first) => self.invalidate(&first),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return false,
        }
        true
    }

    fn wait_for_quiet(&mut self, events: &Receiver<FileEvent>) {
        let first = Instant::now();
        while first.elapsed() < MAX_DELAY {
            let Ok(next) = events.recv_timeout(QUIET) else { return };
            self.invalidate(&next);
        }
    }

    /// Forgets watches that are no longer valid; [`Self::update`] adds them again.
    fn invalidate(&mut self, event: &FileEvent) {
        match event {
            FileEvent::Changed => {}
            FileEvent::Removed(paths) => {
                let is_removed = |folder: &Path| paths.iter().any(|path| folder.starts_with(path));
                self.watched.retain(|folder| !is_removed(folder));
            }
            FileEvent::Overflow => self.watched.clear(),
        }
    }

    /// Watches exactly the folders that are read now. Returns whether any of them is new.
    fn update(&mut self, library: &Library) -> bool {
        let Some(notifier) = self.notifier.as_ref().and_then(Weak::upgrade) else {
            return false;
        };
        let mut notifier = notifier.lock().unwrap_or_else(PoisonError::into_inner);
        let read = library.folders();
        for gone in self.watched.difference(&read) {
            // Fails if the folder was removed, and its watch with it.
            let _ = notifier.unwatch(gone);
        }
        self.watched.retain(|folder| read.contains(folder));
        let mut grew = false;
        // Nothing reports that a removed root exists again, so it has to be polled.
        let roots = library.bases().iter().map(|base| base.root().to_path_buf());
        let mut unwatchable: HashSet<PathBuf> = roots.filter(|root| !read.contains(root)).collect();
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
                    if !self.unwatchable.contains(&folder) {
                        let folder = folder.display();
                        tracing::warn!(%error, %folder, "cannot watch; polling every {POLL:?}");
                    }
                    unwatchable.insert(folder);
                }
            }
        }
        self.unwatchable = unwatchable;
        grew
    }
}

#[cfg(test)]
mod tests {
    use notify::event::{AccessKind, Flag, RemoveKind};

    use super::*;

    #[test]
    fn polls_without_a_notifier_and_ends_with_the_watcher() {
        let mut watches = Watches::new(None);
        let (sender, events) = channel();
        sender.send(FileEvent::Changed).unwrap();
        assert!(watches.wait(&events), "an event ends the wait");
        drop(sender);
        assert!(!watches.wait(&events), "the watcher was dropped");
        let (_sender, events) = channel();
        assert!(watches.wait(&events), "without events the interval ends the wait");
    }

    #[test]
    fn lost_events_and_errors_invalidate_every_watch() {
        let overflow = Event::new(EventKind::Other).set_flag(Flag::Rescan);
        assert_eq!(FileEvent::from_notify(Ok(overflow)), Some(FileEvent::Overflow));
        assert_eq!(
            FileEvent::from_notify(Err(notify::Error::generic("lost"))),
            Some(FileEvent::Overflow)
        );
        assert_eq!(
            FileEvent::from_notify(Ok(Event::new(EventKind::Access(AccessKind::Any)))),
            None
        );
        let removed = Event::new(EventKind::Remove(RemoveKind::Folder)).add_path("/b/sub".into());
        let removed = FileEvent::from_notify(Ok(removed)).unwrap();
        let mut watches = Watches::new(None);
        let all = ["/b", "/b/sub", "/b/sub/deep", "/b/subway"];
        watches.watched = all.iter().map(PathBuf::from).collect();
        watches.invalidate(&removed);
        assert_eq!(watches.watched, ["/b", "/b/subway"].iter().map(PathBuf::from).collect());
        watches.invalidate(&FileEvent::Overflow);
        assert!(watches.watched.is_empty());
    }
}
