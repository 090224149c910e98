//! Reads files so that one that never answers does not stop the others.
//!
//! A dead network mount blocks the thread that reads from it, for hours, and nothing can interrupt
//! the thread. So files are read on threads of their own, and a read that takes too long is given
//! up: its thread is left alone and another one takes its place. The place stays marked until the
//! system answers after all, so that syncs do not lose one more thread each.

use std::any::Any;
use std::collections::{HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant};

pub use cap_std::fs::Dir;

use crate::base::{Base, Listing};
use crate::path::RelPath;

/// How many threads the stalled files of one base may hold. Beyond that, its other files are not
/// tried.
const MAX_STALLED: usize = 4;

/// Called with the number of files read and of all files.
pub type Progress<'a> = &'a (dyn Fn(usize, usize) + Sync);

/// The file system below the bases. Tests use one that stalls.
pub trait FileSystem: Send + Sync {
    /// Calls `on_entry` for every entry: a long listing is not a stalled one.
    fn list(&self, base: &Base, on_entry: &dyn Fn()) -> Listing;

    /// The bytes of a file, or why there are none.
    fn read(&self, root: &Dir, path: &RelPath) -> Result<Vec<u8>, String>;
}

/// The file system of this machine.
#[derive(Debug, Clone, Copy)]
pub struct LocalFiles;

impl FileSystem for LocalFiles {
    fn list(&self, base: &Base, on_entry: &dyn Fn()) -> Listing {
        base.list(on_entry)
    }

    fn read(&self, root: &Dir, path: &RelPath) -> Result<Vec<u8>, String> {
        crate::base::read_regular(root, path)
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// How long the file system may take for a file, or for the next entry of a folder.
    pub answer: Duration,
    /// How long the index may be behind the files until that is reported.
    pub behind: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { answer: Duration::from_secs(5), behind: Duration::from_mins(1) }
    }
}

/// A file to read.
pub(crate) struct Job {
    pub(crate) base: usize,
    pub(crate) root: Arc<Dir>,
    pub(crate) path: RelPath,
}

#[derive(Debug)]
pub(crate) enum Outcome<T> {
    Finished(T),
    /// The file system does not answer.
    Stalled,
    /// Not tried, because too many files of the base are stalled.
    Skipped,
}

pub(crate) struct Reader {
    files: Arc<dyn FileSystem>,
    pub(crate) limits: Limits,
    stalled: Arc<Stalled>,
}

impl Reader {
    pub(crate) fn new(files: Arc<dyn FileSystem>, limits: Limits) -> Self {
        Self { files, limits, stalled: Arc::default() }
    }

    /// The files and folders of a base; `None` while the file system does not answer.
    pub(crate) fn list(&self, index: usize, base: &Arc<Base>) -> Option<Listing> {
        let place = (index, None);
        if self.stalled.lock().contains(&place) {
            return None;
        }
        let (files, base, entries) =
            (self.files.clone(), base.clone(), Arc::<AtomicUsize>::default());
        let (counted, release) = (entries.clone(), Release(self.stalled.clone(), place.clone()));
        let (sender, listed) = channel();
        let list = move || {
            let _release = release;
            let on_entry = || {
                counted.fetch_add(1, Ordering::Relaxed);
            };
            // The receiver is gone if it took too long.
            let _ = sender.send(files.list(&base, &on_entry));
        };
        Builder::new().name("list".to_owned()).spawn(list).ok()?;
        let mut seen = 0;
        loop {
            match listed.recv_timeout(self.limits.answer) {
                Ok(listing) => return Some(listing),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => {
                    let now = entries.load(Ordering::Relaxed);
                    if now == seen {
                        let mut stalled = self.stalled.lock();
                        // If it is done by now, the mark would stay.
                        return listed.try_recv().ok().or_else(|| {
                            stalled.insert(place);
                            None
                        });
                    }
                    seen = now;
                }
            }
        }
    }

    /// Reads the files and calls `finish` with the bytes of each, on all cores. The outcomes are in
    /// the order of the jobs.
    pub(crate) fn read_all<T: Send + 'static>(
        &self,
        jobs: &Arc<Vec<Job>>,
        finish: impl Fn(&Job, Result<Vec<u8>, String>) -> T + Send + Sync + 'static,
        progress: Progress<'_>,
    ) -> Vec<Outcome<T>> {
        let (sender, events) = channel();
        let batch = Arc::new(Batch {
            jobs: jobs.clone(),
            next: AtomicUsize::new(0),
            files: self.files.clone(),
            stalled: self.stalled.clone(),
            finish: Box::new(finish),
            events: sender,
        });
        let workers = std::thread::available_parallelism().map_or(1, usize::from).min(jobs.len());
        let started = (0..workers).filter(|_| batch.start_worker()).count();
        if started == 0 {
            batch.work();
        }
        let mut supervisor = Supervisor {
            outcomes: jobs.iter().map(|_| None).collect(),
            reading: HashMap::new(),
            open: jobs.len(),
            batch,
            limit: self.limits.answer,
        };
        supervisor.wait(&events, progress);
        supervisor.outcomes.into_iter().map(|outcome| outcome.unwrap_or(Outcome::Stalled)).collect()
    }
}

/// A file of a base, or the listing of the base.
type Place = (usize, Option<RelPath>);

/// The places whose threads do not come back.
#[derive(Default)]
struct Stalled(Mutex<HashSet<Place>>);

impl Stalled {
    fn lock(&self) -> MutexGuard<'_, HashSet<Place>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why a file need not be tried.
    fn blocks<T>(&self, job: &Job) -> Option<Outcome<T>> {
        let stalled = self.lock();
        if stalled.is_empty() {
            return None;
        }
        if stalled.contains(&job.place()) {
            return Some(Outcome::Stalled);
        }
        let of_base = stalled.iter().filter(|(base, _)| *base == job.base).count();
        (of_base >= MAX_STALLED).then_some(Outcome::Skipped)
    }

    fn remove(&self, place: &Place) {
        self.lock().remove(place);
    }
}

impl Job {
    fn place(&self) -> Place {
        (self.base, Some(self.path.clone()))
    }
}

/// Removes the mark of a place when its thread comes back.
struct Release(Arc<Stalled>, Place);

impl Drop for Release {
    fn drop(&mut self) {
        self.0.remove(&self.1);
    }
}

type Finish<T> = Box<dyn Fn(&Job, Result<Vec<u8>, String>) -> T + Send + Sync>;

/// What the workers of one sync share.
struct Batch<T> {
    jobs: Arc<Vec<Job>>,
    next: AtomicUsize,
    files: Arc<dyn FileSystem>,
    stalled: Arc<Stalled>,
    finish: Finish<T>,
    events: Sender<Event<T>>,
}

/// The number is that of the job.
enum Event<T> {
    Started(usize),
    Read(usize),
    Finished(usize, Outcome<T>),
    Panicked(Box<dyn Any + Send>),
}

impl<T: Send + 'static> Batch<T> {
    /// Whether the system has a thread for it.
    fn start_worker(self: &Arc<Self>) -> bool {
        let batch = self.clone();
        Builder::new().name("read".to_owned()).spawn(move || batch.work()).is_ok()
    }

    fn work(&self) {
        loop {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = self.jobs.get(index) else { return };
            let event = catch_unwind(AssertUnwindSafe(|| self.run(index, job)));
            // The receiver is gone if this thread was given up.
            let _ = self.events.send(match event {
                Ok(outcome) => Event::Finished(index, outcome),
                Err(panic) => Event::Panicked(panic),
            });
        }
    }

    fn run(&self, index: usize, job: &Job) -> Outcome<T> {
        if let Some(blocked) = self.stalled.blocks(job) {
            return blocked;
        }
        let release = Release(self.stalled.clone(), job.place());
        let _ = self.events.send(Event::Started(index));
        let bytes = self.files.read(&job.root, &job.path);
        let _ = self.events.send(Event::Read(index));
        drop(release);
        Outcome::Finished((self.finish)(job, bytes))
    }
}

/// Waits for the workers, and gives up those that stall.
struct Supervisor<T> {
    outcomes: Vec<Option<Outcome<T>>>,
    /// When the reads in progress began.
    reading: HashMap<usize, Instant>,
    /// Jobs without an outcome.
    open: usize,
    batch: Arc<Batch<T>>,
    limit: Duration,
}

impl<T: Send + 'static> Supervisor<T> {
    fn wait(&mut self, events: &Receiver<Event<T>>, progress: Progress<'_>) {
        let interval = (self.limit / 10).max(Duration::from_millis(1));
        let mut checked = Instant::now();
        while self.open > 0 {
            if let Ok(event) = events.recv_timeout(interval) {
                self.note(event);
            }
            if checked.elapsed() >= interval {
                self.give_up_stalled();
                checked = Instant::now();
            }
            progress(self.outcomes.len() - self.open, self.outcomes.len());
        }
        // A read that was given up may have ended in the meantime.
        while let Ok(event) = events.try_recv() {
            self.note(event);
        }
    }

    fn note(&mut self, event: Event<T>) {
        match event {
            Event::Started(index) => {
                self.reading.insert(index, Instant::now());
            }
            Event::Read(index) => {
                if self.reading.remove(&index).is_none() {
                    self.batch.stalled.remove(&self.batch.jobs[index].place());
                }
            }
            Event::Finished(index, outcome) => self.finish(index, outcome),
            Event::Panicked(panic) => resume_unwind(panic),
        }
    }

    fn finish(&mut self, index: usize, outcome: Outcome<T>) {
        if self.outcomes[index].replace(outcome).is_none() {
            self.open -= 1;
        }
    }

    fn give_up_stalled(&mut self) {
        let overdue = self.reading.iter().filter(|(_, started)| started.elapsed() > self.limit);
        let overdue: Vec<usize> = overdue.map(|(&index, _)| index).collect();
        for index in overdue {
            self.reading.remove(&index);
            self.batch.stalled.lock().insert(self.batch.jobs[index].place());
            self.finish(index, Outcome::Stalled);
            self.batch.start_worker();
        }
    }
}

/// Runs `work` on a thread of its own; `None` if it takes longer than `limit`.
pub(crate) fn within<T: Send + 'static>(
    limit: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let (sender, done) = channel();
    let run = move || {
        let _ = sender.send(work());
    };
    Builder::new().name("file system".to_owned()).spawn(run).ok()?;
    done.recv_timeout(limit).ok()
}
