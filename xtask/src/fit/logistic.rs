//! Logistic regression with a small penalty on large weights, by Newton's method.

/// One observation: what was seen, whether it was relevant, and how much it counts.
pub(super) struct Observation<'a> {
    pub(super) features: &'a [f64],
    pub(super) is_relevant: bool,
    pub(super) weight: f64,
}

pub(super) struct Fitted {
    pub(super) intercept: f64,
    pub(super) weights: Vec<f64>,
}

impl Fitted {
    pub(super) fn probability(&self, features: &[f64]) -> f64 {
        let weighted = self.weights.iter().zip(features).map(|(weight, value)| weight * value);
        1.0 / (1.0 + (-(self.intercept + weighted.sum::<f64>())).exp())
    }
}

const STEPS: usize = 50;
/// The penalty on weights, relative to the total weight of the observations.
const PENALTY: f64 = 1e-3;

/// Features with `used[i] == false` get no weight.
pub(super) fn fit(observations: &[Observation<'_>], used: &[bool]) -> Fitted {
    let columns: Vec<usize> = (0..used.len()).filter(|column| used[*column]).collect();
    let scales: Vec<(f64, f64)> = columns.iter().map(|&c| scale(observations, c)).collect();
    let total: f64 = observations.iter().map(|one| one.weight).sum();
    let size = columns.len() + 1;
    let mut beta = vec![0.0; size];
    let mut row = vec![1.0; size];
    for _ in 0..STEPS {
        let mut gradient = vec![0.0; size];
        let mut hessian = vec![vec![0.0; size]; size];
        for one in observations {
            for (at, (&column, (mean, deviation))) in columns.iter().zip(&scales).enumerate() {
                row[at + 1] = (one.features[column] - mean) / deviation;
            }
            let log_odds: f64 = beta.iter().zip(&row).map(|(b, x)| b * x).sum();
            let p = 1.0 / (1.0 + (-log_odds).exp());
            let error = f64::from(u8::from(one.is_relevant)) - p;
            let curvature = one.weight * p * (1.0 - p);
            for (i, value) in row.iter().enumerate() {
                gradient[i] += one.weight * error * value;
                for (sum, other) in hessian[i].iter_mut().zip(&row) {
                    *sum += curvature * value * other;
                }
            }
        }
        for i in 1..size {
            gradient[i] -= PENALTY * total * beta[i];
            hessian[i][i] += PENALTY * total;
        }
        let step = solve(hessian, gradient);
        let largest = step.iter().fold(0.0_f64, |max, value| max.max(value.abs()));
        beta.iter_mut().zip(&step).for_each(|(b, s)| *b += s);
        if largest < 1e-9 {
            break;
        }
    }
    unscaled(&beta, &columns, &scales, used.len())
}

fn scale(observations: &[Observation<'_>], column: usize) -> (f64, f64) {
    let count = observations.len().max(1) as f64;
    let values = || observations.iter().map(|one| one.features[column]);
    let mean = values().sum::<f64>() / count;
    let variance = values().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
    (mean, variance.sqrt().max(1e-9))
}

fn unscaled(beta: &[f64], columns: &[usize], scales: &[(f64, f64)], features: usize) -> Fitted {
    let mut fitted = Fitted { intercept: beta[0], weights: vec![0.0; features] };
    for ((&column, (mean, deviation)), b) in columns.iter().zip(scales).zip(&beta[1..]) {
        fitted.weights[column] = b / deviation;
        fitted.intercept -= b * mean / deviation;
    }
    fitted
}

/// Solves a symmetric positive definite system by elimination.
fn solve(mut matrix: Vec<Vec<f64>>, mut right: Vec<f64>) -> Vec<f64> {
    let size = right.len();
    for i in 0..size {
        let pivot = matrix[i].clone();
        for j in i + 1..size {
            let factor = matrix[j][i] / pivot[i];
            for (value, above) in matrix[j].iter_mut().zip(&pivot).skip(i) {
                *value -= factor * above;
            }
            right[j] -= factor * right[i];
        }
    }
    for i in (0..size).rev() {
        let known: f64 = (i + 1..size).map(|j| matrix[i][j] * right[j]).sum();
        right[i] = (right[i] - known) / matrix[i][i];
    }
    right
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_model_is_found() {
        let values: Vec<[f64; 2]> =
            (0..400).map(|i| [f64::from(i % 20) / 10.0, f64::from(i / 20) / 10.0]).collect();
        let truth = Fitted { intercept: -1.0, weights: vec![2.0, 0.0] };
        let observations: Vec<Observation<'_>> = values
            .iter()
            .flat_map(|features| {
                let p = truth.probability(features);
                let of = move |is_relevant, weight| Observation { features, is_relevant, weight };
                [of(true, p), of(false, 1.0 - p)]
            })
            .collect();
        let fitted = fit(&observations, &[true, true]);
        assert!((fitted.weights[0] - 2.0).abs() < 0.1, "{:?}", fitted.weights);
        assert!(fitted.weights[1].abs() < 0.05, "{:?}", fitted.weights);
        assert!((fitted.intercept + 1.0).abs() < 0.1, "{}", fitted.intercept);
        let only_second = fit(&observations, &[false, true]);
        assert!(only_second.weights[0] == 0.0);
    }
}
