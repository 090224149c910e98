//! Files that change, and what they held when.
//!
//! The promise that is checked: an answer shows a version of a file that was current at some moment
//! between the call and its answer, or at most so long before the call as the server takes to see a
//! change. How long that was is measured. A version that never was, one that is older than what the
//! same server has shown before, or a file that is missing although it always was there, is wrong
//! however long the server took.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use anyhow::Result;

use super::Field;
use super::random::Random;

pub(super) const SLOTS: usize = 60;
const FOLDERS: usize = 6;
/// The pause between two changes.
const CHANGE_EVERY: Duration = Duration::from_millis(200);

pub(super) struct Shelf {
    folder: PathBuf,
    slots: Vec<Mutex<Slot>>,
    began: OnceLock<Instant>,
}

/// One document, wherever it is filed.
struct Slot {
    number: usize,
    path: PathBuf,
    version: u32,
    history: History,
}

/// What a document was, one state after the other.
#[derive(Debug, Default, Clone)]
pub(super) struct History(Vec<State>);

/// A change takes a moment: between its beginning and its end both states may be seen.
#[derive(Debug, Clone, Copy)]
struct State {
    began: Duration,
    done: Duration,
    /// `None` while there is no such file.
    version: Option<u32>,
}

/// When a question was asked and answered.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    pub(super) from: Duration,
    pub(super) until: Duration,
}

impl Span {
    pub(super) fn length(self) -> Duration {
        self.until.saturating_sub(self.from)
    }
}

impl History {
    fn push(&mut self, began: Duration, done: Duration, version: Option<u32>) {
        self.0.push(State { began, done, version });
    }

    pub(super) fn current(&self) -> Option<u32> {
        self.0.last().and_then(|state| state.version)
    }

    /// How long before the question what was shown had ceased to be so; `None` if it never was.
    pub(super) fn lateness(&self, shown: Option<u32>, asked: Span) -> Option<Duration> {
        let states = self.0.iter().enumerate();
        let fitting = states.filter(|(_, s)| s.version == shown && s.began <= asked.until);
        let late = fitting.map(|(i, _)| match self.0.get(i + 1) {
            Some(next) => asked.from.saturating_sub(next.done),
            None => Duration::ZERO,
        });
        late.min()
    }
}

impl Shelf {
    pub(super) fn fill(folder: &Path) -> Result<Self> {
        let mut slots = Vec::new();
        for number in 0..SLOTS {
            let path = folder.join(format!("part{}/slot{number}.md", number % FOLDERS));
            fs::create_dir_all(path.parent().unwrap_or(folder))?;
            fs::write(&path, text(number, 1))?;
            let mut history = History::default();
            history.push(Duration::ZERO, Duration::ZERO, Some(1));
            slots.push(Mutex::new(Slot { number, path, version: 1, history }));
        }
        Ok(Self { folder: folder.to_path_buf(), slots, began: OnceLock::new() })
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// From now on time is counted.
    pub(super) fn starts(&self, began: Instant) {
        let _ = self.began.set(began);
    }

    fn now(&self) -> Duration {
        self.began.get().map_or(Duration::ZERO, Instant::elapsed)
    }

    pub(super) fn history(&self, slot: usize) -> History {
        let slot = self.slots[slot].lock().expect("no one panics with a file in hand");
        slot.history.clone()
    }

    /// Changes one file after the other until the end.
    pub(super) fn change(&self, field: &Field) {
        let mut random = Random::new(7);
        while !field.is_over() {
            let number = random.below(SLOTS);
            let mut slot = self.slots[number].lock().expect("no one panics with a file in hand");
            if let Err(error) = self.change_one(&mut slot, &mut random) {
                field.account.wrong(format!("slot {number} could not be changed: {error}"));
            }
            drop(slot);
            field.account.changed();
            field.pause(CHANGE_EVERY);
        }
    }

    fn change_one(&self, slot: &mut Slot, random: &mut Random) -> Result<()> {
        let there = slot.history.current().is_some();
        match random.below(10) {
            0 | 1 if there => self.refile(slot, random.below(FOLDERS)),
            2 if there => self.remove(slot),
            _ => self.write(slot),
        }
    }

    /// As editors do: the new text takes the place of the old one in one step.
    fn write(&self, slot: &mut Slot) -> Result<()> {
        slot.version += 1;
        let draft = self.folder.join(format!("slot{}.draft", slot.number));
        fs::write(&draft, text(slot.number, slot.version))?;
        let began = self.now();
        fs::rename(draft, &slot.path)?;
        slot.replaced(began, self.now(), slot.version);
        Ok(())
    }

    fn refile(&self, slot: &mut Slot, part: usize) -> Result<()> {
        let name = format!("part{part}/slot{}-{}.md", slot.number, slot.version);
        let path = self.folder.join(name);
        let began = self.now();
        fs::rename(&slot.path, &path)?;
        slot.path = path;
        slot.replaced(began, self.now(), slot.version);
        Ok(())
    }

    fn remove(&self, slot: &mut Slot) -> Result<()> {
        let began = self.now();
        fs::remove_file(&slot.path)?;
        slot.history.push(began, self.now(), None);
        Ok(())
    }
}

impl Slot {
    /// Whoever lists a folder while a name changes in it may see neither the old nor the new one.
    fn replaced(&mut self, began: Duration, done: Duration, version: u32) {
        self.history.push(began, done, None);
        self.history.push(began, done, Some(version));
    }
}

/// A word that stands in one document only.
pub(super) fn marker(number: usize) -> String {
    format!("quokka{number}x")
}

pub(super) fn id(number: usize) -> String {
    format!("slot-{number}")
}

fn text(number: usize, version: u32) -> String {
    format!(
        "# Slot {number} at version {version}\n- id: {}\n<!-- content -->\n\
         This is version {version}. The marker of this document is {}. It tells how the part of that name is kept in order, \
         and says what to do when it is not.\n",
        id(number),
        marker(number)
    )
}

/// The number and the version that a title tells of.
pub(super) fn read_title(title: &str) -> Option<(usize, u32)> {
    let (number, version) = title.strip_prefix("Slot ")?.split_once(" at version ")?;
    let number = number.parse().ok().filter(|number| *number < SLOTS)?;
    Some((number, version.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// Version 1 from the start, 2 from second 10 to 11 on, gone from 20 to 21 on.
    fn history() -> History {
        let mut history = History::default();
        history.push(at(0), at(0), Some(1));
        history.push(at(10), at(11), Some(2));
        history.push(at(20), at(21), None);
        history
    }

    #[test]
    fn what_was_current_while_it_was_asked_is_not_late() {
        let asked = |from, until| Span { from: at(from), until: at(until) };
        assert_eq!(history().lateness(Some(1), asked(5, 6)), Some(at(0)));
        assert_eq!(history().lateness(Some(1), asked(11, 12)), Some(at(0)));
        assert_eq!(history().lateness(Some(2), asked(9, 10)), Some(at(0)));
        assert_eq!(history().lateness(None, asked(22, 23)), Some(at(0)));
    }

    #[test]
    fn what_ceased_to_be_is_late_and_what_never_was_is_wrong() {
        let asked = |from, until| Span { from: at(from), until: at(until) };
        assert_eq!(history().lateness(Some(1), asked(14, 15)), Some(at(3)));
        assert_eq!(history().lateness(Some(2), asked(25, 26)), Some(at(4)));
        assert_eq!(history().lateness(Some(2), asked(5, 6)), None, "not yet");
        assert_eq!(history().lateness(Some(3), asked(25, 26)), None, "never");
        assert_eq!(history().lateness(None, asked(12, 13)), None, "it is there");
    }

    #[test]
    fn titles_tell_number_and_version() {
        assert_eq!(read_title("Slot 17 at version 5"), Some((17, 5)));
        assert_eq!(read_title("Slot 60 at version 5"), None);
        assert_eq!(read_title("Something else"), None);
    }
}
