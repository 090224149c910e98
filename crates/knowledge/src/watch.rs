//! Keeps a library in step with its files while a server runs.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use notify::event::ModifyKind;
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
    _events: Sender<Heard>,
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
        // Files may have changed after they were read and before they were watched.
        let _ = events.send(Heard::Change);
        std::thread::Builder::new()
            .name("watch".to_owned())
            .spawn(move || follow(&library, &mut folders, &heard, &changed))?;
        Ok(Self { _events: events, _notifier: notifier })
    }
}

/// What the system told. A sync looks at every file, so which one changed does not matter; which
/// watches are still good does.
#[derive(Debug, PartialEq, Eq)]
enum Heard {
    Change,
    /// These are no longer where they were. The watch of a folder goes with it, and does not come
    /// back with a new one of the same name.
    Gone(Vec<PathBuf>),
    /// Events were lost, so anything may have happened.
    Overflow,
}

impl Heard {
    /// `None` for what changes nothing.
    fn of(event: notify::Result<Event>) -> Option<Self> {
        let Ok(event) = event else { return Some(Self::Overflow) };
        if event.need_rescan() {
            return Some(Self::Overflow);
        }
        match event.kind {
            EventKind::Access(_) => None,
            EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_)) => {
                Some(Self::Gone(event.paths))
            }
            _ => Some(Self::Change),
        }
    }
}

fn notifier(events: Sender<Heard>) -> notify::Result<RecommendedWatcher> {
    notify::recommended_watcher(move |event: notify::Result<Event>| {
        if let Some(heard) = Heard::of(event) {
            let _ = events.send(heard);
        }
    })
}

fn follow(
    library: &Library,
    folders: &mut Folders,
    heard: &Receiver<Heard>,
    changed: &impl Fn(Changes),
) {
    while folders.wait(heard) {
        folders.wait_for_quiet(heard);
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
    fn wait(&mut self, heard: &Receiver<Heard>) -> bool {
        let first = if self.notifier.is_some() && self.refused.is_empty() {
            heard.recv().map_err(RecvTimeoutError::from)
        } else {
            heard.recv_timeout(POLL)
        };
        match first {
            Ok(first) => self.take_down(&first),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return false,
        }
        true
    }

    fn wait_for_quiet(&mut self, heard: &Receiver<Heard>) {
        let first = Instant::now();
        while first.elapsed() < PATIENCE {
            let Ok(next) = heard.recv_timeout(QUIET) else { return };
            self.take_down(&next);
        }
    }

    /// Forgets watches that are not to be relied on any more; [`Self::cover`] makes them anew.
    fn take_down(&mut self, heard: &Heard) {
        match heard {
            Heard::Change => {}
            Heard::Gone(paths) => {
                let is_gone = |folder: &Path| paths.iter().any(|gone| folder.starts_with(gone));
                self.watched.retain(|folder| !is_gone(folder));
            }
            Heard::Overflow => self.watched.clear(),
        }
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
        // A base whose root is gone has nothing to watch, and nobody tells when it is back.
        let roots = library.bases().iter().map(|base| base.root().to_path_buf());
        let mut refused: HashSet<PathBuf> = roots.filter(|root| !read.contains(root)).collect();
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
    use notify::event::{AccessKind, Flag, RemoveKind};

    use super::*;

    #[test]
    fn without_a_notifier_it_looks_by_itself_and_ends_with_its_watcher() {
        let mut folders = Folders::new(None);
        let (events, heard) = channel();
        events.send(Heard::Change).unwrap();
        assert!(folders.wait(&heard), "an event is heard at once");
        drop(events);
        assert!(!folders.wait(&heard), "nobody is left to watch for");
        let (_events, heard) = channel();
        assert!(folders.wait(&heard), "silence is no reason not to look");
    }

    #[test]
    fn lost_events_and_errors_are_a_reason_to_look_at_everything() {
        let overflow = Event::new(EventKind::Other).set_flag(Flag::Rescan);
        assert_eq!(Heard::of(Ok(overflow)), Some(Heard::Overflow));
        assert_eq!(Heard::of(Err(notify::Error::generic("lost"))), Some(Heard::Overflow));
        assert_eq!(Heard::of(Ok(Event::new(EventKind::Access(AccessKind::Any)))), None);
        let gone = Event::new(EventKind::Remove(RemoveKind::Folder)).add_path("/b/sub".into());
        let gone = Heard::of(Ok(gone)).unwrap();
        let mut folders = Folders::new(None);
        let all = ["/b", "/b/sub", "/b/sub/deep", "/b/subway"];
        folders.watched = all.iter().map(PathBuf::from).collect();
        folders.take_down(&gone);
        assert_eq!(folders.watched, ["/b", "/b/subway"].iter().map(PathBuf::from).collect());
        folders.take_down(&Heard::Overflow);
        assert!(folders.watched.is_empty(), "every watch is made anew");
    }
}
