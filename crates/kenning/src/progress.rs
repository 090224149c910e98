//! A progress bar on one line of standard error.

use std::io::{self, Write};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use terminal_size::terminal_size_of;

const WIDTH: usize = 30;
/// More often than this a terminal need not be drawn.
const INTERVAL: Duration = Duration::from_millis(50);

/// Draws itself as work gets done, from any thread, and clears its line when it is dropped.
#[derive(Debug)]
pub struct ProgressBar {
    activity: &'static str,
    /// `None` if nothing is drawn.
    state: Option<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    done: usize,
    total: usize,
    drawn: Option<Instant>,
    /// The columns of the line that is on the terminal.
    columns: usize,
}

impl ProgressBar {
    pub fn new(activity: &'static str) -> Self {
        Self { activity, state: Some(Mutex::default()) }
    }

    pub fn hidden() -> Self {
        Self { activity: "", state: None }
    }

    pub fn set_total(&self, total: usize) {
        self.update(|state| state.total = total);
    }

    pub fn advance(&self) {
        self.update(|state| state.done += 1);
    }

    /// Reports of several threads may come in any order, so progress never goes back.
    pub fn set(&self, done: usize, total: usize) {
        self.update(|state| {
            state.total = total;
            state.done = state.done.max(done);
        });
    }

    fn update(&self, change: impl FnOnce(&mut State)) {
        let Some(Ok(mut state)) = self.state.as_ref().map(Mutex::lock) else { return };
        change(&mut state);
        if state.total == 0 || state.drawn.is_some_and(|drawn| drawn.elapsed() < INTERVAL) {
            return;
        }
        state.drawn = Some(Instant::now());
        let terminal = terminal_size_of(io::stderr()).map(|(width, _)| usize::from(width.0));
        let line = line(self.activity, state.done, state.total, terminal);
        overwrite(&line, state.columns);
        state.columns = line.chars().count();
    }
}

impl Drop for ProgressBar {
    fn drop(&mut self) {
        let Some(Ok(state)) = self.state.as_ref().map(Mutex::lock) else { return };
        if state.columns > 0 {
            overwrite("", state.columns);
        }
    }
}

/// Shortened to a terminal of this width: a line that wraps cannot be overwritten.
fn line(activity: &str, done: usize, total: usize, terminal: Option<usize>) -> String {
    let filled = done.min(total) * WIDTH / total.max(1);
    let (full, empty) = ("█".repeat(filled), "░".repeat(WIDTH - filled));
    let line = format!("{activity} {full}{empty} {done}/{total}");
    line.chars().take(terminal.map_or(usize::MAX, |width| width.saturating_sub(1))).collect()
}

/// Writes over a line of `columns`, with blanks where it was longer. Needs no escape sequence, so it
/// works on every terminal. A terminal that is gone is no reason to fail.
fn overwrite(line: &str, columns: usize) {
    let blanks = " ".repeat(columns.saturating_sub(line.chars().count()));
    let mut stderr = io::stderr().lock();
    let back = if line.is_empty() { "\r" } else { "" };
    let _ = write!(stderr, "\r{line}{blanks}{back}");
    let _ = stderr.flush();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_shows_the_share_and_fits_the_terminal() {
        let drawn = line("indexing", 5, 10, None);
        assert_eq!(drawn, format!("indexing {}{} 5/10", "█".repeat(15), "░".repeat(15)));
        assert!(line("indexing", 10, 10, Some(80)).contains(&"█".repeat(30)));
        assert_eq!(line("indexing", 5, 10, Some(20)).chars().count(), 19);
        assert_eq!(line("indexing", 11, 10, None).matches('█').count(), 30, "more than expected");
        assert_eq!(line("indexing", 0, 0, None).matches('░').count(), 30);
    }

    #[test]
    fn reports_of_several_threads_never_go_back() {
        let bar = ProgressBar { activity: "", state: Some(Mutex::default()) };
        let done = || bar.state.as_ref().and_then(|state| state.lock().ok().map(|s| s.done));
        bar.set(0, 0);
        bar.set(3, 0);
        bar.set(2, 0);
        assert_eq!(done(), Some(3));
    }
}
