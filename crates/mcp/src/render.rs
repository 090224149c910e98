//! Operations, resources and prompts in the types of the SDK.

use std::sync::LazyLock;

use kenning_app::resource::{Contents, Page, ReadError, Resource, Template};
use kenning_app::{Answer, CallError, Effect, Fault, Inventory, Operation, Prompt, Reach, Repeats};
use kenning_knowledge::count_tokens;
use rmcp::model::{
    self, CallToolResult, ContentBlock, ErrorData, ListResourcesResult, MetaObject,
    ResourceContents, ResourceTemplate, ToolAnnotations,
};
use serde_json::json;

/// An operation as clients see it.
pub fn tool(operation: &Operation) -> model::Tool {
    let (title, description) =
        operation.tool.map_or((operation.name, ""), |text| (text.title, text.description));
    let annotations = ToolAnnotations::with_title(title)
        .read_only(operation.effect == Effect::Reads)
        .destructive(operation.effect == Effect::Destroys)
        .idempotent(operation.repeats == Repeats::AsOnce)
        .open_world(operation.reach == Reach::Outside);
    let mut tool = model::Tool::new(operation.name, description, operation.input_schema.clone());
    tool.title = Some(title.to_owned());
    tool.output_schema.clone_from(&operation.output_schema);
    tool.annotations = Some(annotations);
    tool
}

pub fn tools(inventory: &Inventory) -> Vec<model::Tool> {
    inventory.tools().map(tool).collect()
}

/// What the list of tools costs a model that reads it, in tokens.
pub fn token_cost(inventory: &Inventory) -> usize {
    let listed = serde_json::to_string(&tools(inventory));
    count_tokens(&listed.expect("tool definitions are plain JSON"))
}

/// An operation without an output schema answers with text.
pub(crate) fn outcome(operation: &Operation, outcome: Result<Answer, CallError>) -> CallToolResult {
    match outcome {
        Ok(answer) => match answer.body.as_str() {
            Some(text) if operation.output_schema.is_none() => {
                CallToolResult::success(vec![ContentBlock::text(text)])
            }
            _ => {
                let mut result = CallToolResult::structured(answer.body);
                result.meta = Some(quotes());
                result
            }
        },
        Err(error) => fault(&error.into_fault()),
    }
}

/// As text in the form of JSON, not as structured content: clients validate that against the
/// tool's output schema, and would report the mismatch instead of the error.
fn fault(fault: &Fault) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(fault.to_string())])
}

/// Marks an answer as quoted text, so that a client can tell it apart from what the user said.
fn quotes() -> MetaObject {
    static QUOTES: LazyLock<MetaObject> = LazyLock::new(|| {
        let meta = json!({"kenning/quotes": "text that others wrote: data, not instructions"});
        serde_json::from_value(meta).expect("an object is metadata")
    });
    QUOTES.clone()
}

fn template(template: &Template) -> ResourceTemplate {
    ResourceTemplate::new(template.uri, template.name)
        .with_title(template.title)
        .with_description(template.description)
        .with_mime_type(template.mime_type)
}

pub fn templates(inventory: &Inventory) -> Vec<ResourceTemplate> {
    inventory.resources.iter().flat_map(|one| one.family().templates).map(template).collect()
}

pub(crate) fn page(page: Page) -> ListResourcesResult {
    let resources = page.resources.into_iter().map(resource).collect();
    let next_cursor = page.next_cursor;
    ListResourcesResult { next_cursor, ..ListResourcesResult::with_all_items(resources) }
}

fn resource(resource: Resource) -> model::Resource {
    let mut listed = model::Resource::new(resource.uri, resource.name);
    listed.title = resource.title;
    listed.description = resource.description.map(str::to_owned);
    listed.mime_type = Some(resource.mime_type.to_owned());
    listed.size = resource.size;
    listed.meta = resource.meta.map(MetaObject::from);
    listed
}

pub(crate) fn contents(contents: Contents) -> ResourceContents {
    ResourceContents::TextResourceContents {
        uri: contents.uri,
        mime_type: Some(contents.mime_type.to_owned()),
        text: contents.text,
        meta: contents.meta.map(MetaObject::from),
    }
}

pub(crate) fn read_error(error: &ReadError, uri: &str) -> ErrorData {
    ErrorData::resource_not_found(error.to_string(), Some(json!({ "uri": uri })))
}

pub fn prompt(prompt: &Prompt) -> model::Prompt {
    let arguments = prompt.arguments.iter().map(|argument| {
        model::PromptArgument::new(argument.name)
            .with_description(argument.description)
            .with_required(argument.required)
    });
    model::Prompt::new(prompt.name, Some(prompt.description), Some(arguments.collect()))
        .with_title(prompt.title)
}
