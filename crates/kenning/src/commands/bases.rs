//! `bases`: lists the files of the knowledge bases.

use kenning_knowledge::list::{ListRequest, ListResponse};

use super::Context;
use crate::cli;
use crate::failure::{Exit, Failure};
use crate::printer::count;

pub(super) fn run(context: &Context, args: cli::Bases) -> Result<Exit, Failure> {
    let request = ListRequest {
        filter_type: args.filter_type,
        filter_status: args.filter_status,
        base: args.base,
        max_results: args.max_results,
        offset: args.offset,
    };
    let list = context.open_library()?.snapshot().list(&request)?;
    context.printer.answer(&list, text)?;
    if let Some(message) = &list.message {
        context.printer.note(message);
        return Ok(Exit::Failure);
    }
    let end = request.offset + list.knowledge_bases.len();
    if end < list.total_available {
        let more = list.total_available - end;
        context.printer.note(&format!("{more} more; continue with --offset {end}"));
    }
    Ok(Exit::Success)
}

fn text(list: &ListResponse) -> String {
    let entries = list.knowledge_bases.iter().map(|file| {
        let description = match file.description.as_str() {
            "" => String::new(),
            description => format!("    {description}\n"),
        };
        let nodes = count(file.node_count, "node");
        let (id, path, kind, status) = (&file.id, &file.path, &file.kind, &file.status);
        format!("{id}  {path} [{kind}, {status}, {nodes}]\n{description}")
    });
    entries.collect()
}
