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

fn lookup() -> Operation {
    fn run(rooms: &Rooms, call: &Call<LookupRequest>) -> Result<Answer<LookupResponse>, Error> {
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
    fn run(rooms: &Rooms, call: &Call<CompareRequest>) -> Result<Answer<CompareResponse>, Error> {
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
    fn run(rooms: &Rooms, call: &Call<ListRequest>) -> Result<Answer<ListResponse>, Error> {
        Ok(rooms.catalog.list(&call.request)?.into())
    }
    Operation {
        summary: "The capabilities of a coding agent, or of a category: one of the two is needed",
        refusals: &[400, 404],
        ..Operation::new(Method::GET, "/api/v1/list_capabilities", "list_capabilities", run)
    }
}

fn sources() -> Operation {
    fn run(rooms: &Rooms, call: &Call<SourcesRequest>) -> Result<Answer<SourcesResponse>, Error> {
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

impl Fault for Error {
    type Body = Hinted;

    fn malformed(argument: &str, problem: String) -> Refusal {
        Hinted::malformed(argument, &problem)
    }

    fn refusal(self) -> Refusal {
        Hinted::refusal(self.code(), self.to_string(), self.hint())
    }
}
