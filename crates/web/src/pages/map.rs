//! `/map`: the files and what waits for what, drawn; while files change, the script draws it anew.
//!
//! A drawing of very many files says nothing: beyond [`MOST`] folders are drawn in their place,
//! each of which leads to a map of its own.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::{MethodRouter, get};
use kenning_knowledge::{NodeRef, Snapshot};
use maud::{Markup, html};
use serde_json::json;

use super::form::link;
use super::layout::{Tab, empty, table};
use super::text::text;
use super::usage::shortened;
use super::visit::Visit;
use super::{Page, PageError, PageState, problem_page};
use kenning_app::{AppState, Services, Workload};

/// Files, or folders, that one drawing has.
const MOST: usize = 200;
/// Arrows that are also listed in words.
const LISTED: usize = 100;
const CELL: (usize, usize) = (228, 40);
const GAP: usize = 14;
const HEAD: usize = 30;
const WIDTH: usize = 1150;
/// Columns of cells in one box.
const COLUMNS: usize = 4;

pub(super) fn view(services: &Services, visit: &Visit) -> Result<Page, PageError> {
    let snapshot = services.library.snapshot();
    let drawn = Drawn::of(&snapshot, visit.fields.get("folder"))?;
    let next = html! { "Write a Markdown file in a knowledge base; it appears here by itself." };
    let body = html! {
        h1 { "Map" }
        p class="lead" { "What there is, and what waits for what: an arrow leads from what waits to what it waits for. "
            span data-live-note { "Load the page again to see changes." } }
        @if let Some(folder) = &drawn.folder {
            p class="crumbs below" { a href="/map" { "All" } " › " code { (text(folder)) } }
        }
        div id="live" data-live="/map/version" data-version=(fingerprint(&snapshot)) {
            @if snapshot.file_count() == 0 { (empty("There are no files yet.", next)) } @else {
                @if let Some(rule) = drawn.rule() { p class="hint" { (rule) } }
                (table("Map of the files", drawing(&Plan::of(&drawn), &drawn.edges)))
                (list(&drawn))
            }
        }
    };
    Ok(Page { title: "Map".to_owned(), tab: Some(Tab::Map), body })
}

/// Changes with the map, so that an open page can tell that it is stale.
pub(super) fn version(state: &Arc<PageState>) -> MethodRouter {
    let state = state.clone();
    get(move || async move {
        let work = |app: &AppState| fingerprint(&app.services.library.snapshot());
        match state.app.work(Workload::Local, work).await {
            Ok(version) => {
                let fresh = [(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))];
                (fresh, axum::Json(json!({ "version": version }))).into_response()
            }
            Err(refused) => problem_page(&refused.into()),
        }
    })
}

/// Differs as soon as any file does.
fn fingerprint(snapshot: &Snapshot) -> String {
    let mut hash = blake3::Hasher::new();
    for root in snapshot.roots() {
        hash.update(root.base().name().as_bytes()).update(&[0]);
        hash.update(root.document().path.as_str().as_bytes()).update(&[0]);
        hash.update(root.document().hash.as_bytes());
    }
    hash.finalize().to_hex()[..16].to_owned()
}

/// What stands for a file, or for a folder of them.
struct Cell {
    title: String,
    /// The line below.
    small: String,
    class: &'static str,
    address: String,
    /// By which the script knows it again, and whether it is another one now.
    path: String,
    hash: String,
}

/// Which cell waits for which, by their keys, and through how many nodes.
type Edges = BTreeMap<(String, String), usize>;

/// What is in a drawing: boxes with cells in them, by key.
struct Drawn {
    boxes: BTreeMap<String, BTreeMap<String, Cell>>,
    edges: Edges,
    /// If only one is drawn.
    folder: Option<String>,
    /// Whether cells stand for folders.
    of_folders: bool,
    /// How many cells there would be.
    total: usize,
}

impl Drawn {
    fn of(snapshot: &Snapshot, folder: Option<&str>) -> Result<Self, PageError> {
        if let Some(wanted) = folder {
            let roots: Vec<_> =
                snapshot.roots().filter(|&root| folder_of(root) == wanted).collect();
            if roots.is_empty() {
                let message = format!("there is no folder `{wanted}`");
                let error = PageError::new(StatusCode::NOT_FOUND, message);
                return Err(error.hint("the map of all has those there are"));
            }
            let folder = Some(wanted.to_owned());
            return Ok(Self { folder, ..Self::files(snapshot, &roots) });
        }
        if snapshot.file_count() > MOST {
            return Ok(Self::folders(snapshot));
        }
        Ok(Self::files(snapshot, &snapshot.roots().collect::<Vec<_>>()))
    }

    fn files(snapshot: &Snapshot, roots: &[NodeRef<'_>]) -> Self {
        let mut boxes: BTreeMap<String, BTreeMap<String, Cell>> = BTreeMap::new();
        for root in roots.iter().take(MOST) {
            boxes.entry(folder_of(*root)).or_default().insert(path_of(*root), file(*root));
        }
        let edges = edges(snapshot, path_of);
        Self { boxes, edges, folder: None, of_folders: false, total: roots.len() }
    }

    /// A box for each base, with those of its folders that have the most files.
    fn folders(snapshot: &Snapshot) -> Self {
        let mut folders: BTreeMap<String, Vec<NodeRef<'_>>> = BTreeMap::new();
        for root in snapshot.roots() {
            folders.entry(folder_of(root)).or_default().push(root);
        }
        let total = folders.len();
        let mut ranked: Vec<_> = folders.into_iter().collect();
        ranked.sort_by(|a, b| b.1.len().cmp(&a.1.len()).then_with(|| a.0.cmp(&b.0)));
        let mut boxes: BTreeMap<String, BTreeMap<String, Cell>> = BTreeMap::new();
        for (name, roots) in ranked.into_iter().take(MOST) {
            let base = roots[0].base().name().to_owned();
            boxes.entry(base).or_default().insert(name.clone(), folder(&name, &roots));
        }
        let edges = edges(snapshot, folder_of);
        Self { boxes, edges, folder: None, of_folders: true, total }
    }

    /// Why not everything is drawn.
    fn rule(&self) -> Option<String> {
        let shown: usize = self.boxes.values().map(BTreeMap::len).sum();
        match (self.of_folders, shown < self.total) {
            (true, false) => Some(format!(
                "There are more than {MOST} files, so folders stand for them; one leads to its files."
            )),
            (true, true) => Some(format!(
                "There are more than {MOST} files, so folders stand for them: the {shown} of {} with \
                 the most files.",
                self.total
            )),
            (false, true) => Some(format!("The first {shown} of {} files.", self.total)),
            (false, false) => None,
        }
    }

    fn cell(&self, key: &str) -> Option<&Cell> {
        self.boxes.values().find_map(|cells| cells.get(key))
    }
}

/// Between what `key` says that nodes are drawn as.
fn edges(snapshot: &Snapshot, key: fn(NodeRef<'_>) -> String) -> Edges {
    let mut edges = Edges::new();
    for (waiting, target) in snapshot.dependency_edges() {
        let (from, to) = (key(waiting.root()), key(target.root()));
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
        small: format!("{} · {} nodes", root.kind(), root.document().sections.len()),
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
        small: format!("{} files · {nodes} nodes", roots.len()),
        class: "kind-folder",
        address: link("/map", &[("folder", name)]),
        path: name.to_owned(),
        hash: hash.finalize().to_hex()[..16].to_owned(),
    }
}

/// The kinds that have a colour.
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

/// Where everything is drawn.
struct Plan<'a> {
    frames: Vec<Frame<'a>>,
    cells: Vec<(&'a Cell, usize, usize)>,
    places: HashMap<&'a str, (usize, usize)>,
    height: usize,
}

struct Frame<'a> {
    name: &'a str,
    x: usize,
    y: usize,
    width: usize,
    height: usize,
}

impl<'a> Plan<'a> {
    /// Boxes beside each other as long as there is room, then below.
    fn of(drawn: &'a Drawn) -> Self {
        let mut plan =
            Self { frames: Vec::new(), cells: Vec::new(), places: HashMap::new(), height: 0 };
        let (mut x, mut y, mut tallest) = (0, 0, 0);
        for (name, cells) in &drawn.boxes {
            let columns = cells.len().isqrt().clamp(2, COLUMNS).min(cells.len());
            let width = columns * (CELL.0 + GAP) + GAP;
            let height = HEAD + cells.len().div_ceil(columns) * (CELL.1 + GAP) + GAP;
            if x > 0 && x + width > WIDTH {
                (x, y, tallest) = (0, y + tallest + GAP, 0);
            }
            for (at, (key, cell)) in cells.iter().enumerate() {
                let left = x + GAP + at % columns * (CELL.0 + GAP);
                let top = y + HEAD + at / columns * (CELL.1 + GAP);
                plan.cells.push((cell, left, top));
                plan.places.insert(key, (left, top));
            }
            plan.frames.push(Frame { name, x, y, width, height });
            tallest = tallest.max(height);
            plan.height = plan.height.max(y + height);
            x += width + GAP;
        }
        plan
    }
}

fn drawing(plan: &Plan<'_>, edges: &Edges) -> Markup {
    let size = (WIDTH + 2, plan.height + 2);
    let place = |key: &String| plan.places.get(key.as_str()).copied();
    html! {
        svg class="map" width=(size.0) height=(size.1) viewBox={ "-1 -1 " (size.0) " " (size.1) }
            role="group" aria-label="Files by folder, with what waits for what" {
            defs {
                marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7"
                    orient="auto-start-reverse" { path d="M0 0 8 4 0 8z" {} }
            }
            @for frame in &plan.frames {
                rect class="folder" x=(frame.x) y=(frame.y) width=(frame.width)
                    height=(frame.height) rx="10" {}
                text class="folder" x=(frame.x + GAP) y=(frame.y + 20) { (text(frame.name)) }
            }
            @for (cell, x, y) in &plan.cells { (drawn_cell(cell, *x, *y)) }
            @for (from, to) in edges.keys() {
                @if let (Some(from), Some(to)) = (place(from), place(to)) {
                    path class="edge" d=(curve(from, to)) marker-end="url(#arrow)" {}
                }
            }
        }
    }
}

fn drawn_cell(cell: &Cell, x: usize, y: usize) -> Markup {
    html! {
        a class="file" href=(cell.address) data-path=(text(&cell.path)) data-hash=(cell.hash) {
            title { (text(&cell.title)) ", " (text(&cell.small)) }
            rect class=(cell.class) x=(x) y=(y) width=(CELL.0) height=(CELL.1) rx="6" {}
            text x=(x + 10) y=(y + 17) { (text(&shortened(&cell.title))) }
            text class="small" x=(x + 10) y=(y + 32) { (text(&cell.small)) }
        }
    }
}

/// From the edge of one cell to the nearest edge of the other.
fn curve((x1, y1): (usize, usize), (x2, y2): (usize, usize)) -> String {
    let (width, height) = CELL;
    let middle = |x: usize| x + width / 2;
    if y1 == y2 {
        // Below the cells between them.
        let (bottom, low) = (y1 + height, y1 + height + 2 * GAP);
        let (from, to) = (middle(x1), middle(x2));
        return format!("M{from} {bottom} C{from} {low} {to} {low} {to} {bottom}");
    }
    let (start, end) = if y1 < y2 { (y1 + height, y2) } else { (y1, y2 + height) };
    let (from, to, half) = (middle(x1), middle(x2), usize::midpoint(start, end));
    format!("M{from} {start} C{from} {half} {to} {half} {to} {end}")
}

/// The same in words.
fn list(drawn: &Drawn) -> Markup {
    let named = |cell: &Cell| html! { a href=(cell.address) { (text(&cell.title)) } };
    let known = drawn
        .edges
        .iter()
        .filter_map(|((from, to), count)| Some((drawn.cell(from)?, drawn.cell(to)?, *count)));
    let known: Vec<(&Cell, &Cell, usize)> = known.collect();
    html! {
        h2 { "What waits for what" }
        @if known.is_empty() {
            p class="empty" { "Nothing here waits for another. A section says what it waits for with "
                code { "blocked_by" } " in its metadata." }
        } @else {
            ul class="plain columns-list" {
                @for (from, to, count) in known.iter().take(LISTED) {
                    li { (named(from)) " waits for " (named(to))
                        @if *count > 1 { " (" (count) " times)" } }
                }
            }
            @if known.len() > LISTED {
                p class="hint" { "The first " (LISTED) " of " (known.len()) "; a node's own page has all of its own." }
            }
        }
    }
}
