//! The functions that replace operators in a hardened template.

use std::fmt::Write;
use std::sync::Arc;

use minijinja::value::{Rest, Tuple, Value, ValueKind};
use minijinja::{Environment, Error, ErrorKind};

use super::budget::Budget;

/// Prefix of these functions; [`super::harden`] rejects it in templates.
pub(super) const RESERVED: &str = "__";
pub(super) const ADD: &str = "__add";
pub(super) const MUL: &str = "__mul";
pub(super) const CONCAT: &str = "__concat";
pub(super) const COMPARE: &str = "__compare";
/// Charges for a value that was just built.
pub(super) const BUILT: &str = "__built";
/// Charges for one pass over a value.
pub(super) const WALKED: &str = "__walked";

pub(super) fn register(env: &mut Environment<'_>, budget: &Arc<Budget>) {
    let [adds, multiplies, concatenates, compares, builds, walks] =
        std::array::from_fn(|_| budget.clone());
    env.add_function(ADD, move |args: Rest<Value>| fold(&args, |a, b| add(&adds, a, b)));
    env.add_function(MUL, move |args: Rest<Value>| fold(&args, |a, b| mul(&multiplies, a, b)));
    env.add_function(CONCAT, move |args: Rest<Value>| concat(&concatenates, &args));
    env.add_function(COMPARE, move |args: Rest<Value>| compare(&compares, &args));
    env.add_function(BUILT, move |value: Value| builds.spend_value(&value).map(|()| value));
    env.add_function(WALKED, move |value: Value| walks.spend_length(&value).map(|()| value));
}

fn fold(
    args: &[Value],
    operation: impl Fn(&Value, &Value) -> Result<Value, Error>,
) -> Result<Value, Error> {
    let (first, rest) = args.split_first().ok_or_else(|| unsupported("an operator", args))?;
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
        return Ok(sequence(items, is_tuple(a) && is_tuple(b)));
    }
    number(a, b, "+", i128::checked_add, |a, b| a + b)
}

fn mul(budget: &Budget, a: &Value, b: &Value) -> Result<Value, Error> {
    defined(&[a.clone(), b.clone()])?;
    let grows = |value: &Value| value.as_str().is_some() || is_sequence(value);
    let (repeated, times) = match (grows(a), grows(b)) {
        (true, false) => (a, b.as_usize()),
        (false, true) => (b, a.as_usize()),
        (false, false) => return number(a, b, "*", i128::checked_mul, |a, b| a * b),
        (true, true) => (a, None),
    };
    let times = times.ok_or_else(|| unsupported("*", &[a.clone(), b.clone()]))?;
    if let Some(text) = repeated.as_str() {
        budget.spend((text.len() as u64).saturating_mul(times as u64))?;
        return Ok(Value::from(text.repeat(times)));
    }
    let mut items = Vec::new();
    for _ in 0..times {
        budget.spend_value(repeated)?;
        items.extend(repeated.try_iter()?);
    }
    Ok(sequence(items, is_tuple(repeated)))
}

fn concat(budget: &Budget, args: &[Value]) -> Result<Value, Error> {
    defined(args)?;
    budget.spend_values(args)?;
    let mut text = String::new();
    for value in args {
        write!(text, "{value}").map_err(|_| Error::from(ErrorKind::WriteFailure))?;
    }
    // Quotes and escapes make the text longer than the values that were charged.
    budget.spend(text.len() as u64)?;
    Ok(Value::from(text))
}

/// Arguments alternate operands and operators, as in `1 < x <= 9`.
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

fn contains(container: &Value, item: &Value) -> Result<bool, Error> {
    if let Some(text) = container.as_str() {
        let item = item.as_str().map_or_else(|| item.to_string(), str::to_owned);
        return Ok(text.contains(&item));
    }
    match container.kind() {
        ValueKind::Seq | ValueKind::Iterable | ValueKind::Map => {
            Ok(container.try_iter()?.any(|one| one == *item))
        }
        _ => Err(unsupported("in", &[item.clone(), container.clone()])),
    }
}

fn number(
    a: &Value,
    b: &Value,
    operator: &str,
    integers: fn(i128, i128) -> Option<i128>,
    floats: fn(f64, f64) -> f64,
) -> Result<Value, Error> {
    let operands = || [a.clone(), b.clone()];
    let is_number = |value: &Value| value.is_number() || value.kind() == ValueKind::Bool;
    if !is_number(a) || !is_number(b) {
        return Err(unsupported(operator, &operands()));
    }
    if let (Ok(left), Ok(right)) = (i128::try_from(a.clone()), i128::try_from(b.clone()))
        && a.is_integer()
        && b.is_integer()
    {
        let result = integers(left, right).ok_or_else(|| unsupported(operator, &operands()))?;
        return Ok(i64::try_from(result).map_or_else(|_| Value::from(result), Value::from));
    }
    match (f64::try_from(a.clone()), f64::try_from(b.clone())) {
        (Ok(left), Ok(right)) => Ok(Value::from(floats(left, right))),
        _ => Err(unsupported(operator, &operands())),
    }
}

fn is_sequence(value: &Value) -> bool {
    matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable)
}

fn sequence(items: Vec<Value>, as_tuple: bool) -> Value {
    if as_tuple { Value::from(Tuple::from(items)) } else { Value::from(items) }
}

fn is_tuple(value: &Value) -> bool {
    value.downcast_object_ref::<Tuple>().is_some()
}

/// Fails with the engine's own error for an undefined value, which names it.
fn defined(values: &[Value]) -> Result<(), Error> {
    let undefined = values.iter().find(|value| value.is_undefined());
    match undefined.map(|value| value.get_attr("")) {
        None => Ok(()),
        Some(Err(error)) => Err(error),
        Some(Ok(_)) => Err(Error::from(ErrorKind::UndefinedError)),
    }
}

fn unsupported(operator: &str, operands: &[Value]) -> Error {
    let kinds: Vec<String> = operands.iter().map(|value| value.kind().to_string()).collect();
    let problem = format!("`{operator}` does not support {}", kinds.join(" and "));
    Error::new(ErrorKind::InvalidOperation, problem)
}
