//! What is known, and what of it is used.

use axum::http::Method;
use kenning_knowledge::Error;
use kenning_knowledge::dependencies::{DependenciesRequest, DependenciesResponse};
use kenning_knowledge::discover::{DiscoverRequest, DiscoverResponse};
use kenning_knowledge::list::{ListRequest, ListResponse};
use kenning_knowledge::retrieve::{RetrieveRequest, RetrieveResponse};
use kenning_knowledge::search::{SearchRequest, SearchResponse};
use kenning_knowledge::usage::{Usage, UsageError, UsageRequest, UsageResponse};

use super::Hinted;
use crate::operation::{Answer, Call, Fault, Operation, Refusal};
use crate::site::{Rooms, now};

pub(super) fn operations() -> Vec<Operation> {
    let mut operations = vec![discover(), search(), retrieve(), list(), dependencies(), usage()];
    for operation in &mut operations {
        operation.group = "Knowledge";
    }
    operations
}

fn discover() -> Operation {
    fn run(rooms: &Rooms, call: &Call<DiscoverRequest>) -> Result<Answer<DiscoverResponse>, Error> {
        let found = rooms.library.snapshot().discover(&call.request, &rooms.discovery)?;
        if found.total_available == 0 {
            rooms.note_miss("discover_context", &call.request.task_description);
        }
        rooms.note_usage(&Usage::discovered(&found, now()));
        Ok(found.into())
    }
    Operation {
        summary: "What should be read before a task is begun, best first",
        refusals: &[400, 500],
        ..Operation::new(Method::GET, "/api/v1/discover_context", "discover_context", run)
    }
}

fn search() -> Operation {
    fn run(rooms: &Rooms, call: &Call<SearchRequest>) -> Result<Answer<SearchResponse>, Error> {
        let found = rooms.library.snapshot().search(&call.request)?;
        if found.results.is_empty() {
            rooms.note_miss("search_knowledge", &call.request.query);
        }
        rooms.note_usage(&Usage::searched(&found, now()));
        Ok(found.into())
    }
    Operation {
        summary: "Nodes by their words, their meaning, or both",
        refusals: &[400, 404, 409, 500],
        ..Operation::new(Method::GET, "/api/v1/search_knowledge", "search_knowledge", run)
    }
}

fn retrieve() -> Operation {
    fn run(rooms: &Rooms, call: &Call<RetrieveRequest>) -> Result<Answer<RetrieveResponse>, Error> {
        let read = rooms.library.snapshot().retrieve(&call.request)?;
        rooms.note_usage(&Usage::retrieved(&read, now()));
        Ok(read.into())
    }
    Operation {
        summary: "The full content of nodes",
        refusals: &[400],
        ..Operation::new(Method::GET, "/api/v1/retrieve_knowledge", "retrieve_knowledge", run)
    }
}

fn list() -> Operation {
    fn run(rooms: &Rooms, call: &Call<ListRequest>) -> Result<Answer<ListResponse>, Error> {
        Ok(rooms.library.snapshot().list(&call.request)?.into())
    }
    Operation {
        summary: "The files of all knowledge bases",
        refusals: &[400, 404],
        ..Operation::new(Method::GET, "/api/v1/list_knowledge_bases", "list_knowledge_bases", run)
    }
}

fn dependencies() -> Operation {
    fn run(
        rooms: &Rooms,
        call: &Call<DependenciesRequest>,
    ) -> Result<Answer<DependenciesResponse>, Error> {
        Ok(rooms.library.snapshot().dependencies(&call.request)?.into())
    }
    Operation {
        summary: "What a node waits for, and what waits for it",
        refusals: &[400, 404, 409],
        ..Operation::new(Method::GET, "/api/v1/get_dependencies", "get_dependencies", run)
    }
}

fn usage() -> Operation {
    fn run(rooms: &Rooms, call: &Call<UsageRequest>) -> Result<Answer<UsageResponse>, Uncounted> {
        let used = rooms.usage.as_ref().map(|log| log.used(&call.request.period()));
        let used = used.transpose().map_err(Uncounted::Counts)?.unwrap_or_default();
        Ok(rooms.library.snapshot().usage(&call.request, &used)?.into())
    }
    Operation {
        summary: "Which nodes are found and read, and which never are",
        refusals: &[400, 404, 500],
        ..Operation::new(Method::GET, "/api/v1/usage", "usage", run)
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

/// What is used cannot be said: the question is wrong, or nobody has counted.
enum Uncounted {
    Room(Error),
    Counts(UsageError),
}

impl From<Error> for Uncounted {
    fn from(error: Error) -> Self {
        Self::Room(error)
    }
}

impl Fault for Uncounted {
    type Body = Hinted;

    fn malformed(argument: &str, problem: String) -> Refusal {
        Hinted::malformed(argument, &problem)
    }

    fn refusal(self) -> Refusal {
        match self {
            Self::Room(error) => error.refusal(),
            Self::Counts(error) => {
                tracing::error!(%error, "the counts of what is used failed");
                let message = "what was used is not known".to_owned();
                Hinted::refusal("INTERNAL", message, "try again later".to_owned())
            }
        }
    }
}
