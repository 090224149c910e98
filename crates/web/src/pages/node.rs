//! `/node`: the source of one node, and its dependencies.

use kenning_knowledge::dependencies::{DependenciesRequest, Dependency, Direction, MAX_DEPTH};
use kenning_knowledge::{NodeRef, Snapshot};
use maud::{Markup, html};
use serde_json::Value;

use super::layout::Column::{Number, Text};
use super::layout::{Tab, badge, node_link, table};
use super::text::text;
use super::visit::Visit;
use super::{Page, PageError};
use kenning_app::Services;

pub(super) fn view(services: &Services, visit: &Visit) -> Result<Page, PageError> {
    let snapshot = services.library.snapshot();
    let node = snapshot.resolve(visit.fields.text("id"))?;
    let body = html! {
        p class="crumbs" {
            @for ancestor in ancestors(node) { (node_link(ancestor.id(), ancestor.title())) " › " }
        }
        h1 { (text(node.title())) }
        p { (badge(node.kind())) " " (badge(node.status())) " "
            code { (text(&node.path())) } " · " (node.token_count()) " tokens" }
        (metadata(node))
        pre class="source" { (text(&node.body())) }
        @if node.children().len() > 0 {
            h2 { "Subsections" }
            ul { @for child in node.children() { li { (node_link(child.id(), child.title())) } } }
        }
        (dependencies(&snapshot, node)?)
    };
    Ok(Page::new(node.title(), Tab::Map, body))
}

fn ancestors(node: NodeRef<'_>) -> Vec<NodeRef<'_>> {
    let mut path: Vec<_> = std::iter::successors(node.parent(), |node| node.parent()).collect();
    path.reverse();
    path
}

fn metadata(node: NodeRef<'_>) -> Markup {
    let metadata = node.section().metadata.as_map();
    let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
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

fn dependencies(snapshot: &Snapshot, node: NodeRef<'_>) -> Result<Markup, PageError> {
    let (node_id, direction) = (node.id().to_owned(), Direction::Both);
    let found =
        snapshot.dependencies(&DependenciesRequest { node_id, direction, depth: MAX_DEPTH })?;
    Ok(html! {
        (list("Depends on", &found.upstream.unwrap_or_default()))
        (list("Required by", &found.downstream.unwrap_or_default()))
        @if !found.unresolved.is_empty() {
            h2 { "Unresolved dependencies" }
            ul { @for one in &found.unresolved {
                li { code { (text(&one.target)) } ", required by " code { (text(&one.required_by)) } }
            } }
        }
        @for cycle in &found.cycles {
            p class="notice bad" { "Dependency cycle: " (text(&cycle.join(" → "))) }
        }
    })
}

fn list(title: &str, dependencies: &[Dependency]) -> Markup {
    html! {
        @if !dependencies.is_empty() {
            h2 { (title) }
            (table(title, &[Text("Node"), Text("Kind"), Text("Status"), Number("Distance")], html! {
                @for dependency in dependencies {
                    tr {
                        td { (node_link(&dependency.id, &dependency.title)) }
                        td { (badge(&dependency.kind)) }
                        td { (badge(&dependency.status)) }
                        td class="n" { (dependency.depth) }
                    }
                }
            }))
        }
    }
}
