use kenning_knowledge::diagnostic::Diagnostic;
use serde::Serialize;

use super::Context;
use crate::cli;
use crate::failure::{Exit, Failure};

#[derive(Serialize)]
struct Report<'a> {
    bases: Vec<BaseReport<'a>>,
    files: usize,
    nodes: usize,
    diagnostics: &'a [Diagnostic],
}

#[derive(Serialize)]
struct BaseReport<'a> {
    name: &'a str,
    root: String,
}

pub(super) fn run(context: &Context, index: &cli::Index) -> Result<Exit, Failure> {
    let snapshot = if index.embed {
        let store = context.open_store()?;
        context.open_embedded_library(store.as_ref())?.snapshot()
    } else {
        context.open_library()?.snapshot()
    };
    let bases = snapshot
        .bases()
        .map(|base| BaseReport { name: base.name(), root: base.root().display().to_string() });
    let report = Report {
        bases: bases.collect(),
        files: snapshot.file_count(),
        nodes: snapshot.node_count(),
        diagnostics: snapshot.diagnostics(),
    };
    context.printer.answer(&report, text)?;
    if report.files == 0 {
        context.printer.note("no Markdown files found; name a folder with --root");
    }
    let clean = report.diagnostics.is_empty() || !index.check;
    Ok(if clean { Exit::Success } else { Exit::Failure })
}

fn text(report: &Report<'_>) -> String {
    let several = report.bases.len() > 1;
    let mut out = String::new();
    for diagnostic in report.diagnostics {
        let base = if several { format!("{}/", diagnostic.base) } else { String::new() };
        out += &format!("{base}{diagnostic}\n");
    }
    for base in &report.bases {
        out += &format!("{}: {}\n", base.name, base.root);
    }
    let Report { files, nodes, diagnostics, .. } = report;
    out + &format!("{files} files, {nodes} nodes, {} to mend\n", diagnostics.len())
}
