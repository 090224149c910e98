//! Everything a client's question is answered from.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use kenning_sanitize::sanitize;
use rmcp::model::{
    CompleteRequestParams, CompletionInfo, ErrorData, ListResourcesResult, Reference, Resource,
    ResourceContents,
};
use serde_json::json;

use crate::gate::Gate;
use crate::inventory::Inventory;
use crate::limit::Limit;
use crate::meter::Meter;
use crate::rooms::Rooms;

/// Resources on one page of a list.
const PAGE: usize = 100;

/// What is on offer, the rooms it draws on, how it is let in and how long it took so far. All
/// clients share it.
#[derive(Debug)]
pub struct House {
    pub inventory: Inventory,
    pub rooms: Arc<Rooms>,
    pub(crate) gate: Gate,
    pub(crate) meter: Arc<Meter>,
}

/// What holds for lists and completions of whatever family.
pub(crate) fn limits() -> Vec<Limit> {
    vec![
        Limit::of_server("resource_page_size", PAGE),
        Limit::of_server("max_completion_values", CompletionInfo::MAX_VALUES),
    ]
}

impl House {
    pub fn new(inventory: Inventory, rooms: Rooms) -> Self {
        let meter = Arc::new(Meter::new(&inventory.tools));
        Self { inventory, rooms: Arc::new(rooms), gate: Gate::new(), meter }
    }

    /// The same house without tools that write.
    pub(crate) fn reading(&self) -> Self {
        self.offering(self.inventory.clone().only_reading())
    }

    /// The same house with something else on offer, of what is there. What is measured is one.
    pub(crate) fn offering(&self, inventory: Inventory) -> Self {
        let (rooms, gate, meter) = (self.rooms.clone(), self.gate.clone(), self.meter.clone());
        Self { inventory, rooms, gate, meter }
    }

    pub fn read(&self, uri: &str) -> Result<ResourceContents, ErrorData> {
        let Some(family) = self.inventory.family(uri) else {
            let families = self.inventory.resources.iter();
            let known: Vec<String> =
                families.map(|family| format!("`{}://`", family.scheme())).collect();
            let message =
                format!("no resource is called `{uri}`; URIs start with {}", known.join(", "));
            return Err(ErrorData::resource_not_found(message, Some(json!({ "uri": uri }))));
        };
        let contents = family.read(self, uri).map_err(|error| error.into_error_data(uri))?;
        Ok(seen(contents))
    }

    /// A page of the resources of all families, one after the other. The cursor is the last URI
    /// seen.
    pub(crate) fn page(&self, cursor: Option<&str>) -> ListResourcesResult {
        let mut resources = Vec::new();
        let at_cursor =
            |scheme: &str| cursor.is_none_or(|uri| uri.split("://").next() == Some(scheme));
        let families = self.inventory.resources.iter();
        for (i, family) in families.skip_while(|family| !at_cursor(family.scheme())).enumerate() {
            let after = cursor.filter(|_| i == 0);
            let listed = family.list(&self.rooms, after, PAGE + 1 - resources.len());
            resources.extend(listed.into_iter().map(listed_openly));
            if resources.len() > PAGE {
                break;
            }
        }
        let more = resources.len() > PAGE;
        resources.truncate(PAGE);
        let next_cursor = resources.last().filter(|_| more).map(|last| last.uri.clone());
        ListResourcesResult { next_cursor, ..ListResourcesResult::with_all_items(resources) }
    }

    pub(crate) fn complete(&self, request: &CompleteRequestParams) -> Vec<String> {
        let argument = &request.argument;
        let values = match &request.r#ref {
            Reference::Resource(resource) => {
                let context = request.context.as_ref();
                let chosen: HashMap<String, String> =
                    context.and_then(|context| context.arguments.clone()).unwrap_or_default();
                let family = self.inventory.family(&resource.uri);
                family.map(|family| family.complete(&self.rooms, &argument.name, &chosen))
            }
            Reference::Prompt(prompt) => {
                let prompt = self.inventory.prompt(&prompt.name);
                let asked = prompt
                    .and_then(|prompt| prompt.arguments.iter().find(|a| a.name == argument.name));
                asked.and_then(|asked| asked.complete).map(|values| values(&self.rooms))
            }
            _ => None,
        };
        matching(values.unwrap_or_default(), &argument.value)
    }
}

/// What a model reads must be what a person would see.
fn seen(mut contents: ResourceContents) -> ResourceContents {
    if let ResourceContents::TextResourceContents { text, .. } = &mut contents {
        show(text);
    }
    contents
}

/// The same for how a resource is called; its URI is what leads to it.
fn listed_openly(mut resource: Resource) -> Resource {
    show(&mut resource.name);
    resource.title.iter_mut().for_each(show);
    resource.description.iter_mut().for_each(show);
    resource
}

fn show(text: &mut String) {
    if let Cow::Owned(shown) = sanitize(text) {
        *text = shown;
    }
}

/// Values that contain what was typed, those that start with it first.
fn matching(values: Vec<String>, typed: &str) -> Vec<String> {
    let typed = typed.to_lowercase();
    let (starting, rest): (Vec<_>, Vec<_>) =
        values.into_iter().partition(|value| value.to_lowercase().starts_with(&typed));
    let containing = rest.into_iter().filter(|value| value.to_lowercase().contains(&typed));
    starting.into_iter().chain(containing).collect()
}
