//! The functions that stand for operators in a hardened template.

use std::fmt::Write;
use std::sync::Arc;

use minijinja::value::{Rest, Tuple, Value, ValueKind};
use minijinja::{Environment, Error, ErrorKind};

use super::budget::Budget;

/// Names that begin so are ours; [`super::harden`] refuses them in templates.
pub(super) const RESERVED: &str = "__";
pub(super) const ADD: &str = "__add";
pub(super) const MUL: &str = "__mul";
pub(super) const CONCAT: &str = "__concat";
pub(super) const COMPARE: &str = "__compare";
/// Pays for a value that was just built.
pub(super) const BUILT: &str = "__built";
/// Pays for going through a value once.
pub(super) const WALKED: &str = "__walked";

pub(super) fn register(env: &mut Environment<'_>, budget: &Arc<Budget>) {
    let paid = budget.clone();
    env.add_function(ADD, move |args: Rest<Value>| fold(&args, |a, b| add(&paid, a, b)));
    let paid = budget.clone();
    env.add_function(MUL, move |args: Rest<Value>| fold(&args, |a, b| mul(&paid, a, b)));
    let paid = budget.clone();
    env.add_function(CONCAT, move |args: Rest<Value>| concat(&paid, &args));
    let paid = budget.clone();
    env.add_function(COMPARE, move |args: Rest<Value>| compare(&paid, &args));
    let paid = budget.clone();
    env.add_function(BUILT, move |value: Value| paid.spend_value(&value).map(|()| value));
    let paid = budget.clone();
    env.add_function(WALKED, move |value: Value| paid.spend_length(&value).map(|()| value));
}

fn fold(
    args: &[Value],
    operation: impl Fn(&Value, &Value) -> Result<Value, Error>,
) -> Result<Value, Error> {
    let (first, rest) = args.split_first().ok_or_else(|| impossible("an operator", args))?;
    rest.iter().try_fold(first.clone(), |sum, next| operation(&sum, next))
}

fn add(budget: &Budget, a: &Value, b: &Value) -> Result<Value, Error> {
    defined(&[a.clone(), b.clone()])?;
    if let (Some(left), Some(right)) = (a.as_str(), b.as_str()) {
        budget.spend((left.len() + right.len()) as u64)?;
        return Ok(Value::from([left, right].concat()));
    }
    if is_sequence(a) && is_sequence(b) {
        budget.spend_value(a)?;
        budget.spend_value(b)?;
        let items: Vec<Value> = a.try_iter()?.chain(b.try_iter()?).collect();
        return Ok(match (is_tuple(a), is_tuple(b)) {
            (true, true) => Value::from(Tuple::from(items)),
            _ => Value::from(items),
        });
    }
    number(a, b, "+", i128::checked_add, |a, b| a + b)
}

fn mul(budget: &Budget, a: &Value, b: &Value) -> Result<Value, Error> {
    defined(&[a.clone(), b.clone()])?;
    let grows = |value: &Value| value.as_str().is_some() || is_sequence(value);
    let (repeated, times) = match (grows(a), grows(b)) {
        (true, false) => (a, b),
        (false, true) => (b, a),
        (false, false) => return number(a, b, "*", i128::checked_mul, |a, b| a * b),
        (true, true) => return Err(impossible("*", &[a.clone(), b.clone()])),
    };
    let Some(times) = times.as_usize() else {
        return Err(impossible("*", &[a.clone(), b.clone()]));
    };
    if let Some(text) = repeated.as_str() {
        budget.spend((text.len() as u64).saturating_mul(times as u64))?;
        return Ok(Value::from(text.repeat(times)));
    }
    let mut items = Vec::new();
    for _ in 0..times {
        budget.spend_value(repeated)?;
        items.extend(repeated.try_iter()?);
    }
    Ok(if is_tuple(repeated) { Value::from(Tuple::from(items)) } else { Value::from(items) })
}

fn concat(budget: &Budget, args: &[Value]) -> Result<Value, Error> {
    defined(args)?;
    budget.spend_values(args)?;
    let mut text = String::new();
    for value in args {
        write!(text, "{value}").map_err(|_| Error::from(ErrorKind::WriteFailure))?;
    }
    // What is written can be longer than what was measured, by quotes and escapes only.
    budget.spend(text.len() as u64)?;
    Ok(Value::from(text))
}

/// Operands and operators in turn, as in `1 < x <= 9`.
fn compare(budget: &Budget, args: &[Value]) -> Result<bool, Error> {
    budget.spend_values(args)?;
    for step in args.windows(3).step_by(2) {
        let [left, operator, right] = step else { break };
        defined(&[left.clone(), right.clone()])?;
        let holds = match operator.as_str().unwrap_or_default() {
            "==" => left == right,
            "!=" => left != right,
            "<" => left < right,
            "<=" => left <= right,
            ">" => left > right,
            ">=" => left >= right,
            "in" => contains(right, left)?,
            _ => !contains(right, left)?,
        };
        if !holds {
            return Ok(false);
        }
    }
    Ok(true)
}

fn contains(container: &Value, wanted: &Value) -> Result<bool, Error> {
    if let Some(text) = container.as_str() {
        let wanted = wanted.as_str().map_or_else(|| wanted.to_string(), str::to_owned);
        return Ok(text.contains(&wanted));
    }
    match container.kind() {
        ValueKind::Seq | ValueKind::Iterable | ValueKind::Map => {
            Ok(container.try_iter()?.any(|item| item == *wanted))
        }
        _ => Err(impossible("in", &[wanted.clone(), container.clone()])),
    }
}

fn number(
    a: &Value,
    b: &Value,
    operator: &str,
    whole: fn(i128, i128) -> Option<i128>,
    broken: fn(f64, f64) -> f64,
) -> Result<Value, Error> {
    let operands = || [a.clone(), b.clone()];
    let is_number = |value: &Value| value.is_number() || value.kind() == ValueKind::Bool;
    if !is_number(a) || !is_number(b) {
        return Err(impossible(operator, &operands()));
    }
    if let (Ok(left), Ok(right)) = (i128::try_from(a.clone()), i128::try_from(b.clone()))
        && a.is_integer()
        && b.is_integer()
    {
        let result = whole(left, right).ok_or_else(|| impossible(operator, &operands()))?;
        return Ok(i64::try_from(result).map_or_else(|_| Value::from(result), Value::from));
    }
    match (f64::try_from(a.clone()), f64::try_from(b.clone())) {
        (Ok(left), Ok(right)) => Ok(Value::from(broken(left, right))),
        _ => Err(impossible(operator, &operands())),
    }
}

fn is_sequence(value: &Value) -> bool {
    matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable)
}

fn is_tuple(value: &Value) -> bool {
    value.downcast_object_ref::<Tuple>().is_some()
}

/// The engine's own error for a value that is undefined says which it is.
fn defined(values: &[Value]) -> Result<(), Error> {
    let undefined = values.iter().find(|value| value.is_undefined());
    match undefined.map(|value| value.get_attr("")) {
        None => Ok(()),
        Some(Err(error)) => Err(error),
        Some(Ok(_)) => Err(Error::from(ErrorKind::UndefinedError)),
    }
}

fn impossible(operator: &str, operands: &[Value]) -> Error {
    let kinds: Vec<String> = operands.iter().map(|value| value.kind().to_string()).collect();
    let problem = format!("`{operator}` is not for {}", kinds.join(" and "));
    Error::new(ErrorKind::InvalidOperation, problem)
}
