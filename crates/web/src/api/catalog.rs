//! What coding agents can do.

use axum::http::Method;
use chrono::Utc;
use kenning_catalog::Error;
use kenning_catalog::compare::{CompareRequest, CompareResponse};
use kenning_catalog::list::{ListRequest, ListResponse};
use kenning_catalog::lookup::{LookupRequest, LookupResponse};
use kenning_catalog::sources::{SourcesRequest, SourcesResponse};

use super::Hinted;
use crate::operation::{Answer, Call, Fault, Operation, Refusal};
use crate::site::Rooms;

pub(super) fn operations() -> Vec<Operation> {
    let mut operations = vec![lookup(), compare(), list(), sources()];
    for operation in &mut operations {
        operation.group = "Catalog";
    }
    operations
}

/// An argument is wrong, or names something that is not there.
enum Wrong {
    Room(Error),
    Malformed { argument: String, problem: String },
}

impl From<Error> for Wrong {
    fn from(error: Error) -> Self {
        Self::Room(error)
    }
}

fn lookup() -> Operation {
    fn run(rooms: &Rooms, call: &Call<LookupRequest>) -> Result<Answer<LookupResponse>, Wrong> {
        let found = rooms.catalog.lookup(&call.request, &|text| rooms.library.embed(text))?;
        if found.missed {
            rooms.note_miss("lookup_capability", &call.request.capability);
        }
        Ok(found.into())
    }
    Operation {
        summary: "Whether a coding agent has a capability, how to set it up, and the sources",
        refusals: &[400, 404],
        ..Operation::new(Method::GET, "/api/v1/lookup_capability", "lookup_capability", run)
    }
}

fn compare() -> Operation {
    fn run(rooms: &Rooms, call: &Call<CompareRequest>) -> Result<Answer<CompareResponse>, Wrong> {
        let found = rooms.catalog.compare(&call.request, &|text| rooms.library.embed(text))?;
        if found.missed {
            rooms.note_miss("compare_capability", &call.request.capability);
        }
        Ok(found.into())
    }
    Operation {
        summary: "How one capability differs across coding agents",
        refusals: &[400, 404],
        ..Operation::new(Method::GET, "/api/v1/compare_capability", "compare_capability", run)
    }
}

fn list() -> Operation {
    fn run(rooms: &Rooms, call: &Call<ListRequest>) -> Result<Answer<ListResponse>, Wrong> {
        Ok(rooms.catalog.list(&call.request)?.into())
    }
    Operation {
        summary: "The capabilities of a coding agent, or of a category: one of the two is needed",
        refusals: &[400, 404],
        ..Operation::new(Method::GET, "/api/v1/list_capabilities", "list_capabilities", run)
    }
}

fn sources() -> Operation {
    fn run(rooms: &Rooms, call: &Call<SourcesRequest>) -> Result<Answer<SourcesResponse>, Wrong> {
        let today = Utc::now().date_naive();
        let embed = |text: &str| rooms.library.embed(text);
        Ok(rooms.catalog.sources(&call.request, today, &embed)?.into())
    }
    Operation {
        summary: "Where it says so: the sources of what is claimed",
        refusals: &[400, 404],
        ..Operation::new(Method::GET, "/api/v1/get_sources", "get_sources", run)
    }
}

impl Fault for Wrong {
    type Body = Hinted;

    fn malformed(argument: &str, problem: String) -> Self {
        Self::Malformed { argument: argument.to_owned(), problem }
    }

    fn refusal(self) -> Refusal {
        match self {
            Self::Room(error) => Hinted::refusal(error.code(), error.to_string(), error.hint()),
            Self::Malformed { argument, problem } => Hinted::malformed(&argument, &problem),
        }
    }
}
