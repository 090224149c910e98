//! `/proposals/{id}`: a file that an agent wrote, for a person to decide about.

use kenning_gaps::offers::{AcceptProposalRequest, RejectProposalRequest, ShowProposalRequest};
use kenning_gaps::proposal::{Proposal, ProposalStatus};
use maud::{Markup, html};

use super::form::{encoded, link};
use super::layout::{Tab, badge, form_token, time};
use super::text::text;
use super::visit::Visit;
use super::{Page, PageError};
use kenning_app::Services;
use kenning_app::gaps::accept_proposal;

pub(super) fn view(services: &Services, visit: &Visit) -> Result<Page, PageError> {
    let proposal = services.gaps()?.proposal(&ShowProposalRequest { id: id(visit) })?;
    let body = html! {
        p class="crumbs" { a href="/gaps#proposals" { "Proposals" } " › " code { (text(&proposal.id)) } }
        h1 { (text(&proposal.title)) }
        p { (badge(proposal.status.name())) " for " code { (text(&proposal.target_path)) }
            ", proposed " (time(proposal.proposed_at))
            @if let Some(gap) = &proposal.gap_id {
                ", to close " a href={ "/gaps/" (encoded(gap)) } { (text(gap)) }
            } }
        @match &proposal.status {
            ProposalStatus::Pending => {},
            ProposalStatus::Accepted { at, by } =>
                p class="notice good" { "Accepted by " (text(by)) ", " (time(*at)) "." },
            ProposalStatus::Rejected { at, by, reason } =>
                p class="notice" { "Rejected by " (text(by)) ", " (time(*at)) ". " (text(reason)) },
        }
        @if visit.may_write && proposal.status == ProposalStatus::Pending {
            (decisions(visit, &proposal))
        }
        h2 { "The file, as it was written" }
        pre class="source" { (text(&proposal.markdown)) }
    };
    Ok(Page { title: proposal.title.clone(), tab: Some(Tab::Gaps), body })
}

fn decisions(visit: &Visit, proposal: &Proposal) -> Markup {
    let to = |verb: &str| format!("/proposals/{}/{verb}", encoded(&proposal.id));
    let fields = &visit.fields;
    html! {
        div class="decisions" {
            form method="post" action=(to("accept")) class="stack" {
                (form_token(visit))
                p class="hint" { "The file is written into the first knowledge base. Nothing is overwritten." }
                label for="accept-by" { "Who accepts it" }
                input id="accept-by" name="by" required maxlength="200" autocomplete="name" value=(fields.text("by"));
                button { "Accept" }
            }
            form method="post" action=(to("reject")) class="stack" {
                (form_token(visit))
                label for="reject-by" { "Who rejects it" }
                input id="reject-by" name="by" required maxlength="200" autocomplete="name" value=(fields.text("by"));
                label for="reason" { "Why" }
                input id="reason" name="reason" maxlength="2000" value=(fields.text("reason"));
                button { "Reject" }
            }
        }
    }
}

pub(super) fn accept(services: &Services, visit: &Visit) -> Result<String, PageError> {
    let by = visit.fields.text("by").to_owned();
    accept_proposal(services, &AcceptProposalRequest { id: id(visit), by })?;
    Ok(back(visit, "accepted"))
}

pub(super) fn reject(services: &Services, visit: &Visit) -> Result<String, PageError> {
    let (by, reason) = (visit.fields.text("by").to_owned(), visit.fields.text("reason").to_owned());
    services
        .gaps()?
        .reject(&RejectProposalRequest { id: id(visit), by, reason }, Services::now())?;
    Ok(back(visit, "rejected"))
}

fn id(visit: &Visit) -> String {
    visit.fields.text("id").to_owned()
}

fn back(visit: &Visit, done: &str) -> String {
    link(&format!("/proposals/{}", encoded(&id(visit))), &[("done", done)])
}
