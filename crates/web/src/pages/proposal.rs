//! `/proposals/{id}`: a file that an agent proposed, for a person to accept or reject.

use kenning_gaps::offers::{AcceptProposalRequest, RejectProposalRequest, ShowProposalRequest};
use kenning_gaps::proposal::{Proposal, ProposalStatus};
use maud::{Markup, html};

use super::form::{encoded, link};
use super::layout::{Tab, badge, name_field, note_field, post_form, time};
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
        h2 { "Proposed file" }
        pre class="source" { (text(&proposal.markdown)) }
    };
    Ok(Page::new(&proposal.title, Tab::Gaps, body))
}

fn decisions(visit: &Visit, proposal: &Proposal) -> Markup {
    let form = |verb: &str, content: Markup| {
        post_form(visit, &format!("/proposals/{}/{verb}", encoded(&proposal.id)), content)
    };
    html! {
        div class="decisions" {
            (form("accept", html! {
                p class="hint" { "Writes the file to the first knowledge base. Never overwrites a file." }
                (name_field(visit, "accept-by"))
                button { "Accept" }
            }))
            (form("reject", html! {
                (name_field(visit, "reject-by"))
                (note_field(visit, "reason", "Reason (optional)"))
                button { "Reject" }
            }))
        }
    }
}

pub(super) fn accept(services: &Services, visit: &Visit) -> Result<String, PageError> {
    let by = visit.fields.text("by").to_owned();
    accept_proposal(services, &AcceptProposalRequest { id: id(visit), by })?;
    Ok(redirect(visit, "accepted"))
}

pub(super) fn reject(services: &Services, visit: &Visit) -> Result<String, PageError> {
    let (by, reason) = (visit.fields.text("by").to_owned(), visit.fields.text("reason").to_owned());
    services
        .gaps()?
        .reject(&RejectProposalRequest { id: id(visit), by, reason }, Services::now())?;
    Ok(redirect(visit, "rejected"))
}

fn id(visit: &Visit) -> String {
    visit.fields.text("id").to_owned()
}

fn redirect(visit: &Visit, done: &str) -> String {
    link(&format!("/proposals/{}", encoded(&id(visit))), &[("done", done)])
}
