//! The engine's filters and tests, each paying for what it looks at and what it makes.

use std::borrow::Cow;
use std::sync::Arc;

use minijinja::filters;
use minijinja::value::{Rest, Value, ValueOrKwargs};
use minijinja::{Environment, Error, ErrorKind, State};

use super::budget::Budget;

/// Those that depend on their arguments alone. What is not listed is not there: `pprint` shows the
/// insides of the engine.
const FILTERS: [&str; 40] = [
    "abs",
    "attr",
    "batch",
    "bool",
    "capitalize",
    "chain",
    "count",
    "d",
    "default",
    "dictsort",
    "e",
    "escape",
    "first",
    "float",
    "format",
    "groupby",
    "indent",
    "int",
    "items",
    "join",
    "last",
    "length",
    "lines",
    "list",
    "lower",
    "max",
    "min",
    "replace",
    "reverse",
    "round",
    "safe",
    "slice",
    "sort",
    "split",
    "string",
    "sum",
    "title",
    "tojson",
    "trim",
    "unique",
];
const MORE_FILTERS: [&str; 2] = ["upper", "zip"];
/// Tests that look at more than a value's kind.
const TESTS: [&str; 20] = [
    "eq",
    "equalto",
    "==",
    "ne",
    "!=",
    "lt",
    "lessthan",
    "<",
    "le",
    "<=",
    "gt",
    "greaterthan",
    ">",
    "ge",
    ">=",
    "in",
    "startingwith",
    "endingwith",
    "lower",
    "upper",
];
/// The widest field of a `format` filter, in digits.
const WIDTH_DIGITS: usize = 3;

pub(super) fn register(env: &mut Environment<'_>, budget: &Arc<Budget>) {
    let names = FILTERS.into_iter().chain(MORE_FILTERS);
    let plain = Arc::new(plain());
    for name in names {
        let (budget, plain) = (budget.clone(), plain.clone());
        env.add_filter(name, move |args: Rest<ValueOrKwargs>| {
            let args = args.into_values();
            budget.spend_values(&args)?;
            budget.spend(growth(name, &args)?)?;
            let made = plain.empty_state().apply_filter(name, &args)?;
            budget.spend_value(&made)?;
            Ok::<Value, Error>(made)
        });
    }
    for name in TESTS {
        let (budget, plain) = (budget.clone(), plain.clone());
        env.add_test(name, move |args: Rest<ValueOrKwargs>| {
            let args = args.into_values();
            budget.spend_values(&args)?;
            plain.empty_state().perform_test(name, &args)
        });
    }
    env.remove_filter("pprint");
    env.remove_filter("urlencode");
    named(env, budget);
}

/// The engine as it comes, for those that depend on their arguments alone.
fn plain() -> Environment<'static> {
    let mut env = Environment::new();
    env.set_undefined_behavior(minijinja::UndefinedBehavior::Strict);
    env
}

/// Those that are given the name of another one, which must be one of ours.
fn named(env: &mut Environment<'_>, budget: &Arc<Budget>) {
    type Args = Rest<ValueOrKwargs>;
    type Name<'a> = Option<Cow<'a, str>>;
    let paid = budget.clone();
    env.add_filter("map", move |state: &mut State<'_, '_>, value: Value, args: Args| {
        paid.spend_value(&value)?;
        made(&paid, filters::map(state, value, args))
    });
    let paid = budget.clone();
    env.add_filter(
        "select",
        move |state: &mut State<'_, '_>, value: Value, test: Name<'_>, args: Args| {
            paid.spend_value(&value)?;
            made(&paid, filters::select(state, value, test, args))
        },
    );
    let paid = budget.clone();
    env.add_filter(
        "reject",
        move |state: &mut State<'_, '_>, value: Value, test: Name<'_>, args: Args| {
            paid.spend_value(&value)?;
            made(&paid, filters::reject(state, value, test, args))
        },
    );
    let paid = budget.clone();
    env.add_filter(
        "selectattr",
        move |state: &mut State<'_, '_>,
              value: Value,
              attr: Cow<'_, str>,
              test: Name<'_>,
              args: Args| {
            paid.spend_value(&value)?;
            made(&paid, filters::selectattr(state, value, attr, test, args))
        },
    );
    let paid = budget.clone();
    env.add_filter(
        "rejectattr",
        move |state: &mut State<'_, '_>,
              value: Value,
              attr: Cow<'_, str>,
              test: Name<'_>,
              args: Args| {
            paid.spend_value(&value)?;
            made(&paid, filters::rejectattr(state, value, attr, test, args))
        },
    );
}

fn made(budget: &Budget, made: Result<Vec<Value>, Error>) -> Result<Value, Error> {
    let made = Value::from(made?);
    budget.spend_value(&made)?;
    Ok(made)
}

/// How many bytes the result can have beyond those of the arguments.
fn growth(filter: &str, args: &[Value]) -> Result<u64, Error> {
    let text = |place: usize| args.get(place).and_then(Value::as_str).unwrap_or_default();
    let count = |place: usize| args.get(place).and_then(Value::as_usize).unwrap_or(0) as u64;
    Ok(match filter {
        "replace" => {
            let (hay, old, new) = (text(0), text(1), text(2));
            let found = if old.is_empty() { hay.len() + 1 } else { hay.matches(old).count() };
            found as u64 * new.len() as u64
        }
        "join" => {
            let items = args.first().and_then(Value::len).unwrap_or_else(|| text(0).len());
            items as u64 * text(1).len() as u64
        }
        "indent" => (text(0).lines().count() as u64).saturating_mul(count(1).max(width(args))),
        // The last row is filled up.
        "batch" | "slice" => count(1).saturating_mul(16),
        "tojson" => indented(args),
        "format" => return wide(text(0)).map(|()| 1_000 * (1 + text(0).len() as u64)),
        "round" if count(1) > 400 => {
            return Err(Error::new(ErrorKind::InvalidOperation, "`round` to at most 400 digits"));
        }
        _ => 0,
    })
}

/// The `width` of `indent`, given by name.
fn width(args: &[Value]) -> u64 {
    let named = args.last().and_then(|kwargs| kwargs.get_attr("width").ok());
    named.and_then(|width| width.as_usize()).unwrap_or(0) as u64
}

/// `tojson(indent=N)`: every value of the tree may get a line of its own, indented by its depth.
fn indented(args: &[Value]) -> u64 {
    let place = args.get(1).and_then(Value::as_usize);
    let named = args.last().and_then(|kwargs| kwargs.get_attr("indent").ok());
    let spaces = place.or_else(|| named.and_then(|n| n.as_usize())).unwrap_or(0) as u64;
    let values = args.first().map_or(0, |value| values_in(value, 0));
    values.saturating_mul(spaces.saturating_mul(64))
}

/// The depth has been checked when the value was paid for.
fn values_in(value: &Value, depth: usize) -> u64 {
    let Ok(inner) = value.try_iter() else { return 1 };
    if value.as_str().is_some() || depth > 64 {
        return 1;
    }
    let is_map = value.kind() == minijinja::value::ValueKind::Map;
    let sizes = inner.map(|item| {
        let inner = if is_map { value.get_item(&item).unwrap_or_default() } else { item };
        values_in(&inner, depth + 1)
    });
    1 + sizes.sum::<u64>()
}

/// Refuses `%99999999d` and widths that come as arguments.
fn wide(format: &str) -> Result<(), Error> {
    let mut digits = 0;
    for c in format.chars() {
        digits = if c.is_ascii_digit() { digits + 1 } else { 0 };
        if digits > WIDTH_DIGITS || c == '*' {
            let problem = "a field of `format` is at most 999 wide, and has no `*`";
            return Err(Error::new(ErrorKind::InvalidOperation, problem));
        }
    }
    Ok(())
}
