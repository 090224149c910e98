//! The best set that fits.

/// Steps in which a budget is divided: finer than anybody budgets.
const STEPS: usize = 2_000;

/// Which of these (worth, cost) to take, at most `limit`, so that the costs fit in `budget` and
/// the worth is greatest. Costs are rounded up to a fraction of the budget, so the set always fits.
pub(crate) fn best_within(items: &[(f64, usize)], budget: usize, limit: usize) -> Vec<usize> {
    let step = budget.div_ceil(STEPS).max(1);
    let room = budget / step;
    let limit = limit.min(items.len());
    // best[n][r]: the greatest worth of n items in r steps, and the items.
    let mut best = vec![vec![None::<(f64, Vec<usize>)>; room + 1]; limit + 1];
    best[0].fill(Some((0.0, Vec::new())));
    for (index, &(worth, cost)) in items.iter().enumerate() {
        let cost = cost.div_ceil(step);
        for taken in (1..=limit).rev() {
            for used in (cost..=room).rev() {
                let Some((before, chosen)) = &best[taken - 1][used - cost] else { continue };
                let total = before + worth;
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
    fn the_set_is_worth_most_and_fits() {
        let items = [(10.0, 60), (6.0, 50), (6.0, 50), (1.0, 1)];
        assert_eq!(best_within(&items, 100, 9), [1, 2]);
        assert_eq!(best_within(&items, 101, 9), [1, 2, 3]);
        assert_eq!(best_within(&items, 100, 1), [0]);
        assert_eq!(best_within(&items, 61, 9), [0, 3]);
        assert!(best_within(&items, 0, 9).is_empty());
        assert_eq!(best_within(&items, 1_000_000, 9), [0, 1, 2, 3]);
    }
}
