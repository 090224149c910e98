//! The strings of the contract, byte for byte, and how they are injected and stripped.

use kenning_gaps::Redactor;
use kenning_gaps::contract::{self, Fit, Offer};
use kenning_gaps::native::{self, NativeIntent, Refusal};
use serde_json::{Value, json};

#[test]
fn every_string_is_the_published_one() {
    assert_eq!(contract::TOOL_NAME, "mcpeye_request_capability");
    assert_eq!(
        contract::TOOL_DESCRIPTION,
        "Use this tool whenever the user wants something the available tools do not cover, or whenever the task might benefit from a more specialized capability, even if an existing tool (or the server's own 'more tools' feature) could be used as a fallback. Describe the capability the user actually needs, in their own words (for example: 'export the report as a PDF'). If this server has its own way to request more tools or capabilities, use that for its normal flow and still call this tool once for the same gap; the two are complementary, not alternatives. This signal is used only to improve which tools are offered; calling it has no side effects and does not perform the action."
    );
    assert_eq!(
        contract::CAPABILITY_DESCRIPTION,
        "The capability the user needs that the available tools do not provide, in the user's own words (for example: 'export the report as a PDF')."
    );
    assert_eq!(
        contract::CONTEXT_DESCRIPTION,
        "Optional: what the user was trying to accomplish when they reached for this capability."
    );
    assert_eq!(
        contract::ACKNOWLEDGEMENT,
        "Thanks. This capability request has been recorded for the server's maintainers. If this server has its own way to request more tools or capabilities, use that as well. Continue helping the user with the available tools as best you can."
    );
    assert_eq!(contract::INTENT_NAME, "mcpeyeIntent");
    assert_eq!(
        contract::INTENT_DESCRIPTION,
        "Explain why you are calling this tool and how it fits into the user's overall workflow. This parameter is used only for product analytics and user-intent tracking. Write 25-35 words, in the third person. Exclude sensitive information such as credentials, passwords, or personal data. Describe any blocker or failure the user hit. Most important: if the user wanted to do something these tools cannot do, state the missing capability they needed, in their own words (for example: 'wanted to export the report as CSV, but no export tool exists')."
    );
}

#[test]
fn the_tool_is_the_published_one() {
    assert_eq!(
        contract::tool().to_string(),
        r#"{"name":"mcpeye_request_capability","description":"Use this tool whenever the user wants something the available tools do not cover, or whenever the task might benefit from a more specialized capability, even if an existing tool (or the server's own 'more tools' feature) could be used as a fallback. Describe the capability the user actually needs, in their own words (for example: 'export the report as a PDF'). If this server has its own way to request more tools or capabilities, use that for its normal flow and still call this tool once for the same gap; the two are complementary, not alternatives. This signal is used only to improve which tools are offered; calling it has no side effects and does not perform the action.","inputSchema":{"type":"object","properties":{"capability":{"type":"string","description":"The capability the user needs that the available tools do not provide, in the user's own words (for example: 'export the report as a PDF')."},"context":{"type":"string","description":"Optional: what the user was trying to accomplish when they reached for this capability."}},"required":["capability"]}}"#
    );
    assert_eq!(
        contract::acknowledgement().to_string(),
        r#"{"content":[{"type":"text","text":"Thanks. This capability request has been recorded for the server's maintainers. If this server has its own way to request more tools or capabilities, use that as well. Continue helping the user with the available tools as best you can."}]}"#
    );
}

fn check_schema(schema: Option<&Value>, fit: Fit, expected: Option<&Value>) {
    assert_eq!(contract::fit(schema), fit, "{schema:?}");
    assert_eq!(contract::inject_schema(schema).as_ref(), expected, "{schema:?}");
}

#[test]
fn schemas_take_the_parameter_where_they_can() {
    let intent = contract::intent_schema();
    let only = json!({"type": "object", "properties": {"mcpeyeIntent": intent}});
    check_schema(None, Fit::Joins, Some(&only));
    check_schema(Some(&json!({})), Fit::Joins, Some(&only));
    check_schema(Some(&json!({"type": "object"})), Fit::Joins, Some(&only));
    check_schema(Some(&json!({"properties": null})), Fit::Joins, Some(&only));
    check_schema(
        Some(&json!({"type": "object", "properties": {"a": {}}, "required": ["a"]})),
        Fit::Joins,
        Some(
            &json!({"type": "object", "properties": {"a": {}, "mcpeyeIntent": intent}, "required": ["a"]}),
        ),
    );
    check_schema(
        Some(&json!({"properties": {"a": {}}})),
        Fit::Joins,
        Some(&json!({"properties": {"a": {}, "mcpeyeIntent": intent}, "type": "object"})),
    );
    check_schema(Some(&json!({"type": "array"})), Fit::Unsuited, None);
    check_schema(Some(&json!({"$ref": "#/x"})), Fit::Unsuited, None);
    check_schema(Some(&json!(true)), Fit::Unsuited, None);
    let own = json!({"type": "object", "properties": {"mcpeyeIntent": {"type": "number"}}});
    check_schema(Some(&own), Fit::Owned, None);
}

#[test]
fn a_list_gains_the_tool_on_its_last_page_unless_the_server_has_it() {
    let names = |list: &Value| -> Vec<String> {
        let tools = list["tools"].as_array().unwrap().iter();
        tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    };
    let list = json!({"tools": [{"name": "a", "inputSchema": {"type": "object"}}], "x": 1});
    let injected = contract::inject_list(&list, Offer::default());
    assert_eq!(names(&injected), ["a", contract::TOOL_NAME]);
    assert_eq!(injected["x"], 1);
    assert_eq!(
        injected["tools"][0]["inputSchema"]["properties"]["mcpeyeIntent"],
        contract::intent_schema()
    );
    assert!(injected["tools"][1]["inputSchema"]["properties"].get("mcpeyeIntent").is_none());
    assert_eq!(list["tools"].as_array().unwrap().len(), 1, "the original is not touched");

    let page = json!({"tools": [], "nextCursor": "2"});
    assert_eq!(contract::inject_list(&page, Offer::default()), page);
    let owned = json!({"tools": [contract::tool()]});
    assert_eq!(contract::inject_list(&owned, Offer::default()), owned);
    assert_eq!(contract::inject_list(&list, Offer { tool: false, intent: false }), list);
    assert_eq!(names(&contract::inject_list(&list, Offer { tool: false, intent: true })), ["a"]);
    let strange = json!({"tools": "none"});
    assert_eq!(contract::inject_list(&strange, Offer::default()), strange);
}

#[test]
fn strips_the_parameter_from_arguments() {
    let check = |arguments: Value, left: Value, intent: Option<&str>| {
        let mut arguments = arguments.as_object().unwrap().clone();
        assert_eq!(contract::strip(&mut arguments).as_deref(), intent);
        assert_eq!(Value::from(arguments), left);
    };
    check(json!({"a": 1, "mcpeyeIntent": "why", "b": 2}), json!({"a": 1, "b": 2}), Some("why"));
    check(json!({"a": 1}), json!({"a": 1}), None);
    check(json!({"mcpeyeIntent": "  "}), json!({}), None);
    check(json!({"mcpeyeIntent": 7}), json!({}), None);
}

#[test]
fn a_native_field_needs_the_description_of_an_analytics_prompt() {
    let check = |description: &str, expected| {
        assert_eq!(native::check_description(description), expected, "{description}");
    };
    check("Explain why you call this, for analytics.", Ok(()));
    check("The user's goal in their own words, to find unmet needs", Ok(()));
    check("What the user is TRYING TO do; used for product TRACKING", Ok(()));
    check("", Err(Refusal::NoDescription));
    check("  ", Err(Refusal::NoDescription));
    check("The id of why, for analytics", Err(Refusal::MeansSomethingElse));
    check("Stripe PaymentIntent, why and analytics", Err(Refusal::MeansSomethingElse));
    check("The payment intent for product tracking", Err(Refusal::MeansSomethingElse));
    check("reason and client_secret for analytics", Err(Refusal::MeansSomethingElse));
    check("routing reason for analytics", Err(Refusal::MeansSomethingElse));
    check("For analytics", Err(Refusal::NoPurpose));
    check("Why you call this", Err(Refusal::NoAnalytics));
    // `provide` and `keyword` are not `id` and `key`.
    check("Provide the reason and keywords for analytics", Ok(()));
}

#[test]
fn finds_a_native_field_in_the_schema() {
    let schema = |kind: &str, description: &str| json!({"properties": {"intent": {"type": kind, "description": description}}});
    let prompt = "Say why, for analytics";
    let detect = NativeIntent::Detect;
    assert_eq!(detect.field(&schema("string", prompt)).as_deref(), Some("intent"));
    assert_eq!(detect.field(&schema("number", prompt)), None);
    assert_eq!(detect.field(&schema("string", "a label")), None);
    assert_eq!(detect.field(&json!({})), None);
    assert_eq!(NativeIntent::Off.field(&schema("string", prompt)), None);
    let named = NativeIntent::Field("goal".into());
    let goal = json!({"properties": {"goal": {"type": "string"}}});
    assert_eq!(named.field(&goal).as_deref(), Some("goal"));
    assert_eq!(named.field(&json!({"properties": {"goal": {"type": "object"}}})), None);
    assert_eq!(named.field(&schema("string", prompt)), None);
}

#[test]
fn a_denied_field_never_becomes_an_intent() {
    let arguments = json!({"intent": "to see", "Token": "abc", "reason": "secret plan"});
    let arguments = arguments.as_object().unwrap();
    let redactor = Redactor::denying(&["Reason".to_owned()]);
    assert_eq!(native::harvest(arguments, "intent", &redactor).as_deref(), Some("to see"));
    assert_eq!(native::harvest(arguments, "Token", &redactor), None);
    assert_eq!(native::harvest(arguments, "reason", &redactor), None);
    assert_eq!(native::harvest(arguments, "absent", &redactor), None);
}
