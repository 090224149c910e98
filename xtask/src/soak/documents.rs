//! Files that are edited, moved, removed and created again, and which version was current when.
//!
//! An answer must show a version that was current at some moment between request and response, or had
//! been shortly before the request: how long before is the lag, which is measured. A version that never
//! was current until then is wrong, however slow the server is.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use anyhow::{Context, Result};

use super::{Interval, LOCK, Random, Scenario};

pub(super) const COUNT: usize = 60;
const FOLDERS: usize = 6;
const CHANGE_EVERY: Duration = Duration::from_millis(200);

pub(super) struct Documents {
    pub(super) folder: PathBuf,
    documents: Vec<Mutex<Document>>,
}

struct Document {
    path: PathBuf,
    version: u32,
    history: History,
}

/// The states of a document in order of time.
#[derive(Debug, Default, Clone)]
pub(super) struct History(Vec<State>);

/// A change takes a moment, during which both the old and the new state may be seen.
#[derive(Debug, Clone, Copy)]
struct State {
    began: Duration,
    done: Duration,
    /// `None` while there is no such file.
    version: Option<u32>,
}

impl History {
    fn push(&mut self, Interval { from, until }: Interval, version: Option<u32>) {
        self.0.push(State { began: from, done: until, version });
    }

    pub(super) fn current(&self) -> Option<u32> {
        self.0.last().and_then(|state| state.version)
    }

    /// How long before the request the version had been replaced; `None` if it never was current.
    pub(super) fn lag(&self, version: Option<u32>, asked: Interval) -> Option<Duration> {
        let states = self.0.iter().enumerate();
        let matching = states.filter(|(_, s)| s.version == version && s.began <= asked.until);
        let lags = matching.map(|(i, _)| match self.0.get(i + 1) {
            Some(next) => asked.from.saturating_sub(next.done),
            None => Duration::ZERO,
        });
        lags.min()
    }
}

impl Documents {
    pub(super) fn create(folder: &Path) -> Result<Self> {
        let mut documents = Vec::new();
        for number in 0..COUNT {
            let path = folder.join(format!("part{}/document{number}.md", number % FOLDERS));
            fs::create_dir_all(path.parent().unwrap_or(folder))?;
            fs::write(&path, text(number, 1))?;
            let mut history = History::default();
            history.push(Interval { from: Duration::ZERO, until: Duration::ZERO }, Some(1));
            documents.push(Mutex::new(Document { path, version: 1, history }));
        }
        Ok(Self { folder: folder.to_path_buf(), documents })
    }

    pub(super) fn history(&self, number: usize) -> History {
        self.documents[number].lock().expect(LOCK).history.clone()
    }

    pub(super) fn keep_changing(&self, scenario: &Scenario) {
        let mut random = Random::new(4711);
        while !scenario.is_finished() {
            let number = random.below(COUNT);
            let changed = self.change(number, &mut random, scenario);
            scenario
                .check(changed.with_context(|| format!("document {number} could not be changed")));
            scenario.record(|measurements| measurements.file_changes += 1);
            scenario.pause(CHANGE_EVERY);
        }
    }

    fn change(&self, number: usize, random: &mut Random, scenario: &Scenario) -> Result<()> {
        let mut document = self.documents[number].lock().expect(LOCK);
        let exists = document.history.current().is_some();
        let (from, to) = match random.below(10) {
            0 | 1 if exists => {
                let part = random.below(FOLDERS);
                let name = format!("part{part}/document{number}-{}.md", document.version);
                (document.path.clone(), self.folder.join(name))
            }
            2 if exists => {
                let (removed, interval) = scenario.timed(|| fs::remove_file(&document.path));
                document.history.push(interval, None);
                return Ok(removed?);
            }
            _ => {
                document.version += 1;
                let draft = self.folder.join("new.draft");
                fs::write(&draft, text(number, document.version))?;
                (draft, document.path.clone())
            }
        };
        // As editors do: the new text replaces the old one in one step.
        let (renamed, interval) = scenario.timed(|| fs::rename(from, &to));
        document.path = to;
        // A reader that lists a folder during a rename may find neither the old nor the new name.
        document.history.push(interval, None);
        let version = document.version;
        document.history.push(interval, Some(version));
        Ok(renamed?)
    }
}

/// A word that occurs in one document only.
pub(super) fn marker(number: usize) -> String {
    format!("quokka{number}x")
}

pub(super) fn id(number: usize) -> String {
    format!("document-{number}")
}

fn text(number: usize, version: u32) -> String {
    format!(
        "# Document {number} at version {version}\n- id: {}\n<!-- content -->\n\
         This is version {version}. The marker of this document is {}. It describes how the part of \
         that name is kept in order, and what to do when it is not.\n",
        id(number),
        marker(number)
    )
}

/// The number and the version in a title.
pub(super) fn parse_title(title: &str) -> Option<(usize, u32)> {
    let (number, version) = title.strip_prefix("Document ")?.split_once(" at version ")?;
    let number = number.parse().ok().filter(|number| *number < COUNT)?;
    Some((number, version.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Version 1 from the start, replaced by 2 in seconds 10 to 11, removed in seconds 20 to 21.
    fn lag(version: Option<u32>, from: u64, until: u64) -> Option<u64> {
        let interval = |from, until| Interval {
            from: Duration::from_secs(from),
            until: Duration::from_secs(until),
        };
        let mut history = History::default();
        history.push(interval(0, 0), Some(1));
        history.push(interval(10, 11), Some(2));
        history.push(interval(20, 21), None);
        history.lag(version, interval(from, until)).map(|lag| lag.as_secs())
    }

    #[test]
    fn a_version_that_was_current_during_the_request_has_no_lag() {
        assert_eq!(lag(Some(1), 5, 6), Some(0));
        assert_eq!(lag(Some(1), 11, 12), Some(0));
        assert_eq!(lag(Some(2), 9, 10), Some(0));
        assert_eq!(lag(None, 22, 23), Some(0));
    }

    #[test]
    fn a_replaced_version_lags_and_one_that_never_was_current_is_wrong() {
        assert_eq!(lag(Some(1), 14, 15), Some(3));
        assert_eq!(lag(Some(2), 25, 26), Some(4));
        assert_eq!(lag(Some(2), 5, 6), None, "not yet written");
        assert_eq!(lag(Some(3), 25, 26), None, "never written");
        assert_eq!(lag(None, 12, 13), None, "the file exists");
    }
}
