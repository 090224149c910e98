//! Templates, run so that a hostile one costs no more than its limits.
//!
//! The engine counts instructions and refuses long ranges, but not what one instruction builds:
//! `x ~ x` doubles a string, `[x, x]` a tree, and thirty of either fill the memory. So a template is
//! taken apart and written anew ([`harden`]) with every operation that can grow a value, or that
//! takes longer the larger its operands are, as a call of a function that pays for it from one
//! [`Budget`] per run. Filters and tests pay, too; output pays when it is written.

mod budget;
mod filters;
mod harden;
mod operators;
mod sandbox;

pub(crate) use budget::Budget;
pub(crate) use harden::harden;
pub(crate) use sandbox::Sandbox;
