//! `bdd_scenario_assembly`: Gherkin from features, scenarios and outlines as data.

use std::fmt::Write;

use serde_json::{Map, Value};

use super::fill::lookup;
use super::metadata::{Metadata, Requirements, owned};
use super::{Generator, Job, Made};
use crate::error::Error;

pub(super) const TYPE: &str = "bdd_scenario_assembly";
const KEYWORDS: [&str; 6] = ["Given", "When", "Then", "And", "But", "*"];
const FIELDS: [&str; 4] = ["feature", "background", "scenarios", "outlines"];

#[derive(Debug)]
pub(super) struct BddScenarioAssembly;

impl Generator for BddScenarioAssembly {
    fn metadata(&self) -> Metadata {
        let description = "Writes a .feature file from feature, background, scenarios and \
                           outlines, given in generation_config or in the context; with \
                           generation_config.from, from the nodes of a plan";
        Metadata {
            capabilities: owned(&["gherkin", "scenarios", "outlines", "tables"]),
            requirements: Requirements {
                fields: owned(&["generation.patterns[0].generation_config.feature"]),
                ..Requirements::default()
            },
            best_for: owned(&["acceptance tests", "plans that are to become scenarios"]),
            ..Metadata::builtin(TYPE, "BddScenarioAssembly", description)
        }
    }

    fn generate(&self, job: &Job<'_>) -> Result<Made, Error> {
        let mut made = Made::default();
        let mut data = Map::new();
        for field in FIELDS {
            let own = job.pattern.generation_config.get(field);
            if let Some(value) = job.context.get(field).or(own) {
                data.insert(field.to_owned(), value.clone());
            }
            if job.context.contains_key(field) {
                made.mentioned.insert(field.to_owned());
            }
        }
        if let Some(from) = job.pattern.generation_config.get("from").and_then(Value::as_str) {
            made.mentioned.insert(from.split('.').next().unwrap_or(from).to_owned());
            let nodes = lookup(job.context, from).and_then(Value::as_array);
            let nodes =
                nodes.ok_or_else(|| job.fault(format!("`{from}` is not a list of nodes")))?;
            from_nodes(&mut data, nodes);
        }
        made.text = document(&data).map_err(|problem| job.fault(problem))?;
        if made.text.len() > job.sandbox.limits.template_output_bytes {
            return Err(Error::Exhausted { name: "template_output_bytes" });
        }
        Ok(made)
    }
}

/// The first node of type `plan` names the feature; every other node is a scenario, whose steps are
/// the lines of its text that begin with a keyword.
fn from_nodes(data: &mut Map<String, Value>, nodes: &[Value]) {
    let text = |node: &Value, key: &str| node[key].as_str().unwrap_or_default().to_owned();
    let plan = nodes.iter().position(|node| node["type"] == "plan");
    if let Some(plan) = plan
        && !data.contains_key("feature")
    {
        data.insert("feature".to_owned(), Value::String(text(&nodes[plan], "title")));
    }
    let others = nodes.iter().enumerate().filter(|(place, _)| Some(*place) != plan);
    let scenarios = others.map(|(_, node)| {
        let body = text(node, "text");
        let steps = body.lines().filter_map(step_of).map(Value::String).collect();
        let mut scenario = Map::new();
        scenario.insert("name".to_owned(), Value::String(text(node, "title")));
        scenario.insert("steps".to_owned(), Value::Array(steps));
        Value::Object(scenario)
    });
    let scenarios: Vec<Value> = scenarios.collect();
    data.entry("scenarios").or_insert(Value::Array(scenarios));
}

/// `- **Given** a user` is the step `Given a user`.
fn step_of(line: &str) -> Option<String> {
    let line = line.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '-' | '*' | '+'));
    let line = line.replace("**", "");
    let (keyword, rest) = line.split_once(' ')?;
    let sound = KEYWORDS.contains(&keyword) && keyword != "*" && !rest.trim().is_empty();
    sound.then(|| format!("{keyword} {}", rest.trim()))
}

fn document(data: &Map<String, Value>) -> Result<String, String> {
    let feature = data.get("feature").ok_or("`feature` is missing")?;
    let (name, details) = match feature {
        Value::String(name) => (name.as_str(), None),
        Value::Object(details) => {
            (details.get("name").and_then(Value::as_str).unwrap_or_default(), Some(details))
        }
        _ => return Err("`feature` is neither a name nor an object".to_owned()),
    };
    let mut out = String::new();
    if let Some(details) = details {
        tags(&mut out, "", details)?;
    }
    headline(&mut out, "", "Feature", name)?;
    if let Some(details) = details {
        described(&mut out, "  ", details)?;
    }
    if let Some(background) = data.get("background").filter(|value| !value.is_null()) {
        out.push_str("\n  Background:\n");
        let steps_of = background.as_object().map_or_else(
            || steps_from(background, "background"),
            |fields| steps(fields, "background"),
        )?;
        write_steps(&mut out, &steps_of);
    }
    for scenario in objects(data, "scenarios")? {
        section(&mut out, "Scenario", scenario)?;
    }
    for outline in objects(data, "outlines")? {
        let steps = section(&mut out, "Scenario Outline", outline)?;
        examples(&mut out, outline, &steps)?;
    }
    Ok(out)
}

fn objects<'a>(
    data: &'a Map<String, Value>,
    field: &str,
) -> Result<Vec<&'a Map<String, Value>>, String> {
    let Some(value) = data.get(field).filter(|value| !value.is_null()) else {
        return Ok(Vec::new());
    };
    let items = value.as_array().ok_or_else(|| format!("`{field}` is not a list"))?;
    let objects = items.iter().enumerate().map(|(index, item)| {
        item.as_object().ok_or_else(|| format!("`{field}[{index}]` is not an object"))
    });
    objects.collect()
}

fn section(
    out: &mut String,
    keyword: &str,
    fields: &Map<String, Value>,
) -> Result<Vec<Step>, String> {
    out.push('\n');
    tags(out, "  ", fields)?;
    let name = fields.get("name").and_then(Value::as_str).unwrap_or_default();
    headline(out, "  ", keyword, name)?;
    described(out, "    ", fields)?;
    let steps = steps(fields, name)?;
    write_steps(out, &steps);
    Ok(steps)
}

fn headline(out: &mut String, indent: &str, keyword: &str, name: &str) -> Result<(), String> {
    let name = name.trim();
    if name.is_empty() || name.contains(['\n', '\r']) {
        return Err(format!("a {keyword} needs a name of one line, not `{name}`"));
    }
    let _ = writeln!(out, "{indent}{keyword}: {name}");
    Ok(())
}

fn tags(out: &mut String, indent: &str, fields: &Map<String, Value>) -> Result<(), String> {
    let Some(tags) = fields.get("tags").and_then(Value::as_array).filter(|t| !t.is_empty()) else {
        return Ok(());
    };
    let tags = tags.iter().map(|tag| {
        let tag = tag.as_str().unwrap_or_default().trim_start_matches('@');
        let sound =
            !tag.is_empty() && !tag.contains(|c: char| c.is_whitespace() || c == '@' || c == '#');
        sound.then(|| format!("@{tag}")).ok_or_else(|| format!("`{tag}` is not a tag"))
    });
    let tags: Vec<String> = tags.collect::<Result<_, String>>()?;
    let _ = writeln!(out, "{indent}{}", tags.join(" "));
    Ok(())
}

/// Free text may not begin like a keyword: it would be one.
fn described(out: &mut String, indent: &str, fields: &Map<String, Value>) -> Result<(), String> {
    const TAKEN: [&str; 12] = [
        "Feature",
        "Background",
        "Scenario",
        "Example",
        "Rule",
        "Given ",
        "When ",
        "Then ",
        "And ",
        "But ",
        "* ",
        "Examples",
    ];
    let Some(text) = fields.get("description").and_then(Value::as_str) else { return Ok(()) };
    for line in text.lines().map(str::trim) {
        let taken = TAKEN.iter().any(|word| line.starts_with(word));
        if taken || line.starts_with(['@', '|', '#']) || line.starts_with("\"\"\"") {
            return Err(format!("a description cannot have the line `{line}`"));
        }
        let _ = writeln!(out, "{}", format!("{indent}{line}").trim_end());
    }
    Ok(())
}

#[derive(Debug, Default)]
struct Step {
    keyword: String,
    text: String,
    table: Vec<Vec<String>>,
    doc_string: Option<String>,
}

/// `steps`, or lists under `given`, `when` and `then`.
fn steps(fields: &Map<String, Value>, whose: &str) -> Result<Vec<Step>, String> {
    if let Some(listed) = fields.get("steps") {
        return steps_from(listed, whose);
    }
    let mut steps = Vec::new();
    for (field, keyword) in [("given", "Given"), ("when", "When"), ("then", "Then")] {
        let texts = match fields.get(field) {
            Some(Value::String(text)) => vec![text.as_str()],
            Some(Value::Array(texts)) => texts.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        for (place, text) in texts.into_iter().enumerate() {
            let keyword = if place == 0 { keyword } else { "And" };
            steps.push(step(keyword, text, whose)?);
        }
    }
    Ok(steps)
}

fn steps_from(listed: &Value, whose: &str) -> Result<Vec<Step>, String> {
    let listed = listed.as_array().ok_or_else(|| format!("the steps of `{whose}` are no list"))?;
    let steps = listed.iter().map(|one| match one {
        Value::String(line) => {
            let (keyword, text) = line.trim().split_once(' ').unwrap_or((line, ""));
            step(keyword, text, whose)
        }
        Value::Object(fields) => {
            let text_of = |key: &str| fields.get(key).and_then(Value::as_str).unwrap_or_default();
            let mut made = step(text_of("keyword"), text_of("text"), whose)?;
            made.doc_string = fields.get("doc_string").and_then(Value::as_str).map(str::to_owned);
            made.table = fields.get("table").map_or(Ok(Vec::new()), |rows| table(rows, whose))?;
            Ok(made)
        }
        _ => Err(format!("a step of `{whose}` is neither a line nor an object")),
    });
    steps.collect()
}

fn step(keyword: &str, text: &str, whose: &str) -> Result<Step, String> {
    let text = text.trim();
    if !KEYWORDS.contains(&keyword) {
        let known = "Given, When, Then, And, But or *";
        return Err(format!("a step of `{whose}` begins with `{keyword}`, not with {known}"));
    }
    if text.is_empty() || text.contains(['\n', '\r']) {
        return Err(format!("a step of `{whose}` is not one line of text: `{text}`"));
    }
    Ok(Step { keyword: keyword.to_owned(), text: text.to_owned(), ..Step::default() })
}

fn write_steps(out: &mut String, steps: &[Step]) {
    for step in steps {
        let _ = writeln!(out, "    {} {}", step.keyword, step.text);
        write_table(out, "      ", &step.table);
        if let Some(text) = &step.doc_string {
            out.push_str("      \"\"\"\n");
            for line in text.replace("\"\"\"", "\\\"\\\"\\\"").lines() {
                let _ = writeln!(out, "{}", format!("      {line}").trim_end());
            }
            out.push_str("      \"\"\"\n");
        }
    }
}

fn table(rows: &Value, whose: &str) -> Result<Vec<Vec<String>>, String> {
    let rows = rows.as_array().ok_or_else(|| format!("the table of `{whose}` is no list"))?;
    let rows: Vec<Vec<String>> = rows
        .iter()
        .map(|row| row.as_array().map(|cells| cells.iter().map(cell).collect()))
        .collect::<Option<_>>()
        .ok_or_else(|| format!("a row in the table of `{whose}` is no list"))?;
    let width = rows.first().map_or(0, Vec::len);
    if width == 0 || rows.iter().any(|row| row.len() != width) {
        return Err(format!("the rows in the table of `{whose}` are not equally long"));
    }
    Ok(rows)
}

fn cell(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    text.replace('\\', "\\\\").replace('|', "\\|").replace(['\r', '\n'], "\\n")
}

fn write_table(out: &mut String, indent: &str, rows: &[Vec<String>]) {
    for row in rows {
        let _ = writeln!(out, "{indent}| {} |", row.join(" | "));
    }
}

/// A list of objects, or `{headers, rows}`. Every `<name>` of the steps must be a column.
fn examples(out: &mut String, outline: &Map<String, Value>, steps: &[Step]) -> Result<(), String> {
    let whose = outline.get("name").and_then(Value::as_str).unwrap_or_default();
    let rows = match outline.get("examples") {
        Some(Value::Array(items)) => rows_of_objects(items, whose)?,
        Some(Value::Object(fields)) => {
            let mut all = vec![fields.get("headers").cloned().unwrap_or_default()];
            all.extend(fields.get("rows").and_then(Value::as_array).cloned().unwrap_or_default());
            table(&Value::Array(all), whose)?
        }
        _ => return Err(format!("the outline `{whose}` has no examples")),
    };
    for name in steps.iter().flat_map(|step| placeholders(&step.text)) {
        if !rows[0].iter().any(|column| column == name) {
            return Err(format!(
                "`<{name}>` of the outline `{whose}` is no column of its examples"
            ));
        }
    }
    out.push_str("\n    Examples:\n");
    write_table(out, "      ", &rows);
    Ok(())
}

fn rows_of_objects(items: &[Value], whose: &str) -> Result<Vec<Vec<String>>, String> {
    let first = items.first().and_then(Value::as_object).filter(|first| !first.is_empty());
    let first = first.ok_or_else(|| format!("the outline `{whose}` has no examples"))?;
    let columns: Vec<&String> = first.keys().collect();
    let mut rows = vec![columns.iter().map(|name| cell(&Value::String((*name).clone()))).collect()];
    for item in items {
        let values = columns.iter().map(|name| item.get(name.as_str()).map(cell));
        let row: Option<Vec<String>> = values.collect();
        rows.push(row.ok_or_else(|| format!("an example of `{whose}` lacks a column"))?);
    }
    Ok(rows)
}

fn placeholders(text: &str) -> impl Iterator<Item = &str> {
    text.split('<').skip(1).filter_map(|rest| rest.split_once('>').map(|(name, _)| name))
}
