//! What has changed between two texts, by lines.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Serialize;
use similar::{Algorithm, DiffOp, capture_diff_slices};

/// Beyond it, lines are counted and not put in order: comparing takes the square of their number.
const MAX_LINES: usize = 5_000;

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
    let kept = match before.len().max(after.len()) {
        0..=MAX_LINES => in_order(&before, &after),
        _ => in_any_order(&before, &after),
    };
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

fn in_order(before: &[&str], after: &[&str]) -> usize {
    let operations = capture_diff_slices(Algorithm::Myers, before, after);
    let kept = operations.iter().map(|operation| match operation {
        DiffOp::Equal { len, .. } => *len,
        _ => 0,
    });
    kept.sum()
}

fn in_any_order(before: &[&str], after: &[&str]) -> usize {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for line in before {
        *counts.entry(line).or_default() += 1;
    }
    let mut kept = 0;
    for line in after {
        if let Some(left) = counts.get_mut(line).filter(|left| **left > 0) {
            *left -= 1;
            kept += 1;
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted() {
        let found = changes("a\nb\nc\n", "a\nx\nc\nd\n");
        assert_eq!((found.lines_added, found.lines_removed, found.lines_unchanged), (2, 1, 2));
        assert_eq!(found.summary, "+2 -1 lines, 2 unchanged");
        assert!(changes("a\n", "a\n").identical);
    }

    #[test]
    fn long_texts_are_compared_too() {
        let lines = |range: std::ops::Range<usize>| {
            range.map(|n| n.to_string()).collect::<Vec<_>>().join("\n")
        };
        let found = changes(&lines(0..20_000), &lines(10..20_010));
        assert_eq!((found.lines_added, found.lines_removed), (10, 10));
    }
}
