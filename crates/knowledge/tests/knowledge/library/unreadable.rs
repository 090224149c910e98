//! Files and folders that are no files, that never answer, or that are gone.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::channel;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use kenning_knowledge::base::{Base, Listing};
use kenning_knowledge::list::ListRequest;
use kenning_knowledge::path::RelPath;
use kenning_knowledge::reading::{Dir, FileSystem, Limits, LocalFiles};
use kenning_knowledge::watch::Watcher;
use kenning_knowledge::{Library, Snapshot};
use kenning_testkit::{DEADLINE, eventually};

use crate::discover::{request, settings};
use crate::{Folder, base, diagnostics, ids, keyword_request, open, search};

/// Fails at the deadline instead of hanging with the thread that opens the library.
fn opened(base: Base) -> Library {
    let (sender, library) = channel();
    std::thread::spawn(move || drop(sender.send(open(base))));
    library.recv_timeout(DEADLINE).expect("the library opens")
}

fn fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[cfg(unix)]
#[test]
fn a_fifo_in_a_base_does_not_stop_the_index() {
    let folder = Folder::new(&[("a.md", "# A\n"), ("sub/b.md", "# B\n"), ("zero/c.md", "# C\n")]);
    fifo(&folder.path().join("x.md"));
    // The walk reads these, and would wait for a writer or for the end.
    fifo(&folder.path().join("sub/.gitignore"));
    std::os::unix::fs::symlink("/dev/zero", folder.path().join("zero/.kenningignore")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(folder.path().join("s.md")).unwrap();
    let library = opened(folder.base("kb"));
    assert_eq!(ids(&library.snapshot()), ["a"]);
    assert_eq!(
        diagnostics(&library.snapshot()),
        [
            "s.md: is a socket, not a regular file, and is skipped",
            "sub: is skipped, because its `.gitignore` is a FIFO, not a regular file",
            "x.md: is a FIFO, not a regular file, and is skipped",
            "zero: is skipped, because its `.kenningignore` is a device, not a regular file",
        ]
    );
    for gone in ["x.md", "s.md", "sub/.gitignore", "zero/.kenningignore"] {
        fs::remove_file(folder.path().join(gone)).unwrap();
    }
    library.sync(&|_, _| {}).unwrap();
    assert_eq!(ids(&library.snapshot()), ["a", "b", "c"]);
    assert!(diagnostics(&library.snapshot()).is_empty(), "{:?}", diagnostics(&library.snapshot()));
}

/// Replaces a file by a FIFO after it was listed.
struct Swapping(std::path::PathBuf);

impl FileSystem for Swapping {
    fn list(&self, base: &Base, on_entry: &dyn Fn()) -> Listing {
        LocalFiles.list(base, on_entry)
    }

    fn read(&self, root: &Dir, path: &RelPath) -> Result<Vec<u8>, String> {
        let file = self.0.join(path.as_str());
        fs::remove_file(&file).unwrap();
        fifo(&file);
        LocalFiles.read(root, path)
    }
}

#[cfg(unix)]
#[test]
fn a_file_that_becomes_a_fifo_before_it_is_read_is_reported() {
    let folder = Folder::new(&[("a.md", "# A\n")]);
    let files = Arc::new(Swapping(folder.path().to_owned()));
    // Far longer than the test: a deadline must not be what ends the read.
    let limits = Limits { answer: DEADLINE * 2, ..Limits::default() };
    let (sender, library) = channel();
    let base = folder.base("kb");
    std::thread::spawn(move || {
        drop(sender.send(Library::open_on(files, limits, vec![base], &|_, _| {})));
    });
    let library = library.recv_timeout(DEADLINE).expect("the FIFO is not waited for").unwrap();
    assert_eq!(
        diagnostics(&library.snapshot()),
        ["a.md: is a FIFO, not a regular file, and is skipped"]
    );
}

/// A file system on which everything that is named `stuck` waits until it is released.
#[derive(Default)]
struct Stalling {
    released: Mutex<bool>,
    changed: Condvar,
    waiting: Mutex<usize>,
}

impl Stalling {
    fn release(&self, released: bool) {
        *self.released.lock().unwrap() = released;
        self.changed.notify_all();
    }

    /// How many threads have waited, or still do.
    fn waited(&self) -> usize {
        *self.waiting.lock().unwrap()
    }

    fn wait_if_stuck(&self, name: &str) {
        if name.contains("stuck") && !*self.released.lock().unwrap() {
            *self.waiting.lock().unwrap() += 1;
            let released = self.released.lock().unwrap();
            drop(self.changed.wait_while(released, |released| !*released).unwrap());
        }
    }
}

impl FileSystem for Stalling {
    fn list(&self, base: &Base, on_entry: &dyn Fn()) -> Listing {
        self.wait_if_stuck(base.name());
        LocalFiles.list(base, on_entry)
    }

    fn read(&self, root: &Dir, path: &RelPath) -> Result<Vec<u8>, String> {
        self.wait_if_stuck(path.as_str());
        LocalFiles.read(root, path)
    }
}

/// A library that gives up soon. On a busy machine it may give up a file that is not stuck, and read
/// it with the next sync.
fn impatient(files: &Arc<Stalling>, bases: Vec<Base>) -> Arc<Library> {
    let limits = Limits { answer: Duration::from_millis(200), behind: Duration::ZERO };
    Arc::new(Library::open_on(files.clone(), limits, bases, &|_, _| {}).unwrap())
}

/// Syncs until the condition holds.
#[track_caller]
fn synced(library: &Library, condition: impl Fn(&Snapshot) -> bool) {
    eventually(DEADLINE, || {
        library.sync(&|_, _| {}).unwrap();
        condition(&library.snapshot()).then_some(())
    });
}

#[test]
fn a_file_that_stalls_does_not_stop_the_others_and_is_tried_again() {
    let folder =
        Folder::new(&[("a.md", "# A\n"), ("stuck.md", "# S\nalpha\n"), ("z.md", "# Z\nzeta\n")]);
    let files = Arc::<Stalling>::default();
    let library = impatient(&files, vec![folder.base("kb")]);
    synced(&library, |snapshot| ids(snapshot) == ["a", "z"] && snapshot.stalled_files() == 1);
    let notes = diagnostics(&library.snapshot());
    assert!(
        notes[0].starts_with("stuck.md: was not read: the file system did not answer"),
        "{notes:?}"
    );
    assert!(library.is_behind(), "a minute, which is none here, has passed");
    folder.write("a.md", "# A\nchanged\n");
    synced(&library, |snapshot| search(snapshot, "changed") == ["a"]);
    assert_eq!(files.waited(), 1, "no sync loses one more thread");
    files.release(true);
    synced(&library, |snapshot| search(snapshot, "alpha") == ["stuck"]);
    synced(&library, |snapshot| snapshot.stalled_files() == 0);
    assert!(diagnostics(&library.snapshot()).is_empty());
    assert!(!library.is_behind());
    // What was read before is served while it cannot be read again.
    files.release(false);
    folder.write("stuck.md", "# S\nomega\n");
    synced(&library, |snapshot| snapshot.stalled_files() == 1);
    assert_eq!(search(&library.snapshot(), "alpha"), ["stuck"]);
    files.release(true);
    synced(&library, |snapshot| search(snapshot, "omega") == ["stuck"]);
}

#[test]
fn a_dead_mount_takes_few_threads_and_leaves_the_other_bases() {
    let dead: Vec<(String, String)> =
        (0..100).map(|n| (format!("stuck{n}.md"), format!("# S{n}\n"))).collect();
    let dead: Vec<(&str, &str)> = dead.iter().map(|(path, text)| (&**path, &**text)).collect();
    let (dead, alive) = (Folder::new(&dead), Folder::new(&[("a.md", "# A\n")]));
    let files = Arc::<Stalling>::default();
    let library = impatient(&files, vec![dead.base("dead"), alive.base("alive")]);
    synced(&library, |snapshot| ids(snapshot) == ["alive:a"] && snapshot.stalled_files() == 100);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    assert!(files.waited() <= 4 + cores, "{} threads wait", files.waited());
    let notes = diagnostics(&library.snapshot());
    assert!(notes.len() <= 5 + cores, "{notes:?}");
    assert!(notes.iter().any(|note| note.contains("more files were not read")), "{notes:?}");
    files.release(true);
    synced(&library, |snapshot| snapshot.file_count() == 101 && snapshot.stalled_files() == 0);
}

#[test]
fn a_folder_that_stalls_keeps_its_files_and_the_watcher_follows_the_others() {
    let (dead, alive) = (Folder::new(&[("a.md", "# A\none\n")]), Folder::new(&[("b.md", "# B\n")]));
    let files = Arc::<Stalling>::default();
    files.release(true);
    let library = impatient(&files, vec![dead.base("stuck"), alive.base("alive")]);
    synced(&library, |snapshot| snapshot.file_count() == 2);
    files.release(false);
    let watcher = Watcher::start(library.clone(), |_| {}).unwrap();
    alive.write("b.md", "# B\ntwo\n");
    eventually(DEADLINE, || (search(&library.snapshot(), "two") == ["alive:b"]).then_some(()));
    let snapshot = library.snapshot();
    assert_eq!(search(&snapshot, "one"), ["stuck:a"], "served as it was");
    let found = snapshot.search(&keyword_request("two")).unwrap();
    let message = found.message.unwrap();
    assert!(
        message.contains("knowledge base `stuck`") && message.contains("does not answer"),
        "{message}"
    );
    files.release(true);
    dead.write("a.md", "# A\nthree\n");
    eventually(DEADLINE, || (search(&library.snapshot(), "three") == ["stuck:a"]).then_some(()));
    drop(watcher);
}

#[test]
fn a_folder_that_is_gone_is_named_in_every_answer() {
    let parent = Folder::new(&[("docs/a.md", "# A\none\n")]);
    let docs = parent.path().join("docs");
    let library = open(base("kb", &docs));
    fs::remove_dir_all(&docs).unwrap();
    library.sync(&|_, _| {}).unwrap();
    let snapshot = library.snapshot();
    let gone = format!(
        "the folder of knowledge base `kb`, `{}`, is gone; nothing in it is found until it is back",
        docs.canonicalize().unwrap_or(docs.clone()).display()
    );
    let named = |message: Option<String>| {
        let message = message.unwrap_or_default();
        assert!(
            message.contains("of knowledge base `kb`") && message.contains("is gone"),
            "{message}"
        );
    };
    named(snapshot.search(&keyword_request("one")).unwrap().message);
    named(snapshot.list(&ListRequest::default()).unwrap().message);
    named(snapshot.discover(&request("one"), &settings()).unwrap().message);
    assert_eq!(diagnostics(&snapshot).len(), 1, "{:?}", diagnostics(&snapshot));
    assert!(diagnostics(&snapshot)[0].ends_with(&gone[gone.find("is gone").unwrap()..]));
    parent.write("docs/a.md", "# A\nback\n");
    library.sync(&|_, _| {}).unwrap();
    assert_eq!(search(&library.snapshot(), "back"), ["a"]);
    let found = library.snapshot().search(&keyword_request("back")).unwrap();
    assert_eq!(found.message, None);
}

#[cfg(unix)]
#[test]
fn a_diagnostic_is_one_line_whatever_the_name_of_the_file() {
    let folder = Folder::new(&[("a.md", "# A\n"), ("two\nlines\u{1b}[31m.md", "# B\n")]);
    let notes = diagnostics(&folder.library().snapshot());
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].starts_with("two\\nlines\\u{1b}[31m.md: "), "{notes:?}");
    assert!(!notes[0].contains(char::is_control), "{notes:?}");
}
