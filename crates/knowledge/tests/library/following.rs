//! A library that is watched follows its files, whatever becomes of them.

use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use kenning_knowledge::watch::Watcher;
use kenning_knowledge::{Base, Changes, Library};

use crate::{Folder, search};

/// Asked again while a change is on its way.
const MOMENT: Duration = Duration::from_millis(10);

#[test]
fn a_watched_library_follows_its_files() {
    let folder = Folder::new(&[("a.md", "# A\n")]);
    let library = Arc::new(folder.library());
    let (tell, heard) = std::sync::mpsc::channel();
    let watcher = Watcher::start(library.clone(), move |changes| {
        let _ = tell.send(changes);
    })
    .unwrap();
    folder.write("new/deep/b.md", "# B\n");
    assert_eq!(next(&heard, |changes| changes.added), ["kb/new/deep/b.md"]);
    folder.write("new/deep/b.md", "# B\nzeta\n");
    assert_eq!(next(&heard, |changes| changes.changed), ["kb/new/deep/b.md"]);
    wait_for(&library, "zeta", &["b"]);
    drop(watcher);
    // Returns once the watching thread ends, which holds the sender, and that ends with the watcher.
    heard.iter().for_each(drop);
}

/// The next change of a kind. A file that is being written may be heard of twice: empty, and full.
fn next(heard: &Receiver<Changes>, of_kind: fn(Changes) -> Vec<String>) -> Vec<String> {
    heard.iter().map(of_kind).find(|files| !files.is_empty()).unwrap()
}

/// Waits until a word is found, or not found any more; events may come in any portions.
fn wait_for(library: &Library, word: &str, ids: &[&str]) {
    while search(&library.snapshot(), word) != ids {
        std::thread::sleep(MOMENT);
    }
}

/// As version control does it: the folder of a branch goes, and comes back within a moment. The
/// system's watch is gone with the old one.
#[test]
fn a_folder_that_was_made_anew_is_still_followed() {
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
fn a_base_whose_root_was_gone_is_found_again() {
    let folder = Folder::new(&[("docs/a.md", "# A\none\n")]);
    let docs = folder.path().join("docs");
    let base = Base::new("kb", &docs, &["**/*.md".to_owned()], &[]).unwrap();
    let library = Library::open(vec![base], &|_, _| {}).unwrap();
    let library = Arc::new(library);
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

/// More changes at once than the system's queue holds, if it is as long as Linux makes it.
#[test]
fn thousands_of_changes_at_once_are_all_taken_in() {
    let folder = Folder::new(&[("a.md", "# A\n")]);
    let library = Arc::new(folder.library());
    let watcher = Watcher::start(library.clone(), |_| {}).unwrap();
    for round in 0..2 {
        for n in 0..FILES {
            folder.write(&format!("many/f{n}.md"), &format!("# F{n}\nround{round}\n"));
        }
    }
    while library.snapshot().file_count() < FILES + 1 {
        std::thread::sleep(MOMENT);
    }
    for n in [0, 1_499, FILES - 1] {
        let id = format!("f{n}");
        let scoped = |word: &str| search(&library.snapshot(), &format!("{word} f{n}"));
        while scoped("round1").first() != Some(&id) {
            std::thread::sleep(MOMENT);
        }
    }
    std::fs::remove_dir_all(folder.path().join("many")).unwrap();
    while library.snapshot().file_count() > 1 {
        std::thread::sleep(MOMENT);
    }
    drop(watcher);
}
