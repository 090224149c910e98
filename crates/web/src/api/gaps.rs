//! What is missing, and what was proposed about it.

use axum::http::{Method, StatusCode};
use kenning_gaps::decide::{
    CloseGapRequest, GapResponse, MergeGapRequest, MuteGapRequest, ReopenGapRequest,
};
use kenning_gaps::list::{GapsRequest, GapsResponse};
use kenning_gaps::offers::{
    AcceptProposalRequest, AcceptedResponse, ProposalResponse, ProposalsRequest, ProposalsResponse,
    ProposeRequest, RejectProposalRequest, ShowProposalRequest,
};
use kenning_gaps::ports::PortError;
use kenning_gaps::reporting::{ReportRequest, ReportResponse};
use kenning_gaps::show::{ShowGapRequest, ShowGapResponse};
use kenning_gaps::{Code, Error, ErrorBody, Gaps, Proposal};

use crate::operation::{Answer, Call, Fault, Operation, Refusal};
use crate::site::{Rooms, now};

pub(super) fn operations() -> Vec<Operation> {
    let mut operations = vec![list(), report(), show(), close(), mute(), merge(), reopen()];
    for operation in &mut operations {
        operation.group = "Gaps";
    }
    let mut offers = vec![propose(), proposals(), proposal(), accept(), reject()];
    for operation in &mut offers {
        operation.group = "Proposals";
    }
    operations.append(&mut offers);
    operations
}

#[derive(Debug, thiserror::Error)]
#[error("there is no store to keep gaps in")]
struct NoStore;

impl Rooms {
    pub(crate) fn gaps(&self) -> Result<&Gaps, Error> {
        self.gaps.as_ref().ok_or_else(|| PortError::new(NoStore).into())
    }
}

fn list() -> Operation {
    fn run(rooms: &Rooms, call: &Call<GapsRequest>) -> Result<Answer<GapsResponse>, Error> {
        Ok(rooms.gaps()?.gaps(&call.request)?.into())
    }
    Operation {
        summary: "What agents asked for and could not get, what was asked for by name first",
        refusals: &[400, 500],
        ..Operation::new(Method::GET, "/api/v1/gaps", "list_gaps", run)
    }
}

fn report() -> Operation {
    fn run(rooms: &Rooms, call: &Call<ReportRequest>) -> Result<Answer<ReportResponse>, Error> {
        Ok(rooms.gaps()?.report(&call.request)?.into())
    }
    Operation {
        summary: "A report over a project and a window of time",
        refusals: &[400, 500],
        ..Operation::new(Method::GET, "/api/v1/gaps/report", "report_gaps", run)
    }
}

fn show() -> Operation {
    fn run(rooms: &Rooms, call: &Call<ShowGapRequest>) -> Result<Answer<ShowGapResponse>, Error> {
        Ok(rooms.gaps()?.show(&call.request)?.into())
    }
    Operation {
        summary: "One gap, and the sessions in which it was asked for",
        refusals: &[400, 404, 500],
        ..Operation::new(Method::GET, "/api/v1/gaps/{id}", "show_gap", run)
    }
}

fn close() -> Operation {
    fn run(rooms: &Rooms, call: &Call<CloseGapRequest>) -> Result<Answer<GapResponse>, Error> {
        Ok(rooms.gaps()?.close(&call.request, now())?.into())
    }
    decision("/api/v1/gaps/{id}/close", "close_gap", "Close a gap", run)
}

fn mute() -> Operation {
    fn run(rooms: &Rooms, call: &Call<MuteGapRequest>) -> Result<Answer<GapResponse>, Error> {
        Ok(rooms.gaps()?.mute(&call.request, now())?.into())
    }
    decision("/api/v1/gaps/{id}/mute", "mute_gap", "Hear no more of a gap", run)
}

fn merge() -> Operation {
    fn run(rooms: &Rooms, call: &Call<MergeGapRequest>) -> Result<Answer<GapResponse>, Error> {
        Ok(rooms.gaps()?.merge(&call.request, now())?.into())
    }
    decision("/api/v1/gaps/{id}/merge", "merge_gap", "Say that two gaps are one", run)
}

fn reopen() -> Operation {
    fn run(rooms: &Rooms, call: &Call<ReopenGapRequest>) -> Result<Answer<GapResponse>, Error> {
        Ok(rooms.gaps()?.reopen(&call.request, now())?.into())
    }
    decision("/api/v1/gaps/{id}/reopen", "reopen_gap", "Open a gap again", run)
}

/// What a person decides.
fn decision<Request, Response>(
    path: &'static str,
    name: &'static str,
    summary: &'static str,
    run: fn(&Rooms, &Call<Request>) -> Result<Answer<Response>, Error>,
) -> Operation
where
    Request: serde::de::DeserializeOwned + schemars::JsonSchema + 'static,
    Response: serde::Serialize + schemars::JsonSchema + 'static,
{
    let refusals = &[400, 404, 409, 500];
    Operation { summary, refusals, ..Operation::new(Method::POST, path, name, run) }
}

fn propose() -> Operation {
    fn run(rooms: &Rooms, call: &Call<ProposeRequest>) -> Result<Answer<ProposalResponse>, Error> {
        Ok(rooms.gaps()?.propose(&call.request, now())?.into())
    }
    Operation {
        summary: "Propose a Markdown file; no file is touched before a person accepts it",
        success: StatusCode::CREATED,
        refusals: &[400, 404, 500],
        ..Operation::new(Method::POST, "/api/v1/proposals", "propose_knowledge", run)
    }
}

fn proposals() -> Operation {
    fn run(
        rooms: &Rooms,
        call: &Call<ProposalsRequest>,
    ) -> Result<Answer<ProposalsResponse>, Error> {
        Ok(rooms.gaps()?.proposals(&call.request)?.into())
    }
    Operation {
        summary: "Proposals, the newest first",
        refusals: &[400, 500],
        ..Operation::new(Method::GET, "/api/v1/proposals", "list_proposals", run)
    }
}

fn proposal() -> Operation {
    fn run(rooms: &Rooms, call: &Call<ShowProposalRequest>) -> Result<Answer<Proposal>, Error> {
        Ok(rooms.gaps()?.proposal(&call.request)?.into())
    }
    Operation {
        summary: "One proposal, with its text",
        refusals: &[400, 404, 500],
        ..Operation::new(Method::GET, "/api/v1/proposals/{id}", "show_proposal", run)
    }
}

pub(crate) fn accept_proposal(
    rooms: &Rooms,
    request: &AcceptProposalRequest,
) -> Result<AcceptedResponse, Error> {
    rooms.gaps()?.accept(request, now(), &|file| {
        let added = rooms.library.add_file(None, &file.path, &file.markdown);
        added.map_err(|error| error.to_string())
    })
}

fn accept() -> Operation {
    fn run(
        rooms: &Rooms,
        call: &Call<AcceptProposalRequest>,
    ) -> Result<Answer<AcceptedResponse>, Error> {
        Ok(accept_proposal(rooms, &call.request)?.into())
    }
    let summary = "Write a proposed file into the first knowledge base";
    decision("/api/v1/proposals/{id}/accept", "accept_proposal", summary, run)
}

fn reject() -> Operation {
    fn run(
        rooms: &Rooms,
        call: &Call<RejectProposalRequest>,
    ) -> Result<Answer<ProposalResponse>, Error> {
        Ok(rooms.gaps()?.reject(&call.request, now())?.into())
    }
    let path = "/api/v1/proposals/{id}/reject";
    decision(path, "reject_proposal", "Turn a proposal down", run)
}

impl Fault for Error {
    type Body = ErrorBody;

    fn malformed(argument: &str, problem: String) -> Refusal {
        Self::InvalidArgument { argument: argument.to_owned(), problem }.refusal()
    }

    fn refusal(self) -> Refusal {
        if self.code() == Code::DatabaseError {
            tracing::error!(error = ?self, "the store of gaps failed");
        }
        let status = StatusCode::from_u16(self.http_status());
        Refusal {
            status: status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            body: serde_json::to_value(self.body()).unwrap_or_default(),
        }
    }
}
