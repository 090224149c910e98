//! Counts the lines that differ between two texts.

use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Serialize;
use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};

/// A diff takes time that is quadratic in the number of changes. After this, the rest of the texts
/// counts as changed.
const TIMEOUT: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Changes {
    pub identical: bool,
    pub lines_added: usize,
    pub lines_removed: usize,
    pub lines_unchanged: usize,
    /// In one line
    pub summary: String,
}

pub(crate) fn changes(old: &str, new: &str) -> Changes {
    let (before, after): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let deadline = Some(Instant::now() + TIMEOUT);
    let operations = capture_diff_slices_deadline(Algorithm::Myers, &before, &after, deadline);
    let kept = operations.iter().map(|operation| match operation {
        DiffOp::Equal { len, .. } => *len,
        _ => 0,
    });
    let kept: usize = kept.sum();
    let (added, removed) = (after.len() - kept, before.len() - kept);
    let identical = old == new;
    Changes {
        identical,
        lines_added: added,
        lines_removed: removed,
        lines_unchanged: kept,
        summary: if identical {
            "nothing has changed".to_owned()
        } else {
            format!("+{added} -{removed} lines, {kept} unchanged")
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_added_removed_and_unchanged_lines() {
        let found = changes("a\nb\nc\n", "a\nx\nc\nd\n");
        assert_eq!((found.lines_added, found.lines_removed, found.lines_unchanged), (2, 1, 2));
        assert_eq!(found.summary, "+2 -1 lines, 2 unchanged");
        assert!(changes("a\n", "a\n").identical);
    }

    #[test]
    fn compares_long_texts() {
        let lines = |range: std::ops::Range<usize>| {
            range.map(|n| n.to_string()).collect::<Vec<_>>().join("\n")
        };
        let found = changes(&lines(0..20_000), &lines(10..20_010));
        assert_eq!((found.lines_added, found.lines_removed), (10, 10));
    }
}
