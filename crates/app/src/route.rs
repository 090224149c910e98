//! Where an operation is reached over HTTP.

use http::{Method, StatusCode};

/// The start of every path.
const PREFIX: &str = "/api/v1";

/// An HTTP route of an operation, as REST and its `OpenAPI` document show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    pub method: Method,
    /// With `{name}` where an argument stands in it.
    pub path: String,
    pub group: &'static str,
    /// One line for people.
    pub summary: &'static str,
    pub success: StatusCode,
    /// Whether answers carry the revision they are about, as `ETag`.
    pub has_revision: bool,
    /// Whether a caller can limit its change to the revision it has seen, by `If-Match`.
    pub is_conditional: bool,
    /// Statuses besides those of the operation's errors.
    pub other_statuses: &'static [u16],
}

impl Route {
    pub(crate) fn new(
        method: Method,
        path: &str,
        group: &'static str,
        summary: &'static str,
    ) -> Self {
        Self {
            method,
            path: format!("{PREFIX}{path}"),
            group,
            summary,
            success: StatusCode::OK,
            has_revision: false,
            is_conditional: false,
            other_statuses: &[],
        }
    }

    /// Whether arguments that are not in the path come in a body.
    pub fn has_body(&self) -> bool {
        self.method == Method::POST || self.method == Method::PATCH
    }

    pub fn in_path(&self, argument: &str) -> bool {
        self.path.contains(&format!("{{{argument}}}"))
    }
}
