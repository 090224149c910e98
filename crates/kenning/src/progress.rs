//! A progress bar on one line of standard error.

use std::io::{self, Write};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use terminal_size::terminal_size_of;

const WIDTH: usize = 30;
/// More often than this a terminal need not be drawn.
const INTERVAL: Duration = Duration::from_millis(50);
/// Before this the pace is not known well enough to tell the time to go.
const PACE_AFTER: Duration = Duration::from_secs(2);

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
    /// When the first progress was reported, and how much there was.
    started: Option<(Instant, usize)>,
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
        let first = (Instant::now(), state.done);
        let (started, first) = *state.started.get_or_insert(first);
        let left =
            left(started.elapsed(), state.done - first, state.total.saturating_sub(state.done));
        let terminal = terminal_size_of(io::stderr()).map(|(width, _)| usize::from(width.0));
        let line = line(self.activity, state.done, state.total, left, terminal);
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
fn line(
    activity: &str,
    done: usize,
    total: usize,
    left: Option<Duration>,
    terminal: Option<usize>,
) -> String {
    let filled = done.min(total) * WIDTH / total.max(1);
    let (full, empty) = ("█".repeat(filled), "░".repeat(WIDTH - filled));
    let left = left.map(|left| format!(", about {} to go", spoken(left))).unwrap_or_default();
    let line = format!("{activity} {full}{empty} {done}/{total}{left}");
    line.chars().take(terminal.map_or(usize::MAX, |width| width.saturating_sub(1))).collect()
}

/// The time that the rest takes at the pace until now.
fn left(elapsed: Duration, done: usize, rest: usize) -> Option<Duration> {
    if elapsed < PACE_AFTER || done == 0 || rest == 0 {
        return None;
    }
    Some(elapsed.mul_f64(rest as f64 / done as f64))
}

/// `50 s`, `1 min 30 s` or `2 h 5 min`.
fn spoken(time: Duration) -> String {
    let seconds = time.as_secs().max(1);
    match (seconds / 3600, seconds / 60 % 60) {
        (0, 0) => format!("{seconds} s"),
        (0, minutes) => format!("{minutes} min {} s", seconds % 60),
        (hours, minutes) => format!("{hours} h {minutes} min"),
    }
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
        let drawn = line("indexing", 5, 10, None, None);
        assert_eq!(drawn, format!("indexing {}{} 5/10", "█".repeat(15), "░".repeat(15)));
        assert!(line("indexing", 10, 10, None, Some(80)).contains(&"█".repeat(30)));
        assert_eq!(line("indexing", 5, 10, None, Some(20)).chars().count(), 19);
        assert_eq!(
            line("indexing", 11, 10, None, None).matches('█').count(),
            30,
            "more than expected"
        );
        assert_eq!(line("indexing", 0, 0, None, None).matches('░').count(), 30);
    }

    #[test]
    fn a_line_tells_the_time_to_go_once_the_pace_is_known() {
        let seconds = Duration::from_secs;
        assert_eq!(left(seconds(1), 5, 5), None, "too early to tell");
        assert_eq!(left(seconds(9), 0, 5), None, "nothing is done yet");
        assert_eq!(left(seconds(9), 5, 0), None, "everything is done");
        let left = left(seconds(30), 25, 75);
        assert_eq!(left, Some(seconds(90)));
        assert!(line("embedding", 25, 100, left, None).ends_with("25/100, about 1 min 30 s to go"));
        assert_eq!(spoken(seconds(50)), "50 s");
        assert_eq!(spoken(seconds(2 * 3600 + 5 * 60)), "2 h 5 min");
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
