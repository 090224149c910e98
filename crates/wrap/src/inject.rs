//! Adds the contract to a list of tools. The rest keeps its bytes, except for hidden characters.

use kenning_gaps::contract::{self, Fit, Offer};
use kenning_gaps::native::NativeIntent;
use serde_json::Value;

use crate::raw::{Object, appended, items, replaced};
use crate::sanitize::sanitize_tool;

/// A list with the contract in it, and facts about its tools.
#[derive(Debug)]
pub(crate) struct Listing {
    /// The new `result`; `None` if nothing had to change.
    pub(crate) result: Option<String>,
    pub(crate) tools: Vec<ToolFacts>,
}

/// What must be known about a tool when it is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolFacts {
    pub(crate) name: String,
    /// It has a parameter of its own with the contract's name.
    pub(crate) owns_intent: bool,
    /// A field of its own that states the caller's intent.
    pub(crate) native: Option<String>,
}

impl ToolFacts {
    pub(crate) fn read(name: &str, schema: Option<&Value>, native: &NativeIntent) -> Self {
        Self {
            name: name.to_owned(),
            owns_intent: contract::fit(schema) == Fit::Owned,
            native: schema.and_then(|schema| native.field(schema)),
        }
    }
}

/// Adds the contract to the `result` of a `tools/list`; `None` if it is no list of tools.
pub(crate) fn list(result: &str, offer: Offer, native: &NativeIntent) -> Option<Listing> {
    let fields = Object::read(result)?;
    let listed = fields.get("tools")?;
    let last_page = fields.get("nextCursor").is_none_or(|cursor| cursor == "null");
    let mut facts = Vec::new();
    let mut texts: Vec<String> = Vec::new();
    let mut changed = false;
    for text in items(listed)? {
        let (tool, new) = tool(text, offer, native);
        facts.extend(tool);
        let new = match new {
            Some(new) => sanitize_tool(&new).or(Some(new)),
            None => sanitize_tool(text),
        };
        changed |= new.is_some();
        texts.push(new.unwrap_or_else(|| text.to_owned()));
    }
    let owned = facts.iter().any(|tool| tool.name == contract::TOOL_NAME);
    if offer.tool && last_page && !owned {
        texts.push(contract::tool().to_string());
        changed = true;
    }
    let result = changed.then(|| replaced(result, listed, &format!("[{}]", texts.join(","))));
    Some(Listing { result, tools: facts })
}

fn tool(text: &str, offer: Offer, native: &NativeIntent) -> (Option<ToolFacts>, Option<String>) {
    let Some(fields) = Object::read(text) else { return (None, None) };
    let name = fields.string("name");
    let schema_text = fields.get("inputSchema");
    let schema: Option<Value> = schema_text.and_then(|text| serde_json::from_str(text).ok());
    let fit = contract::fit(schema.as_ref());
    let reserved = name.as_ref().is_some_and(|name| name == contract::TOOL_NAME);
    let facts = name.map(|name| ToolFacts::read(&name, schema.as_ref(), native));
    if !offer.intent || fit != Fit::Joins || reserved {
        return (facts, None);
    }
    let new = match schema_text {
        Some(schema) => with_intent(schema).map(|new| replaced(text, schema, &new)),
        None => contract::inject_schema(None)
            .map(|schema| appended(text, &format!("\"inputSchema\":{schema}"))),
    };
    (facts, new)
}

/// An input schema with the parameter among its properties.
fn with_intent(schema: &str) -> Option<String> {
    let intent = format!("\"{}\":{}", contract::INTENT_NAME, contract::intent_schema());
    let fields = Object::read(schema)?;
    let with_properties = match fields.get("properties") {
        Some(properties) if properties.starts_with('{') => {
            replaced(schema, properties, &appended(properties, &intent))
        }
        Some(other) => replaced(schema, other, &format!("{{{intent}}}")),
        None => appended(schema, &format!("\"properties\":{{{intent}}}")),
    };
    Some(match fields.get("type") {
        Some(_) => with_properties,
        None => appended(&with_properties, "\"type\":\"object\""),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Editing the text and editing the parsed JSON must agree.
    fn check(result: &str) {
        let plain: Value = serde_json::from_str(result).unwrap();
        let expected = contract::inject_list(&plain, Offer::default());
        let listing = list(result, Offer::default(), &NativeIntent::Detect).unwrap();
        let new = listing.result.unwrap_or_else(|| result.to_owned());
        assert_eq!(serde_json::from_str::<Value>(&new).unwrap(), expected, "{result}");
    }

    #[test]
    fn the_text_edit_agrees_with_the_contract() {
        check(r#"{"tools":[]}"#);
        check(r#"{"tools":[],"nextCursor":"2"}"#);
        check(r#"{ "tools" : [ { "name" : "a" } , { "name":"b", "inputSchema" : { } } ] }"#);
        check(r#"{"tools":[{"name":"a","inputSchema":{"type":"object"}}],"_meta":{"x":1}}"#);
        check(r#"{"tools":[{"name":"a","inputSchema":{"properties":{ }}}]}"#);
        check(r#"{"tools":[{"name":"a","inputSchema":{"properties":null}}]}"#);
        check(r#"{"tools":[{"name":"a","inputSchema":{"type":"array"}}]}"#);
        check(r#"{"tools":[{"name":"a","inputSchema":{"$ref":"x"}}, 7, "x"]}"#);
        check(r#"{"tools":[{"name":"a","inputSchema":{"properties":{"mcpeyeIntent":{}}}}]}"#);
        check(
            r#"{"tools":[{"name":"mcpeye_request_capability","inputSchema":{"type":"object"}}]}"#,
        );
    }

    #[test]
    fn bytes_that_need_no_change_are_kept() {
        let odd = r#"{"x":1e400,"tools":[{"inputSchema":{"type":"object","maximum":123456789012345678901234567890},"name":"a"}]}"#;
        let new = list(odd, Offer::default(), &NativeIntent::Off).unwrap().result.unwrap();
        assert!(new.starts_with(r#"{"x":1e400,"tools":[{"inputSchema":{"type":"object","maximum":123456789012345678901234567890,"properties":{"#));
    }

    #[test]
    fn a_result_without_tools_is_no_list() {
        for text in ["null", "[]", "{}", r#"{"tools":{}}"#, "{"] {
            assert!(list(text, Offer::default(), &NativeIntent::Off).is_none(), "{text}");
        }
    }
}
