//! One look at the files of all bases, compared with the last snapshot.

use std::sync::Arc;

use crate::base::Base;
use crate::diagnostic::Diagnostic;
use crate::document::Document;
use crate::reading::{Job, Outcome, Progress, Reader};
use crate::snapshot::{File, Snapshot, Unavailable};

pub(crate) enum Reading {
    Unchanged(File),
    Parsed(Box<Document>),
    Unreadable(Diagnostic),
}

#[derive(Default)]
pub(crate) struct Survey {
    /// With the index of the base, sorted by base and path.
    pub(crate) readings: Vec<(usize, Reading)>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    pub(crate) unavailable: Vec<Unavailable>,
    /// Files that the file system did not hand out; the versions from before are kept.
    pub(crate) stalled_files: usize,
}

pub(crate) fn survey(
    reader: &Reader,
    bases: &[Arc<Base>],
    before: &Arc<Snapshot>,
    progress: Progress<'_>,
) -> Survey {
    let mut survey = Survey::default();
    let mut jobs = Vec::new();
    for (index, base) in bases.iter().enumerate() {
        let Some(listing) = reader.list(index, base) else {
            survey.add_stalled_base(index, base, before);
            continue;
        };
        match listing.root {
            Ok(root) => {
                survey.diagnostics.extend(listing.diagnostics);
                jobs.extend(listing.files.into_iter().map(|path| Job {
                    base: index,
                    root: root.clone(),
                    path,
                }));
            }
            Err(error) => {
                survey.add_unavailable(base, Unavailable::unreadable(index, base, &error));
            }
        }
    }
    let jobs = Arc::new(jobs);
    let finish = {
        let (bases, before) = (bases.to_vec(), before.clone());
        move |job: &Job, bytes: Result<Vec<u8>, String>| read(&bases, &before, job, bytes)
    };
    let outcomes = reader.read_all(&jobs, finish, progress);
    let mut skipped = vec![0; bases.len()];
    for (job, outcome) in jobs.iter().zip(outcomes) {
        match outcome {
            Outcome::Finished(reading) => survey.readings.push((job.base, reading)),
            Outcome::Stalled => {
                let limit = reader.limits.answer;
                let problem = format!(
                    "was not read: the file system did not answer within {limit:?}; it is tried again"
                );
                survey.diagnostics.push(bases[job.base].report(job.path.as_str(), problem));
                survey.keep(before, job);
            }
            Outcome::Skipped => {
                skipped[job.base] += 1;
                survey.keep(before, job);
            }
        }
    }
    for (base, skipped) in bases.iter().zip(skipped).filter(|(_, skipped)| *skipped > 0) {
        let problem = format!(
            "{skipped} more files were not read: the file system of the base does not answer"
        );
        survey.diagnostics.push(base.report("", problem));
    }
    // Those of bases that do not answer came first.
    survey.readings.sort_by_key(|(base, _)| *base);
    survey
}

fn read(
    bases: &[Arc<Base>],
    before: &Snapshot,
    job: &Job,
    bytes: Result<Vec<u8>, String>,
) -> Reading {
    let bytes = match bytes {
        Ok(bytes) => bytes,
        Err(reason) => {
            return Reading::Unreadable(bases[job.base].report(job.path.as_str(), reason));
        }
    };
    match before.file(job.base, &job.path) {
        Some(file) if file.document.hash == blake3::hash(&bytes) => {
            Reading::Unchanged(file.clone())
        }
        _ => Reading::Parsed(Box::new(Document::parse(job.path.clone(), &bytes))),
    }
}

impl Survey {
    pub(crate) fn is_stalled(&self) -> bool {
        self.stalled_files > 0 || self.unavailable.iter().any(|base| base.keeps_files)
    }

    /// Keeps the version of a file from before.
    fn keep(&mut self, before: &Snapshot, job: &Job) {
        self.stalled_files += 1;
        if let Some(file) = before.file(job.base, &job.path) {
            self.readings.push((job.base, Reading::Unchanged(file.clone())));
        }
    }

    fn add_stalled_base(&mut self, index: usize, base: &Base, before: &Snapshot) {
        let files = before.files().iter().filter(|file| file.base == index);
        self.readings.extend(files.map(|file| (index, Reading::Unchanged(file.clone()))));
        self.add_unavailable(base, Unavailable::stalled(index, base));
    }

    fn add_unavailable(&mut self, base: &Base, unavailable: Unavailable) {
        self.diagnostics.push(base.report("", unavailable.message.clone()));
        self.unavailable.push(unavailable);
    }

    /// Logs what has become available or unavailable since a snapshot.
    pub(crate) fn log_news(&self, before: &Snapshot) {
        let was = before.unavailable();
        for news in self.unavailable.iter().filter(|base| !was.contains(base)) {
            tracing::warn!("{}", news.message);
        }
        let is_back =
            |base: &&Unavailable| self.unavailable.iter().all(|now| now.base != base.base);
        for back in was.iter().filter(is_back) {
            tracing::info!("the folder of knowledge base `{}` is back", back.name);
        }
        if self.stalled_files > before.stalled_files() {
            tracing::warn!(
                files = self.stalled_files,
                "the file system does not answer; keeping the versions from before"
            );
        }
    }
}
