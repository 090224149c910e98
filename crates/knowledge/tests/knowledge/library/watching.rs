//! The watcher keeps a library in step with its files.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};

use kenning_knowledge::watch::Watcher;
use kenning_knowledge::{Changes, Library};
use kenning_testkit::{DEADLINE, eventually};

use crate::{Folder, base, open, search};

#[test]
fn a_watched_library_follows_its_files() {
    let folder = Folder::new(&[("a.md", "# A\n")]);
    let library = Arc::new(folder.library());
    let (sender, changes) = std::sync::mpsc::channel();
    let watcher = Watcher::start(library.clone(), move |change| {
        let _ = sender.send(change);
    })
    .unwrap();
    folder.write("new/deep/b.md", "# B\n");
    assert_eq!(next(&changes, |change| change.added), ["kb/new/deep/b.md"]);
    folder.write("new/deep/b.md", "# B\nzeta\n");
    assert_eq!(next(&changes, |change| change.changed), ["kb/new/deep/b.md"]);
    wait_for(&library, "zeta", &["b"]);
    drop(watcher);
    // The watcher's thread ends and drops the sender.
    eventually(DEADLINE, || {
        (changes.recv_timeout(DEADLINE) == Err(RecvTimeoutError::Disconnected)).then_some(())
    });
}

/// The next change of a kind. A file may be reported twice while it is written: empty, then full.
fn next(changes: &Receiver<Changes>, of_kind: fn(Changes) -> Vec<String>) -> Vec<String> {
    eventually(DEADLINE, || {
        let files = of_kind(changes.recv_timeout(DEADLINE).unwrap());
        (!files.is_empty()).then_some(files)
    })
}

/// Waits until a search for `word` finds exactly `ids`; events may arrive in any batches.
#[track_caller]
fn wait_for(library: &Library, word: &str, ids: &[&str]) {
    eventually(DEADLINE, || (search(&library.snapshot(), word) == ids).then_some(()));
}

/// Switching branches removes a folder and creates it again. The watch of the system goes with the
/// removed folder.
#[test]
fn a_recreated_folder_is_watched_again() {
    let folder = Folder::new(&[("a.md", "# A\n"), ("sub/b.md", "# B\none\n")]);
    let library = Arc::new(folder.library());
    let watcher = Watcher::start(library.clone(), |_| {}).unwrap();
    let sub = folder.path().join("sub");
    for round in 0..3 {
        std::fs::remove_dir_all(&sub).unwrap();
        folder.write("sub/b.md", &format!("# B\nremade{round}\n"));
        wait_for(&library, &format!("remade{round}"), &["b"]);
        folder.write("sub/b.md", &format!("# B\nedited{round}\n"));
        wait_for(&library, &format!("edited{round}"), &["b"]);
    }
    let aside = folder.path().join("aside");
    std::fs::rename(&sub, &aside).unwrap();
    std::fs::create_dir(&sub).unwrap();
    folder.write("sub/c.md", "# C\nswapped\n");
    wait_for(&library, "swapped", &["c"]);
    folder.write("aside/b.md", "# B\nmoved\n");
    wait_for(&library, "moved", &["b"]);
    folder.write("sub/c.md", "# C\nrepainted\n");
    wait_for(&library, "repainted", &["c"]);
    drop(watcher);
}

#[test]
fn a_recreated_root_is_watched_again() {
    let folder = Folder::new(&[("docs/a.md", "# A\none\n")]);
    let docs = folder.path().join("docs");
    let library = Arc::new(open(base("kb", &docs)));
    let watcher = Watcher::start(library.clone(), |_| {}).unwrap();
    std::fs::remove_dir_all(&docs).unwrap();
    wait_for(&library, "one", &[]);
    folder.write("docs/a.md", "# A\nback\n");
    wait_for(&library, "back", &["a"]);
    folder.write("docs/a.md", "# A\nwatched\n");
    wait_for(&library, "watched", &["a"]);
    drop(watcher);
}

const FILES: usize = 3_000;

/// More changes than fit in the system's event queue at its default length on Linux.
#[test]
fn thousands_of_simultaneous_changes_are_all_indexed() {
    let folder = Folder::new(&[("a.md", "# A\n")]);
    let library = Arc::new(folder.library());
    let watcher = Watcher::start(library.clone(), |_| {}).unwrap();
    for round in 0..2 {
        for n in 0..FILES {
            folder.write(&format!("many/f{n}.md"), &format!("# F{n}\nround{round}\n"));
        }
    }
    eventually(DEADLINE, || (library.snapshot().file_count() > FILES).then_some(()));
    for n in [0, 1_499, FILES - 1] {
        let id = format!("f{n}");
        let scoped = |word: &str| search(&library.snapshot(), &format!("{word} f{n}"));
        eventually(DEADLINE, || (scoped("round1").first() == Some(&id)).then_some(()));
    }
    std::fs::remove_dir_all(folder.path().join("many")).unwrap();
    eventually(DEADLINE, || (library.snapshot().file_count() == 1).then_some(()));
    drop(watcher);
}
