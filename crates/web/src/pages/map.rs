//! `/map`: a diagram of the files and their dependencies, which the script redraws when files change.
//!
//! A diagram of very many files is unreadable: beyond [`MAX_CELLS`] files it shows folders instead,
//! and each folder links to a map of its own.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::{MethodRouter, get};
use kenning_knowledge::{NodeRef, Snapshot};
use maud::{Markup, html};
use serde_json::json;

use super::form::link;
use super::layout::{Tab, empty, scroll};
use super::text::text;
use super::usage::shortened;
use super::visit::Visit;
use super::{Page, PageError, PageState, problem_page};
use kenning_app::{AppState, Services, Workload};

/// Files, or folders, in one diagram.
const MAX_CELLS: usize = 200;
/// Dependencies that are listed below the diagram.
const MAX_LISTED: usize = 100;
/// Width and height; this and all other lengths are in SVG units.
const CELL: (usize, usize) = (228, 40);
const GAP: usize = 14;
const GROUP_HEADER: usize = 30;
const WIDTH: usize = 1150;
/// Columns of cells in one group.
const MAX_COLUMNS: usize = 4;

pub(super) fn view(services: &Services, visit: &Visit) -> Result<Page, PageError> {
    let snapshot = services.library.snapshot();
    let diagram = Diagram::new(&snapshot, visit.fields.get("folder"))?;
    let next = html! { "Add a Markdown file to a knowledge base; it appears here automatically." };
    let body = html! {
        h1 { "Map" }
        p class="lead" { "Files and their dependencies. An arrow leads from a file to one that it depends on. "
            span data-live-note { "Reload the page to see changes." } }
        @if let Some(folder) = &diagram.folder {
            p class="crumbs below" { a href="/map" { "All" } " › " code { (text(folder)) } }
        }
        div id="live" data-live="/map/version" data-version=(fingerprint(&snapshot)) {
            @if snapshot.file_count() == 0 { (empty("No files yet.", next)) } @else {
                @if let Some(hint) = diagram.hint() { p class="hint" { (hint) } }
                (scroll("Map of the files", svg(&Layout::new(&diagram), &diagram.edges)))
                (list(&diagram))
            }
        }
    };
    Ok(Page::new("Map", Tab::Map, body))
}

/// The fingerprint, which an open page polls to notice that it is outdated.
pub(super) fn version(state: &Arc<PageState>) -> MethodRouter {
    let state = state.clone();
    get(move || async move {
        let work = |app: &AppState| fingerprint(&app.services.library.snapshot());
        match state.app.work(Workload::Local, work).await {
            Ok(version) => {
                let uncached = [(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))];
                (uncached, axum::Json(json!({ "version": version }))).into_response()
            }
            Err(refused) => problem_page(refused.into()),
        }
    })
}

/// Changes whenever a file is added, changed or removed.
fn fingerprint(snapshot: &Snapshot) -> String {
    let mut hash = blake3::Hasher::new();
    for root in snapshot.roots() {
        hash.update(root.base().name().as_bytes()).update(&[0]);
        hash.update(root.document().path.as_str().as_bytes()).update(&[0]);
        hash.update(root.document().hash.as_bytes());
    }
    hash.finalize().to_hex()[..16].to_owned()
}

/// A file, or a folder of files.
struct Cell {
    title: String,
    subtitle: String,
    class: &'static str,
    address: String,
    /// The script compares path and hash of the old and the new map to find the files that changed.
    path: String,
    hash: String,
}

/// Pairs of keys, the first of which depends on the second, with the number of dependencies.
type Edges = BTreeMap<(String, String), usize>;

/// Cells by key, in groups by name.
type Groups = BTreeMap<String, BTreeMap<String, Cell>>;

struct Diagram {
    groups: Groups,
    edges: Edges,
    /// The folder that this is the map of, if it is not the map of everything.
    folder: Option<String>,
    /// Whether cells are folders.
    of_folders: bool,
    /// How many cells there are, including those that are left out.
    total: usize,
}

impl Diagram {
    fn new(snapshot: &Snapshot, folder: Option<&str>) -> Result<Self, PageError> {
        let mut roots: Vec<NodeRef<'_>> = snapshot.roots().collect();
        let Some(folder) = folder else {
            return Ok(if roots.len() > MAX_CELLS {
                Self::folders(snapshot)
            } else {
                Self::files(snapshot, &roots)
            });
        };
        roots.retain(|&root| folder_of(root) == folder);
        if roots.is_empty() {
            let message = format!("there is no folder `{folder}`");
            return Err(PageError::new(StatusCode::NOT_FOUND, message)
                .hint("open the map without a folder to see those there are"));
        }
        Ok(Self { folder: Some(folder.to_owned()), ..Self::files(snapshot, &roots) })
    }

    fn files(snapshot: &Snapshot, roots: &[NodeRef<'_>]) -> Self {
        let mut groups = Groups::new();
        for root in roots.iter().take(MAX_CELLS) {
            groups.entry(folder_of(*root)).or_default().insert(path_of(*root), file(*root));
        }
        let edges = edges(snapshot, path_of);
        Self { groups, edges, folder: None, of_folders: false, total: roots.len() }
    }

    /// A group for each base, with the folders that have the most files.
    fn folders(snapshot: &Snapshot) -> Self {
        let mut folders: BTreeMap<String, Vec<NodeRef<'_>>> = BTreeMap::new();
        for root in snapshot.roots() {
            folders.entry(folder_of(root)).or_default().push(root);
        }
        let total = folders.len();
        let mut ranked: Vec<_> = folders.into_iter().collect();
        ranked.sort_by(|a, b| b.1.len().cmp(&a.1.len()).then_with(|| a.0.cmp(&b.0)));
        let mut groups = Groups::new();
        for (name, roots) in ranked.into_iter().take(MAX_CELLS) {
            let base = roots[0].base().name().to_owned();
            groups.entry(base).or_default().insert(name.clone(), folder(&name, &roots));
        }
        let edges = edges(snapshot, folder_of);
        Self { groups, edges, folder: None, of_folders: true, total }
    }

    /// Explains what the diagram leaves out.
    fn hint(&self) -> Option<String> {
        let cells: usize = self.groups.values().map(BTreeMap::len).sum();
        let total = self.total;
        match (self.of_folders, cells < total) {
            (true, false) => Some(format!(
                "There are more than {MAX_CELLS} files, so the map shows folders. Open one to see its files."
            )),
            (true, true) => Some(format!(
                "There are more than {MAX_CELLS} files, so the map shows folders: the {cells} of \
                 {total} that have the most files."
            )),
            (false, true) => Some(format!("The first {cells} of {total} files.")),
            (false, false) => None,
        }
    }

    fn cell(&self, key: &str) -> Option<&Cell> {
        self.groups.values().find_map(|cells| cells.get(key))
    }
}

/// The dependencies between cells; `key` maps the root of a file to the key of its cell.
fn edges(snapshot: &Snapshot, key: fn(NodeRef<'_>) -> String) -> Edges {
    let mut edges = Edges::new();
    for (node, dependency) in snapshot.dependency_edges() {
        let (from, to) = (key(node.root()), key(dependency.root()));
        if from != to {
            *edges.entry((from, to)).or_default() += 1;
        }
    }
    edges
}

fn folder_of(root: NodeRef<'_>) -> String {
    let path = root.document().path.as_str();
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    format!("{}/{folder}", root.base().name())
}

fn path_of(root: NodeRef<'_>) -> String {
    format!("{}/{}", root.base().name(), root.document().path)
}

fn file(root: NodeRef<'_>) -> Cell {
    Cell {
        title: root.title().to_owned(),
        subtitle: format!("{} · {} nodes", root.kind(), root.document().sections.len()),
        class: kind_class(root.kind()),
        address: link("/node", &[("id", root.id())]),
        path: path_of(root),
        hash: root.document().hash.to_hex()[..16].to_owned(),
    }
}

fn folder(name: &str, roots: &[NodeRef<'_>]) -> Cell {
    let nodes: usize = roots.iter().map(|root| root.document().sections.len()).sum();
    let mut hash = blake3::Hasher::new();
    for root in roots {
        hash.update(root.document().hash.as_bytes());
    }
    let below = name.split_once('/').map_or(name, |(_, below)| below);
    Cell {
        title: if below.is_empty() { "." } else { below }.to_owned(),
        subtitle: format!("{} files · {nodes} nodes", roots.len()),
        class: "kind-folder",
        address: link("/map", &[("folder", name)]),
        path: name.to_owned(),
        hash: hash.finalize().to_hex()[..16].to_owned(),
    }
}

/// Kinds without a colour of their own share one class.
fn kind_class(kind: &str) -> &'static str {
    match kind {
        "guideline" => "kind-guideline",
        "protocol" => "kind-protocol",
        "plan" => "kind-plan",
        "task" => "kind-task",
        "agent_skill" => "kind-agent_skill",
        _ => "kind-other",
    }
}

/// The positions of groups and cells.
struct Layout<'a> {
    groups: Vec<Group<'a>>,
    cells: Vec<(&'a Cell, usize, usize)>,
    positions: HashMap<&'a str, (usize, usize)>,
    height: usize,
}

struct Group<'a> {
    name: &'a str,
    x: usize,
    y: usize,
    width: usize,
    height: usize,
}

impl<'a> Layout<'a> {
    /// Places groups side by side, in rows.
    fn new(diagram: &'a Diagram) -> Self {
        let mut layout =
            Self { groups: Vec::new(), cells: Vec::new(), positions: HashMap::new(), height: 0 };
        let (mut x, mut y, mut tallest) = (0, 0, 0);
        for (name, cells) in &diagram.groups {
            let columns = cells.len().isqrt().clamp(2, MAX_COLUMNS).min(cells.len());
            let width = columns * (CELL.0 + GAP) + GAP;
            let height = GROUP_HEADER + cells.len().div_ceil(columns) * (CELL.1 + GAP) + GAP;
            if x > 0 && x + width > WIDTH {
                (x, y, tallest) = (0, y + tallest + GAP, 0);
            }
            for (index, (key, cell)) in cells.iter().enumerate() {
                let left = x + GAP + index % columns * (CELL.0 + GAP);
                let top = y + GROUP_HEADER + index / columns * (CELL.1 + GAP);
                layout.cells.push((cell, left, top));
                layout.positions.insert(key, (left, top));
            }
            layout.groups.push(Group { name, x, y, width, height });
            tallest = tallest.max(height);
            layout.height = layout.height.max(y + height);
            x += width + GAP;
        }
        layout
    }
}

fn svg(layout: &Layout<'_>, edges: &Edges) -> Markup {
    let (width, height) = (WIDTH + 2, layout.height + 2);
    let position = |key: &String| layout.positions.get(key.as_str()).copied();
    html! {
        svg class="map" width=(width) height=(height) viewBox={ "-1 -1 " (width) " " (height) }
            role="group" aria-label="Files by folder, with their dependencies" {
            defs {
                marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7"
                    orient="auto-start-reverse" { path d="M0 0 8 4 0 8z" {} }
            }
            @for group in &layout.groups {
                rect class="folder" x=(group.x) y=(group.y) width=(group.width)
                    height=(group.height) rx="10" {}
                text class="folder" x=(group.x + GAP) y=(group.y + 20) { (text(group.name)) }
            }
            @for (cell, x, y) in &layout.cells { (svg_cell(cell, *x, *y)) }
            @for (from, to) in edges.keys() {
                @if let (Some(from), Some(to)) = (position(from), position(to)) {
                    path class="edge" d=(curve(from, to)) marker-end="url(#arrow)" {}
                }
            }
        }
    }
}

fn svg_cell(cell: &Cell, x: usize, y: usize) -> Markup {
    html! {
        a class="file" href=(cell.address) data-path=(text(&cell.path)) data-hash=(cell.hash) {
            title { (text(&cell.title)) ", " (text(&cell.subtitle)) }
            rect class=(cell.class) x=(x) y=(y) width=(CELL.0) height=(CELL.1) rx="6" {}
            text x=(x + 10) y=(y + 17) { (text(&shortened(&cell.title))) }
            text class="small" x=(x + 10) y=(y + 32) { (text(&cell.subtitle)) }
        }
    }
}

/// The path of an arrow, from the edge of one cell to the nearest edge of the other.
fn curve((x1, y1): (usize, usize), (x2, y2): (usize, usize)) -> String {
    let (width, height) = CELL;
    let middle = |x: usize| x + width / 2;
    if y1 == y2 {
        // In the same row the arrow passes below the cells in between.
        let (bottom, low) = (y1 + height, y1 + height + 2 * GAP);
        let (from, to) = (middle(x1), middle(x2));
        return format!("M{from} {bottom} C{from} {low} {to} {low} {to} {bottom}");
    }
    let (start, end) = if y1 < y2 { (y1 + height, y2) } else { (y1, y2 + height) };
    let (from, to, half) = (middle(x1), middle(x2), usize::midpoint(start, end));
    format!("M{from} {start} C{from} {half} {to} {half} {to} {end}")
}

/// The arrows as a list, for readers who cannot see the diagram.
fn list(diagram: &Diagram) -> Markup {
    let cell_link = |cell: &Cell| html! { a href=(cell.address) { (text(&cell.title)) } };
    let listed = |((from, to), count): (&(String, String), &usize)| {
        Some((diagram.cell(from)?, diagram.cell(to)?, *count))
    };
    let edges: Vec<(&Cell, &Cell, usize)> = diagram.edges.iter().filter_map(listed).collect();
    html! {
        h2 { "Dependencies" }
        @if edges.is_empty() {
            p class="empty" { "No dependencies between files. A section declares one with "
                code { "blocked_by" } " in its metadata." }
        } @else {
            ul class="plain columns-list" {
                @for (from, to, count) in edges.iter().take(MAX_LISTED) {
                    li { (cell_link(from)) " depends on " (cell_link(to))
                        @if *count > 1 { " (" (count) " times)" } }
                }
            }
            @if edges.len() > MAX_LISTED {
                p class="hint" { "The first " (MAX_LISTED) " of " (edges.len()) "; the page of a node lists all of its own." }
            }
        }
    }
}
