//! The engine's filters and tests, charged for what they read and what they build.

use std::borrow::Cow;
use std::sync::Arc;

use minijinja::filters;
use minijinja::value::{Rest, Value, ValueOrKwargs};
use minijinja::{Environment, Error, ErrorKind, State};

use super::budget::Budget;

/// Filters that depend on their arguments alone. Filters that are not listed are not available:
/// `pprint` would expose the engine's internals.
const FILTERS: &str = "abs attr batch bool capitalize chain count d default dictsort e escape first \
    float format groupby indent int items join last length lines list lower max min replace reverse \
    round safe slice sort split string sum title tojson trim unique upper zip";
/// Tests that look at more than a value's kind.
const TESTS: &str = "eq equalto == ne != lt lessthan < le <= gt greaterthan > ge >= in startingwith \
    endingwith lower upper";
/// The widest field of a `format` filter, in digits.
const WIDTH_DIGITS: usize = 3;

pub(super) fn register(env: &mut Environment<'_>, budget: &Arc<Budget>) {
    let plain = Arc::new(plain());
    for name in FILTERS.split_whitespace() {
        let (budget, plain) = (budget.clone(), plain.clone());
        env.add_filter(name, move |args: Rest<ValueOrKwargs>| {
            let args = args.into_values();
            budget.spend_values(&args)?;
            budget.spend(growth(name, &args)?)?;
            charged(&budget, plain.empty_state().apply_filter(name, &args)?)
        });
    }
    for name in TESTS.split_whitespace() {
        let (budget, plain) = (budget.clone(), plain.clone());
        env.add_test(name, move |args: Rest<ValueOrKwargs>| {
            let args = args.into_values();
            budget.spend_values(&args)?;
            plain.empty_state().perform_test(name, &args)
        });
    }
    env.remove_filter("pprint");
    env.remove_filter("urlencode");
    register_higher_order(env, budget);
}

/// The engine as it comes, for what depends on its arguments alone.
fn plain() -> Environment<'static> {
    let mut env = Environment::new();
    env.set_undefined_behavior(minijinja::UndefinedBehavior::Strict);
    env
}

/// Filters that are given the name of another filter or test. They run in the sandboxed
/// environment, so that the name resolves to a charged one.
fn register_higher_order(env: &mut Environment<'_>, budget: &Arc<Budget>) {
    type Args = Rest<ValueOrKwargs>;
    type Name<'a> = Option<Cow<'a, str>>;
    macro_rules! charged_filter {
        ($name:ident($($arg:ident: $type:ty),*)) => {
            let budget = budget.clone();
            let filter = move |state: &mut State<'_, '_>, value: Value, $($arg: $type),*| {
                budget.spend_value(&value)?;
                charged(&budget, Value::from(filters::$name(state, value, $($arg),*)?))
            };
            env.add_filter(stringify!($name), filter);
        };
    }
    charged_filter!(map(args: Args));
    charged_filter!(select(test: Name<'_>, args: Args));
    charged_filter!(reject(test: Name<'_>, args: Args));
    charged_filter!(selectattr(attr: Cow<'_, str>, test: Name<'_>, args: Args));
    charged_filter!(rejectattr(attr: Cow<'_, str>, test: Name<'_>, args: Args));
}

fn charged(budget: &Budget, result: Value) -> Result<Value, Error> {
    budget.spend_value(&result)?;
    Ok(result)
}

/// An upper bound of how many bytes larger the result is than the arguments.
fn growth(filter: &str, args: &[Value]) -> Result<u64, Error> {
    let text = |index: usize| args.get(index).and_then(Value::as_str).unwrap_or_default();
    let count = |index: usize| args.get(index).and_then(Value::as_usize).unwrap_or(0) as u64;
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
        // The last row is padded.
        "batch" | "slice" => count(1).saturating_mul(16),
        "tojson" => indented(args),
        "format" => {
            check_width(text(0))?;
            1_000 * (1 + text(0).len() as u64)
        }
        "round" if count(1) > 400 => {
            return Err(Error::new(ErrorKind::InvalidOperation, "`round` to at most 400 digits"));
        }
        _ => 0,
    })
}

/// The `width` of `indent`, if it is a keyword argument.
fn width(args: &[Value]) -> u64 {
    let named = args.last().and_then(|kwargs| kwargs.get_attr("width").ok());
    named.and_then(|width| width.as_usize()).unwrap_or(0) as u64
}

/// `tojson(indent=N)`: every value of the tree may get its own line, indented by its depth.
fn indented(args: &[Value]) -> u64 {
    let positional = args.get(1).and_then(Value::as_usize);
    let named = args.last().and_then(|kwargs| kwargs.get_attr("indent").ok());
    let spaces = positional.or_else(|| named.and_then(|n| n.as_usize())).unwrap_or(0) as u64;
    let values = args.first().map_or(0, |value| values_in(value, 0));
    values.saturating_mul(spaces.saturating_mul(64))
}

/// The number of values in a tree. Charging the value has checked its depth already.
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

/// Rejects `%99999999d` and widths that come as arguments.
fn check_width(format: &str) -> Result<(), Error> {
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
