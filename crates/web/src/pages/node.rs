//! `/node`: one node as it was written, and what it hangs together with.

use kenning_knowledge::dependencies::{DependenciesRequest, Dependency, Direction, MAX_DEPTH};
use kenning_knowledge::{NodeRef, Snapshot};
use maud::{Markup, html};

use super::layout::{Tab, badge, node, table};
use super::text::text;
use super::visit::Visit;
use super::{Page, PageError};
use kenning_app::Services;

pub(super) fn view(services: &Services, visit: &Visit) -> Result<Page, PageError> {
    let snapshot = services.library.snapshot();
    let shown = snapshot.resolve(visit.fields.text("id"))?;
    let body = html! {
        p class="crumbs" {
            @for above in ancestors(shown) { (node(above.id(), above.title())) " › " }
        }
        h1 { (text(shown.title())) }
        p { (badge(shown.kind())) " " (badge(shown.status())) " "
            code { (text(&shown.path())) } " · " (shown.token_count()) " tokens" }
        (metadata(shown))
        pre class="source" { (text(&shown.body())) }
        @if shown.children().len() > 0 {
            h2 { "Below" }
            ul { @for child in shown.children() { li { (node(child.id(), child.title())) } } }
        }
        (dependencies(&snapshot, shown)?)
    };
    Ok(Page { title: shown.title().to_owned(), tab: Some(Tab::Map), body })
}

fn ancestors(node: NodeRef<'_>) -> Vec<NodeRef<'_>> {
    let mut above: Vec<_> = std::iter::successors(node.parent(), |node| node.parent()).collect();
    above.reverse();
    above
}

fn metadata(node: NodeRef<'_>) -> Markup {
    let metadata = node.section().metadata.as_map();
    html! {
        @if !metadata.is_empty() {
            dl class="facts" {
                @for (name, value) in metadata {
                    div { dt { (text(name)) } dd { (text(&plain(value))) } }
                }
            }
        }
    }
}

fn plain(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn dependencies(snapshot: &Snapshot, of: NodeRef<'_>) -> Result<Markup, PageError> {
    let (node_id, direction) = (of.id().to_owned(), Direction::Both);
    let found =
        snapshot.dependencies(&DependenciesRequest { node_id, direction, depth: MAX_DEPTH })?;
    let (up, down) = (found.upstream.unwrap_or_default(), found.downstream.unwrap_or_default());
    Ok(html! {
        @if !up.is_empty() { h2 { "Waits for" } (list("Waits for", &up)) }
        @if !down.is_empty() { h2 { "Is waited for by" } (list("Is waited for by", &down)) }
        @if !found.unresolved.is_empty() {
            h2 { "Leads nowhere" }
            ul { @for one in &found.unresolved {
                li { code { (text(&one.target)) } ", required by " code { (text(&one.required_by)) } }
            } }
        }
        @for circle in &found.cycles {
            p class="notice bad" { "A circle: " (text(&circle.join(" → "))) }
        }
    })
}

fn list(name: &str, all: &[Dependency]) -> Markup {
    table(
        name,
        html! {
            table {
                thead { tr { th { "Node" } th { "Kind" } th { "Status" } th class="n" { "Steps" } } }
                tbody {
                    @for one in all {
                        tr {
                            td { (node(&one.id, &one.title)) }
                            td { (badge(&one.kind)) }
                            td { (badge(&one.status)) }
                            td class="n" { (one.depth) }
                        }
                    }
                }
            }
        },
    )
}
