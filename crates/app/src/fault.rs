//! The error envelope: what a caller gets instead of an answer.

use http::StatusCode;
use kenning_sanitize::{sanitize, sanitize_value};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::call::Surface;

/// An error that callers should expect: the code that programs match on, and what it means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct CommonError {
    pub code: &'static str,
    pub message: &'static str,
}

pub const INVALID_ARGUMENT: CommonError = CommonError {
    code: "INVALID_ARGUMENT",
    message: "An argument is missing, unknown, of the wrong type or out of range",
};

/// Any operation may fail with it: the server as a whole is at capacity.
pub const UNAVAILABLE: CommonError = CommonError {
    code: "UNAVAILABLE",
    message: "Too many requests are waiting, or this one took too long",
};

/// Why an operation failed, in the one form that all surfaces send.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Fault {
    /// `false` where the contract has the field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub success: Option<bool>,
    pub error: &'static str,
    pub message: String,
    /// What the error is about, where the contract has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Box<Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// An error of a domain crate, as operations return it.
pub trait OperationError: Into<Fault> {
    /// The schema of all errors of this kind.
    type Body: JsonSchema;

    /// The arguments do not fit the request's schema. `argument` is `None` if no single one is at
    /// fault.
    fn malformed(argument: Option<&str>, problem: String, surface: Surface) -> Fault;
}

impl Fault {
    pub fn internal(message: impl Into<String>) -> Self {
        Self { error: "INTERNAL", message: message.into(), ..Self::default() }
    }

    fn hinted(code: &'static str, error: &dyn std::error::Error, hint: String) -> Self {
        if status(code).is_server_error() {
            tracing::error!(code, %error, "an operation failed");
        }
        Self { error: code, message: error.to_string(), hint: Some(hint), ..Self::default() }
    }

    /// The HTTP status that goes with the code.
    pub fn status(&self) -> StatusCode {
        status(self.error)
    }

    /// Errors repeat arguments and names that others wrote.
    pub(crate) fn sanitized(mut self) -> Self {
        self.message = sanitize(&self.message).into_owned();
        self.hint = self.hint.map(|hint| sanitize(&hint).into_owned());
        if let Some(details) = &mut self.details {
            sanitize_value(details);
        }
        self
    }
}

/// As JSON, the way callers see it.
impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| std::fmt::Error)?)
    }
}

pub(crate) fn status(code: &str) -> StatusCode {
    match code {
        "AMBIGUOUS_NODE"
        | "AGENT_EXISTS"
        | "DUPLICATE_CAPABILITY"
        | "INVALID_STATE"
        | "CONFIG_EXISTS"
        | "OUTPUT_CHANGED"
        | "CONTENT_REFERENCED" => StatusCode::CONFLICT,
        "PRECONDITION_FAILED" => StatusCode::PRECONDITION_FAILED,
        "LIMIT_EXCEEDED" => StatusCode::PAYLOAD_TOO_LARGE,
        "GENERATOR_UNAVAILABLE" | "SOURCE_FAILED" | "MODEL_FAILED" | "UNAVAILABLE" => {
            StatusCode::SERVICE_UNAVAILABLE
        }
        "INTERNAL" | "CATALOG_UNUSABLE" | "DATABASE_ERROR" | "STORAGE_ERROR" => {
            StatusCode::INTERNAL_SERVER_ERROR
        }
        _ if code.ends_with("_NOT_FOUND") => StatusCode::NOT_FOUND,
        _ => StatusCode::BAD_REQUEST,
    }
}

/// An error with a code, a message and a hint.
#[derive(Debug, JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
pub struct HintedError {
    /// A stable name for programs
    error: String,
    message: String,
    /// What to do about it
    hint: String,
}

/// For errors without a form of their own: the problem, and where the schema is.
fn hinted(argument: Option<&str>, problem: &str, surface: Surface) -> Fault {
    let argument = argument.or((surface == Surface::Rest).then_some(WHOLE_REQUEST));
    Fault {
        error: INVALID_ARGUMENT.code,
        message: argument
            .map_or_else(|| problem.to_owned(), |argument| format!("{argument}: {problem}")),
        hint: Some(surface.schema_hint().to_owned()),
        ..Fault::default()
    }
}

/// The argument that a flat error names when the request as a whole is at fault.
const WHOLE_REQUEST: &str = "request";

impl From<kenning_knowledge::Error> for Fault {
    fn from(error: kenning_knowledge::Error) -> Self {
        Self::hinted(error.code(), &error, error.hint())
    }
}

impl OperationError for kenning_knowledge::Error {
    type Body = HintedError;

    fn malformed(argument: Option<&str>, problem: String, surface: Surface) -> Fault {
        hinted(argument, &problem, surface)
    }
}

impl From<kenning_catalog::Error> for Fault {
    fn from(error: kenning_catalog::Error) -> Self {
        Self::hinted(error.code(), &error, error.hint())
    }
}

impl OperationError for kenning_catalog::Error {
    type Body = HintedError;

    fn malformed(argument: Option<&str>, problem: String, surface: Surface) -> Fault {
        hinted(argument, &problem, surface)
    }
}

impl From<kenning_registry::Error> for Fault {
    fn from(error: kenning_registry::Error) -> Self {
        if let kenning_registry::Error::Database(source) = &error {
            tracing::error!(%source, "a registry query failed");
        }
        Self {
            success: Some(false),
            error: error.code().as_str(),
            message: error.to_string(),
            details: Some(Box::new(error.details())),
            hint: error.hint().map(str::to_owned),
        }
    }
}

impl OperationError for kenning_registry::Error {
    type Body = kenning_registry::ErrorBody;

    fn malformed(argument: Option<&str>, problem: String, _: Surface) -> Fault {
        Self::invalid(argument.unwrap_or(WHOLE_REQUEST), problem).into()
    }
}

impl From<kenning_gaps::Error> for Fault {
    fn from(error: kenning_gaps::Error) -> Self {
        if error.code() == kenning_gaps::Code::DatabaseError {
            tracing::error!(error = ?error, "a gaps query failed");
        }
        let kenning_gaps::ErrorBody { success, error: code, message, details } = error.body();
        Self {
            success: Some(success),
            error: code.as_str(),
            message,
            details: Some(Box::new(details)),
            hint: error.hint().map(str::to_owned),
        }
    }
}

impl OperationError for kenning_gaps::Error {
    type Body = kenning_gaps::ErrorBody;

    fn malformed(argument: Option<&str>, problem: String, _: Surface) -> Fault {
        let argument = argument.unwrap_or(WHOLE_REQUEST).to_owned();
        Self::InvalidArgument { argument, problem }.into()
    }
}

impl From<kenning_compose::Error> for Fault {
    fn from(error: kenning_compose::Error) -> Self {
        if let kenning_compose::Error::Storage { what, source } = &error {
            tracing::error!(%source, what, "the compose workspace or its state failed");
        }
        Self {
            success: Some(false),
            error: error.code().as_str(),
            message: error.to_string(),
            details: Some(Box::new(error.details())),
            hint: error.hint(),
        }
    }
}

impl OperationError for kenning_compose::Error {
    type Body = kenning_compose::ErrorBody;

    fn malformed(argument: Option<&str>, problem: String, _: Surface) -> Fault {
        Self::invalid(argument.unwrap_or(WHOLE_REQUEST), problem).into()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use crate::Inventory;

    use super::*;

    /// Codes and statuses are a contract: programs match on them.
    #[test]
    fn every_error_keeps_its_status() {
        let inventory = Inventory::full();
        let errors = inventory.operations.iter().flat_map(|operation| operation.errors);
        let statuses: BTreeMap<&str, u16> = errors
            .chain([&UNAVAILABLE])
            .map(|error| (error.code, status(error.code).as_u16()))
            .collect();
        insta::assert_json_snapshot!(statuses);
    }
}
