use kenning_knowledge::list::{ListRequest, ListResponse};

use super::Context;
use crate::cli;
use crate::failure::{Exit, Failure};

pub(super) fn run(context: &Context, bases: cli::Bases) -> Result<Exit, Failure> {
    let request = ListRequest {
        filter_type: bases.filter_type,
        filter_status: bases.filter_status,
        base: bases.base,
        max_results: bases.max_results,
        offset: bases.offset,
    };
    let list = context.open_library()?.snapshot().list(&request)?;
    context.printer.answer(&list, text)?;
    if let Some(message) = &list.message {
        context.printer.note(message);
        return Ok(Exit::Failure);
    }
    let seen = request.offset + list.knowledge_bases.len();
    if seen < list.total_available {
        let more = list.total_available - seen;
        context.printer.note(&format!("{more} more; go on with --offset {seen}"));
    }
    Ok(Exit::Success)
}

fn text(list: &ListResponse) -> String {
    let entries = list.knowledge_bases.iter().map(|file| {
        let about = match file.description.as_str() {
            "" => String::new(),
            description => format!("    {description}\n"),
        };
        let counted = if file.node_count == 1 { "node" } else { "nodes" };
        format!(
            "{}  {} [{}, {}, {} {counted}]\n{about}",
            file.id, file.path, file.kind, file.status, file.node_count
        )
    });
    entries.collect()
}
