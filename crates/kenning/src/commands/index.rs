//! `index`: reads all knowledge bases and reports problems in their files.

use std::sync::Arc;

use kenning_knowledge::diagnostic::Diagnostic;
use serde::Serialize;

use super::Context;
use super::vectors::{Missing, run_in_background};
use crate::cli;
use crate::failure::{Exit, Failure};
use crate::printer::count;

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

pub(super) fn run(context: &Context, args: &cli::Index) -> Result<Exit, Failure> {
    if args.background {
        return run_in_background(context);
    }
    let library = Arc::new(context.open_library()?);
    if args.embed {
        let store = context.open_store()?;
        context.vectors(&library, store.as_ref())?.load(Missing::Compute)?;
    }
    let snapshot = library.snapshot();
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
    Ok(Exit::success_if(report.diagnostics.is_empty() || !args.check))
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
    let problems = match report.diagnostics.len() {
        0 => "No problems found".to_owned(),
        number => count(number, "problem") + " found",
    };
    out + &format!("{}, {}\n{problems}\n", count(report.files, "file"), count(report.nodes, "node"))
}
