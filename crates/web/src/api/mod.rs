//! What can be asked, each as one registration.

mod gaps;
mod registry;

use crate::operation::Operation;

/// All there is.
pub(crate) fn operations() -> Vec<Operation> {
    [registry::operations(), gaps::operations()].into_iter().flatten().collect()
}
