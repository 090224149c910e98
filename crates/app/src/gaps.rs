//! Operations of the gaps: the reserved tool by which agents ask for what is missing, the list and
//! the report, decisions of people, and proposals.

use http::Method;
use kenning_gaps::contract;
use kenning_gaps::decide::{CloseGapRequest, MergeGapRequest, MuteGapRequest, ReopenGapRequest};
use kenning_gaps::list::GapsRequest;
use kenning_gaps::offers::{
    AcceptProposalRequest, AcceptedResponse, ProposalsRequest, ProposeRequest,
    RejectProposalRequest, ShowProposalRequest,
};
use kenning_gaps::reporting::ReportRequest;
use kenning_gaps::show::ShowGapRequest;
use kenning_gaps::{Code, Error};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::call::Context;
use crate::fault::{CommonError, Fault, INVALID_ARGUMENT};
use crate::operation::{JsonObject, Operation};
use crate::services::Services;
use crate::toolset::Toolset;

const GAPS: &str = "Gaps";
const PROPOSALS: &str = "Proposals";

const GAP_NOT_FOUND: CommonError =
    CommonError { code: Code::GapNotFound.as_str(), message: "There is no gap of this id" };
const PROPOSAL_NOT_FOUND: CommonError = CommonError {
    code: Code::ProposalNotFound.as_str(),
    message: "There is no proposal of this id",
};
const INVALID_STATE: CommonError = CommonError {
    code: Code::InvalidState.as_str(),
    message: "The gap or proposal is in a state that does not allow it",
};
const DATABASE_ERROR: CommonError = CommonError {
    code: Code::DatabaseError.as_str(),
    message: "The store failed; nothing was proposed",
};
const DECISION_ERRORS: &[CommonError] =
    &[INVALID_ARGUMENT, GAP_NOT_FOUND, PROPOSAL_NOT_FOUND, INVALID_STATE, DATABASE_ERROR];

pub(crate) fn operations() -> Vec<Operation> {
    vec![
        request_capability(),
        propose_knowledge(),
        list_gaps(),
        report_gaps(),
        show_gap(),
        close_gap(),
        mute_gap(),
        merge_gap(),
        reopen_gap(),
        list_proposals(),
        show_proposal(),
        accept(),
        reject_proposal(),
    ]
}

/// Only acknowledges: the recorded call is the request.
fn request_capability() -> Operation {
    fn run(arguments: &JsonObject) -> Result<&'static str, Fault> {
        let wanted = arguments.get("capability").and_then(Value::as_str).unwrap_or_default();
        if wanted.trim().is_empty() {
            let message = "capability: say what is missing".to_owned();
            return Err(Fault { error: INVALID_ARGUMENT.code, message, ..Fault::default() });
        }
        Ok(contract::ACKNOWLEDGEMENT)
    }
    Operation::text(contract::TOOL_NAME, Toolset::Gaps, contract::tool_schema(), run)
        .tool("Request a capability", contract::TOOL_DESCRIPTION)
        .example(
            "Something that no tool here can do",
            json!({
                "capability": "export the report as a PDF",
                "context": "the user wants to send it to a customer"
            }),
        )
        .may_fail_with(&[INVALID_ARGUMENT])
}

fn propose_knowledge() -> Operation {
    let run = |services: &Services, request: &ProposeRequest, _: &mut Context| {
        services.gaps()?.propose(request, Services::now())
    };
    Operation::write("propose_knowledge", Toolset::GapsWrite, run)
        .tool(
            "Propose knowledge",
            "Proposes a Markdown file for the knowledge base, such as one that answers \
             what was missing. A person accepts or rejects it; no file is touched before.",
        )
        .route(
            Method::POST,
            "/proposals",
            PROPOSALS,
            "Propose a Markdown file; no file is touched before a person accepts it",
        )
        .creates()
        .example(
            "A guide that was missing",
            json!({
                "title": "Exporting reports",
                "markdown": "Reports are exported by `reports export --format pdf`.",
                "targetPath": "guides/EXPORTING.md"
            }),
        )
        .may_fail_with(&[INVALID_ARGUMENT, GAP_NOT_FOUND, DATABASE_ERROR])
}

fn list_gaps() -> Operation {
    let run = |services: &Services, request: &GapsRequest, _: &mut Context| {
        services.gaps()?.gaps(request)
    };
    Operation::read("list_gaps", Toolset::GapsWrite, run)
        .route(
            Method::GET,
            "/gaps",
            GAPS,
            "What agents asked for and could not get, what was asked for by name first",
        )
        .may_fail_with(&[INVALID_ARGUMENT, DATABASE_ERROR])
}

fn report_gaps() -> Operation {
    let run = |services: &Services, request: &ReportRequest, _: &mut Context| {
        services.gaps()?.report(request)
    };
    Operation::read("report_gaps", Toolset::GapsWrite, run)
        .route(Method::GET, "/gaps/report", GAPS, "A report over a project and a window of time")
        .may_fail_with(&[INVALID_ARGUMENT, DATABASE_ERROR])
}

fn show_gap() -> Operation {
    let run = |services: &Services, request: &ShowGapRequest, _: &mut Context| {
        services.gaps()?.show(request)
    };
    Operation::read("show_gap", Toolset::GapsWrite, run)
        .route(
            Method::GET,
            "/gaps/{id}",
            GAPS,
            "One gap, and the sessions in which it was asked for",
        )
        .may_fail_with(&[INVALID_ARGUMENT, GAP_NOT_FOUND, DATABASE_ERROR])
}

/// What a person decides about a gap or a proposal.
fn decision<Request, Response>(
    name: &'static str,
    path: &str,
    group: &'static str,
    summary: &'static str,
    run: impl Fn(&Services, &Request, &mut Context) -> Result<Response, Error> + Send + Sync + 'static,
) -> Operation
where
    Request: DeserializeOwned + JsonSchema + Send + 'static,
    Response: Serialize + JsonSchema + 'static,
{
    Operation::write(name, Toolset::GapsWrite, run)
        .route(Method::POST, path, group, summary)
        .may_fail_with(DECISION_ERRORS)
}

fn close_gap() -> Operation {
    let run = |services: &Services, request: &CloseGapRequest, _: &mut Context| {
        services.gaps()?.close(request, Services::now())
    };
    decision("close_gap", "/gaps/{id}/close", GAPS, "Close a gap", run)
}

fn mute_gap() -> Operation {
    let run = |services: &Services, request: &MuteGapRequest, _: &mut Context| {
        services.gaps()?.mute(request, Services::now())
    };
    decision(
        "mute_gap",
        "/gaps/{id}/mute",
        GAPS,
        "Mute a gap, so that it is no longer listed as open",
        run,
    )
}

fn merge_gap() -> Operation {
    let run = |services: &Services, request: &MergeGapRequest, _: &mut Context| {
        services.gaps()?.merge(request, Services::now())
    };
    decision("merge_gap", "/gaps/{id}/merge", GAPS, "Say that two gaps are one", run)
}

fn reopen_gap() -> Operation {
    let run = |services: &Services, request: &ReopenGapRequest, _: &mut Context| {
        services.gaps()?.reopen(request, Services::now())
    };
    decision("reopen_gap", "/gaps/{id}/reopen", GAPS, "Open a gap again", run)
}

fn list_proposals() -> Operation {
    let run = |services: &Services, request: &ProposalsRequest, _: &mut Context| {
        services.gaps()?.proposals(request)
    };
    Operation::read("list_proposals", Toolset::GapsWrite, run)
        .route(Method::GET, "/proposals", PROPOSALS, "Proposals, the newest first")
        .may_fail_with(&[INVALID_ARGUMENT, DATABASE_ERROR])
}

fn show_proposal() -> Operation {
    let run = |services: &Services, request: &ShowProposalRequest, _: &mut Context| {
        services.gaps()?.proposal(request)
    };
    Operation::read("show_proposal", Toolset::GapsWrite, run)
        .route(Method::GET, "/proposals/{id}", PROPOSALS, "One proposal, with its text")
        .may_fail_with(&[INVALID_ARGUMENT, PROPOSAL_NOT_FOUND, DATABASE_ERROR])
}

/// Writes the proposed file into the first knowledge base.
pub fn accept_proposal(
    services: &Services,
    request: &AcceptProposalRequest,
) -> Result<AcceptedResponse, Error> {
    services.gaps()?.accept(request, Services::now(), &|file| {
        let added = services.library.add_file(None, &file.path, &file.markdown);
        added.map_err(|error| error.to_string())
    })
}

fn accept() -> Operation {
    let summary = "Write a proposed file into the first knowledge base";
    decision(
        "accept_proposal",
        "/proposals/{id}/accept",
        PROPOSALS,
        summary,
        |services, request, _| accept_proposal(services, request),
    )
}

fn reject_proposal() -> Operation {
    let run = |services: &Services, request: &RejectProposalRequest, _: &mut Context| {
        services.gaps()?.reject(request, Services::now())
    };
    let path = "/proposals/{id}/reject";
    decision("reject_proposal", path, PROPOSALS, "Turn a proposal down", run)
}
