//! `/map`: the files and what waits for what, drawn; while files change, the script draws it anew.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::http::{HeaderValue, header};
use axum::response::IntoResponse;
use axum::routing::{MethodRouter, get};
use kenning_knowledge::dependencies::{DependenciesRequest, Direction};
use kenning_knowledge::{NodeRef, Snapshot};
use maud::{Markup, html};
use serde_json::json;

use super::form::link;
use super::layout::{Tab, empty, node, table};
use super::text::text;
use super::usage::shortened;
use super::visit::Visit;
use super::{House, Page, Sorry, refused};
use crate::site::Rooms;

/// Files that are drawn; beyond that a drawing says nothing.
const MOST: usize = 600;
const CELL: (usize, usize) = (228, 40);
const GAP: usize = 14;
const HEAD: usize = 30;
const WIDTH: usize = 1150;
/// Columns of files in one folder.
const COLUMNS: usize = 4;

pub(super) fn view(rooms: &Rooms, _: &Visit) -> Result<Page, Sorry> {
    let snapshot = rooms.library.snapshot();
    let edges = edges(&snapshot)?;
    let plan = Plan::of(&snapshot);
    let next = html! { "Write a Markdown file in a knowledge base; it appears here by itself." };
    let body = html! {
        h1 { "Map" }
        p class="hint" { "Files by folder; an arrow leads from what waits to what it waits for. "
            span data-live-note { "Load the page again to see changes." } }
        div id="live" data-live="/map/version" data-version=(fingerprint(&snapshot)) {
            @if snapshot.file_count() == 0 { (empty("There are no files yet.", next)) } @else {
                (table("Map of the files", drawing(&plan, &edges)))
                @if snapshot.file_count() > MOST {
                    p class="hint" { "The first " (MOST) " of " (snapshot.file_count()) " files." }
                }
                (list(&snapshot, &edges))
            }
        }
    };
    Ok(Page { title: "Map".to_owned(), tab: Some(Tab::Map), body })
}

/// Says when the map has changed.
pub(super) fn version(house: &Arc<House>) -> MethodRouter {
    let house = house.clone();
    get(move || async move {
        let work = |rooms: &Rooms| fingerprint(&rooms.library.snapshot());
        match house.desk.work("the map's version", work).await {
            Ok(version) => {
                let fresh = [(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))];
                (fresh, axum::Json(json!({ "version": version }))).into_response()
            }
            Err(problem) => refused(&problem),
        }
    })
}

/// Another one as soon as any file is.
fn fingerprint(snapshot: &Snapshot) -> String {
    let mut hash = blake3::Hasher::new();
    for root in snapshot.roots() {
        hash.update(root.base().name().as_bytes()).update(&[0]);
        hash.update(root.document().path.as_str().as_bytes()).update(&[0]);
        hash.update(root.document().hash.as_bytes());
    }
    hash.finalize().to_hex()[..16].to_owned()
}

/// Which file waits for which, by the ids of their roots, and through how many nodes.
type Edges = BTreeMap<(String, String), usize>;

fn edges(snapshot: &Snapshot) -> Result<Edges, Sorry> {
    let mut edges = Edges::new();
    for waiting in snapshot.nodes().filter(|node| !node.blocked_by().is_empty()) {
        let (node_id, direction) = (waiting.id().to_owned(), Direction::Upstream);
        let found = snapshot.dependencies(&DependenciesRequest { node_id, direction, depth: 1 })?;
        for target in found.upstream.unwrap_or_default() {
            let (from, to) = (waiting.root(), snapshot.resolve(&target.id)?.root());
            if from.id() != to.id() {
                *edges.entry((from.id().to_owned(), to.id().to_owned())).or_default() += 1;
            }
        }
    }
    Ok(edges)
}

/// Where everything is drawn.
struct Plan<'a> {
    folders: Vec<Folder>,
    files: Vec<(NodeRef<'a>, usize, usize)>,
    height: usize,
}

struct Folder {
    name: String,
    x: usize,
    y: usize,
    width: usize,
    height: usize,
}

impl<'a> Plan<'a> {
    /// Folders beside each other as long as there is room, then below.
    fn of(snapshot: &'a Snapshot) -> Self {
        let mut by_folder: BTreeMap<String, Vec<NodeRef<'a>>> = BTreeMap::new();
        for root in snapshot.roots().take(MOST) {
            by_folder.entry(folder_of(root)).or_default().push(root);
        }
        let mut plan = Self { folders: Vec::new(), files: Vec::new(), height: 0 };
        let (mut x, mut y, mut tallest) = (0, 0, 0);
        for (name, files) in by_folder {
            let columns = files.len().isqrt().clamp(2, COLUMNS).min(files.len());
            let width = columns * (CELL.0 + GAP) + GAP;
            let height = HEAD + files.len().div_ceil(columns) * (CELL.1 + GAP) + GAP;
            if x > 0 && x + width > WIDTH {
                (x, y, tallest) = (0, y + tallest + GAP, 0);
            }
            for (at, file) in files.into_iter().enumerate() {
                let left = x + GAP + at % columns * (CELL.0 + GAP);
                plan.files.push((file, left, y + HEAD + at / columns * (CELL.1 + GAP)));
            }
            plan.folders.push(Folder { name, x, y, width, height });
            tallest = tallest.max(height);
            plan.height = plan.height.max(y + height);
            x += width + GAP;
        }
        plan
    }

    fn place(&self, id: &str) -> Option<(usize, usize)> {
        self.files.iter().find(|(file, ..)| file.id() == id).map(|&(_, x, y)| (x, y))
    }
}

fn folder_of(root: NodeRef<'_>) -> String {
    let path = root.document().path.as_str();
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    format!("{}/{folder}", root.base().name())
}

fn drawing(plan: &Plan<'_>, edges: &Edges) -> Markup {
    let size = (WIDTH + 2, plan.height + 2);
    html! {
        svg class="map" width=(size.0) height=(size.1) viewBox={ "-1 -1 " (size.0) " " (size.1) }
            role="group" aria-label="Files by folder, with what waits for what" {
            defs {
                marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7"
                    orient="auto-start-reverse" { path d="M0 0 8 4 0 8z" {} }
            }
            @for folder in &plan.folders {
                rect class="folder" x=(folder.x) y=(folder.y) width=(folder.width)
                    height=(folder.height) rx="10" {}
                text class="folder" x=(folder.x + GAP) y=(folder.y + 20) { (text(&folder.name)) }
            }
            @for (file, x, y) in &plan.files { (cell(*file, *x, *y)) }
            @for (from, to) in edges.keys() {
                @if let (Some(from), Some(to)) = (plan.place(from), plan.place(to)) {
                    path class="edge" d=(curve(from, to)) marker-end="url(#arrow)" {}
                }
            }
        }
    }
}

fn cell(file: NodeRef<'_>, x: usize, y: usize) -> Markup {
    let count = file.document().sections.len();
    html! {
        a class="file" href=(link("/node", &[("id", file.id())])) data-path=(text(&folder_path(file)))
            data-hash=(&file.document().hash.to_hex()[..16]) {
            title { (text(file.title())) ", " (count) " nodes, " (text(file.kind())) }
            rect class={ "kind-" (kind_class(file.kind())) } x=(x) y=(y) width=(CELL.0) height=(CELL.1) rx="6" {}
            text x=(x + 10) y=(y + 17) { (text(&shortened(file.title()))) }
            text class="small" x=(x + 10) y=(y + 32) { (text(file.kind())) " · " (count) " nodes" }
        }
    }
}

fn folder_path(file: NodeRef<'_>) -> String {
    format!("{}/{}", file.base().name(), file.document().path)
}

/// The kinds that have a colour.
fn kind_class(kind: &str) -> &'static str {
    const KINDS: [&str; 5] = ["guideline", "protocol", "plan", "task", "agent_skill"];
    KINDS.into_iter().find(|known| *known == kind).unwrap_or("other")
}

/// From the edge of one file to the nearest edge of the other.
fn curve((x1, y1): (usize, usize), (x2, y2): (usize, usize)) -> String {
    let (width, height) = CELL;
    let middle = |x: usize| x + width / 2;
    if y1 == y2 {
        // Below the files between them.
        let (bottom, low) = (y1 + height, y1 + height + 2 * GAP);
        let (from, to) = (middle(x1), middle(x2));
        return format!("M{from} {bottom} C{from} {low} {to} {low} {to} {bottom}");
    }
    let (start, end) = if y1 < y2 { (y1 + height, y2) } else { (y1, y2 + height) };
    let (from, to, half) = (middle(x1), middle(x2), usize::midpoint(start, end));
    format!("M{from} {start} C{from} {half} {to} {half} {to} {end}")
}

/// The same in words.
fn list(snapshot: &Snapshot, edges: &Edges) -> Markup {
    let title = |id: &str| snapshot.resolve(id).map_or(id.to_owned(), |it| it.title().to_owned());
    let named = |id: &str| node(id, &title(id));
    html! {
        h2 { "What waits for what" }
        @if edges.is_empty() {
            p class="empty" { "No file waits for another. A section says what it waits for with "
                code { "blocked_by" } " in its metadata." }
        } @else {
            ul {
                @for ((from, to), count) in edges {
                    li { (named(from)) " waits for " (named(to))
                        @if *count > 1 { " (" (count) " times)" } }
                }
            }
        }
    }
}
