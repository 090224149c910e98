//! Selecting the most valuable set that fits in a token budget: a knapsack.

/// Resolution of the budget. It bounds the table, whatever the budget.
const STEPS: usize = 2_000;

/// Indices of at most `limit` items, given as (value, cost), with the greatest total value whose
/// costs fit in `budget`. Costs are rounded up to steps of the budget, so the set always fits.
pub(crate) fn best_within(items: &[(f64, usize)], budget: usize, limit: usize) -> Vec<usize> {
    let step = budget.div_ceil(STEPS).max(1);
    let capacity = budget / step;
    let limit = limit.min(items.len());
    // best[n][r]: the greatest value of n items in r steps, and the items.
    let mut best = vec![vec![None::<(f64, Vec<usize>)>; capacity + 1]; limit + 1];
    best[0].fill(Some((0.0, Vec::new())));
    for (index, &(value, cost)) in items.iter().enumerate() {
        let cost = cost.div_ceil(step);
        for taken in (1..=limit).rev() {
            for used in (cost..=capacity).rev() {
                let Some((before, chosen)) = &best[taken - 1][used - cost] else { continue };
                let total = before + value;
                if best[taken][used].as_ref().is_none_or(|(known, _)| total > *known) {
                    let mut chosen = chosen.clone();
                    chosen.push(index);
                    best[taken][used] = Some((total, chosen));
                }
            }
        }
    }
    let all = best.into_iter().filter_map(|mut row| row.pop().flatten());
    let chosen = all.max_by(|a, b| a.0.total_cmp(&b.0));
    chosen.map(|(_, chosen)| chosen).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_set_fits_and_has_the_greatest_value() {
        let items = [(10.0, 60), (6.0, 50), (6.0, 50), (1.0, 1)];
        assert_eq!(best_within(&items, 100, 9), [1, 2]);
        assert_eq!(best_within(&items, 101, 9), [1, 2, 3]);
        assert_eq!(best_within(&items, 100, 1), [0]);
        assert_eq!(best_within(&items, 61, 9), [0, 3]);
        assert!(best_within(&items, 0, 9).is_empty());
        assert_eq!(best_within(&items, 1_000_000, 9), [0, 1, 2, 3]);
    }
}
