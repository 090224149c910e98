//! `get`: prints nodes by id or path.

use kenning_knowledge::retrieve::{Format, RetrieveRequest, RetrieveResponse, Retrieved};

use super::Context;
use crate::cli;
use crate::failure::{Exit, Failure};

pub(super) fn run(context: &Context, args: cli::Get) -> Result<Exit, Failure> {
    let request = RetrieveRequest {
        ids: args.ids,
        include_children: args.children,
        include_links: false,
        format: args.format,
        max_tokens: args.max_tokens,
    };
    let reply = context.open_library()?.snapshot().retrieve(&request)?;
    context.printer.answer(&reply, |reply| text(reply, request.format))?;
    for missing in &reply.not_found {
        context.printer.note(&format!("error: {}\nhint: {}", missing.message, missing.hint));
    }
    for omitted in &reply.omitted {
        context.printer.note(&format!(
            "omitted: `{}` with {} tokens; raise --max-tokens to include it",
            omitted.id, omitted.token_count
        ));
    }
    Ok(Exit::success_if(reply.not_found.is_empty()))
}

fn text(reply: &RetrieveResponse, format: Format) -> String {
    match format {
        Format::Json => serde_json::to_string_pretty(&reply.nodes).unwrap_or_default(),
        Format::Markdown => reply.nodes.iter().map(|node| document(node, 1)).collect(),
        Format::Plain => reply.nodes.iter().map(plain).collect(),
    }
}

/// A node as standalone Markdown: heading, origin, text.
fn document(node: &Retrieved, level: usize) -> String {
    let heading = "#".repeat(level.min(6));
    let mut out = format!("{heading} {}\n<!-- {} · {} -->\n\n", node.title, node.id, node.path);
    if !node.content.is_empty() {
        out += &format!("{}\n\n", node.content);
    }
    out.extend(node.children.iter().map(|child| document(child, level + 1)));
    out
}

fn plain(node: &Retrieved) -> String {
    let children: String = node.children.iter().map(plain).collect();
    format!("{}\n\n{}\n\n{children}", node.title, node.content)
}
