//! The template engine's sandbox: a hostile template costs no more than its limits.
//!
//! The engine's fuel counts instructions and it rejects long ranges, but it does not count what one
//! instruction builds: `x ~ x` doubles a string, `[x, x]` doubles a tree, and thirty of either fill
//! the memory. [`harden`] therefore parses a template and writes it back with every operation that
//! can grow a value, or whose cost grows with its operands, as a call of a function that charges
//! one [`Budget`] per run. Filters, tests and output are charged, too.

mod budget;
mod filters;
mod harden;
mod operators;
mod sandbox;

pub(crate) use budget::Budget;
pub(crate) use harden::harden;
pub(crate) use sandbox::Sandbox;
