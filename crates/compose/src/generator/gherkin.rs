//! `bdd_scenario_assembly`: writes Gherkin from a feature, scenarios and outlines given as data.

use std::fmt::Write;

use serde_json::{Map, Value, json};

use super::fill::lookup;
use super::metadata::{Metadata, Requirements, list};
use super::{Generated, Generator, Job};
use crate::error::Result;

pub(super) const TYPE: &str = "bdd_scenario_assembly";
const KEYWORDS: [&str; 6] = ["Given", "When", "Then", "And", "But", "*"];
/// What begins a section; `Example` is also the beginning of `Examples`.
const SECTIONS: [&str; 5] = ["Feature", "Background", "Scenario", "Example", "Rule"];
const FIELDS: [&str; 4] = ["feature", "background", "scenarios", "outlines"];

type Fields = Map<String, Value>;
/// The error is what is wrong with the data.
type Parsed<T> = Result<T, String>;

#[derive(Debug)]
pub(super) struct BddScenarioAssembly;

impl Generator for BddScenarioAssembly {
    fn metadata(&self) -> Metadata {
        let description = "Writes a .feature file from feature, background, scenarios and \
                           outlines, given in generation_config or in the context; with \
                           generation_config.from, from the nodes of a plan";
        Metadata {
            capabilities: list("gherkin; scenarios; outlines; tables"),
            requirements: Requirements::field("generation.patterns[0].generation_config.feature"),
            best_for: list("acceptance tests; plans that are to become scenarios"),
            ..Metadata::builtin(TYPE, "BddScenarioAssembly", description)
        }
    }

    fn generate(&self, job: &Job<'_>) -> Result<Generated> {
        let (mut generated, mut data) = (Generated::default(), Map::new());
        for field in FIELDS {
            let given = job.context.get(field);
            if given.is_some() {
                generated.mentioned.insert(field.to_owned());
            }
            if let Some(value) = given.or(job.pattern.generation_config.get(field)) {
                data.insert(field.to_owned(), value.clone());
            }
        }
        if let Some(from) = job.pattern.generation_config.get("from").and_then(Value::as_str) {
            generated.mentioned.insert(from.split('.').next().unwrap_or(from).to_owned());
            let nodes = lookup(job.context, from).and_then(Value::as_array);
            let nodes =
                nodes.ok_or_else(|| job.fails(format!("`{from}` is not a list of nodes")))?;
            from_nodes(&mut data, nodes);
        }
        generated.text = document(&data).map_err(|problem| job.fails(problem))?;
        job.check_output(&generated.text)?;
        Ok(generated)
    }
}

/// The first node of type `plan` names the feature; every other node is a scenario, whose steps are
/// the lines of its text that begin with a keyword.
fn from_nodes(data: &mut Fields, nodes: &[Value]) {
    let text = |node: &Value, key: &str| node[key].as_str().unwrap_or_default().to_owned();
    let plan = nodes.iter().position(|node| node["type"] == "plan");
    if let Some(plan) = plan
        && !data.contains_key("feature")
    {
        data.insert("feature".to_owned(), Value::String(text(&nodes[plan], "title")));
    }
    let others = nodes.iter().enumerate().filter(|(index, _)| Some(*index) != plan);
    let scenarios = others.map(|(_, node)| {
        let steps: Vec<String> = text(node, "text").lines().filter_map(step_of).collect();
        json!({"name": text(node, "title"), "steps": steps})
    });
    data.entry("scenarios").or_insert_with(|| scenarios.collect());
}

/// `- **Given** a user` is the step `Given a user`.
fn step_of(line: &str) -> Option<String> {
    let line = line.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '-' | '*' | '+'));
    let line = line.replace("**", "");
    let (keyword, rest) = line.split_once(' ')?;
    let is_step = KEYWORDS.contains(&keyword) && keyword != "*" && !rest.trim().is_empty();
    is_step.then(|| format!("{keyword} {}", rest.trim()))
}

fn document(data: &Fields) -> Parsed<String> {
    let feature = match data.get("feature").ok_or("`feature` is missing")? {
        Value::String(name) => &Fields::from_iter([("name".to_owned(), json!(name))]),
        Value::Object(fields) => fields,
        _ => return Err("`feature` is neither a name nor an object".to_owned()),
    };
    let mut out = String::new();
    tags(&mut out, "", feature)?;
    headline(&mut out, "", "Feature", text_of(feature, "name"))?;
    description(&mut out, "  ", feature)?;
    if let Some(background) = data.get("background").filter(|value| !value.is_null()) {
        out.push_str("\n  Background:\n");
        let steps = match background {
            Value::Object(fields) => steps(fields, "background")?,
            listed => steps_from(listed, "background")?,
        };
        write_steps(&mut out, &steps);
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

fn text_of<'a>(fields: &'a Fields, key: &str) -> &'a str {
    fields.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn objects<'a>(data: &'a Fields, field: &str) -> Parsed<Vec<&'a Fields>> {
    let Some(value) = data.get(field).filter(|value| !value.is_null()) else {
        return Ok(Vec::new());
    };
    let items = value.as_array().ok_or_else(|| format!("`{field}` is not a list"))?;
    let objects = items.iter().enumerate().map(|(index, item)| {
        item.as_object().ok_or_else(|| format!("`{field}[{index}]` is not an object"))
    });
    objects.collect()
}

fn section(out: &mut String, keyword: &str, fields: &Fields) -> Parsed<Vec<Step>> {
    out.push('\n');
    tags(out, "  ", fields)?;
    let name = text_of(fields, "name");
    headline(out, "  ", keyword, name)?;
    description(out, "    ", fields)?;
    let steps = steps(fields, name)?;
    write_steps(out, &steps);
    Ok(steps)
}

fn headline(out: &mut String, indent: &str, keyword: &str, name: &str) -> Parsed<()> {
    let name = name.trim();
    if name.is_empty() || name.contains(['\n', '\r']) {
        return Err(format!("a {keyword} needs a name of one line, not `{name}`"));
    }
    let _ = writeln!(out, "{indent}{keyword}: {name}");
    Ok(())
}

fn tags(out: &mut String, indent: &str, fields: &Fields) -> Parsed<()> {
    let Some(tags) = fields.get("tags").and_then(Value::as_array).filter(|t| !t.is_empty()) else {
        return Ok(());
    };
    let tags = tags.iter().map(|tag| {
        let tag = tag.as_str().unwrap_or_default().trim_start_matches('@');
        let valid =
            !tag.is_empty() && !tag.contains(|c: char| c.is_whitespace() || c == '@' || c == '#');
        valid.then(|| format!("@{tag}")).ok_or_else(|| format!("`{tag}` is not a tag"))
    });
    let tags: Vec<String> = tags.collect::<Parsed<_>>()?;
    let _ = writeln!(out, "{indent}{}", tags.join(" "));
    Ok(())
}

/// A line of free text may not begin like a keyword: a parser would read it as one.
fn description(out: &mut String, indent: &str, fields: &Fields) -> Parsed<()> {
    let is_keyword = |line: &str| {
        let is_step =
            |keyword| line.strip_prefix(keyword).is_some_and(|rest| rest.starts_with(' '));
        SECTIONS.iter().any(|section| line.starts_with(section))
            || KEYWORDS.into_iter().any(is_step)
            || line.starts_with(['@', '|', '#'])
            || line.starts_with("\"\"\"")
    };
    for line in text_of(fields, "description").lines().map(str::trim) {
        if is_keyword(line) {
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
fn steps(fields: &Fields, owner: &str) -> Parsed<Vec<Step>> {
    if let Some(listed) = fields.get("steps") {
        return steps_from(listed, owner);
    }
    let mut steps = Vec::new();
    for (field, keyword) in [("given", "Given"), ("when", "When"), ("then", "Then")] {
        let texts = match fields.get(field) {
            Some(Value::String(text)) => vec![text.as_str()],
            Some(Value::Array(texts)) => texts.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        for (index, text) in texts.into_iter().enumerate() {
            let keyword = if index == 0 { keyword } else { "And" };
            steps.push(step(keyword, text, owner)?);
        }
    }
    Ok(steps)
}

fn steps_from(listed: &Value, owner: &str) -> Parsed<Vec<Step>> {
    let listed = listed.as_array().ok_or_else(|| format!("the steps of `{owner}` are no list"))?;
    let steps = listed.iter().map(|one| match one {
        Value::String(line) => {
            let (keyword, text) = line.trim().split_once(' ').unwrap_or((line, ""));
            step(keyword, text, owner)
        }
        Value::Object(fields) => {
            let mut parsed = step(text_of(fields, "keyword"), text_of(fields, "text"), owner)?;
            parsed.doc_string = fields.get("doc_string").and_then(Value::as_str).map(str::to_owned);
            parsed.table = fields.get("table").map_or(Ok(Vec::new()), |rows| table(rows, owner))?;
            Ok(parsed)
        }
        _ => Err(format!("a step of `{owner}` is neither a line nor an object")),
    });
    steps.collect()
}

fn step(keyword: &str, text: &str, owner: &str) -> Parsed<Step> {
    let text = text.trim();
    if !KEYWORDS.contains(&keyword) {
        let known = "Given, When, Then, And, But or *";
        return Err(format!("a step of `{owner}` begins with `{keyword}`, not with {known}"));
    }
    if text.is_empty() || text.contains(['\n', '\r']) {
        return Err(format!("a step of `{owner}` is not one line of text: `{text}`"));
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

fn table(rows: &Value, owner: &str) -> Parsed<Vec<Vec<String>>> {
    let rows = rows.as_array().ok_or_else(|| format!("the table of `{owner}` is no list"))?;
    let rows: Vec<Vec<String>> = rows
        .iter()
        .map(|row| row.as_array().map(|cells| cells.iter().map(cell).collect()))
        .collect::<Option<_>>()
        .ok_or_else(|| format!("a row in the table of `{owner}` is no list"))?;
    let width = rows.first().map_or(0, Vec::len);
    if width == 0 || rows.iter().any(|row| row.len() != width) {
        return Err(format!("the rows in the table of `{owner}` are not equally long"));
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
fn examples(out: &mut String, outline: &Fields, steps: &[Step]) -> Parsed<()> {
    let owner = text_of(outline, "name");
    let rows = match outline.get("examples") {
        Some(Value::Array(items)) => rows_of_objects(items, owner)?,
        Some(Value::Object(fields)) => {
            let mut all = vec![fields.get("headers").cloned().unwrap_or_default()];
            all.extend(fields.get("rows").and_then(Value::as_array).cloned().unwrap_or_default());
            table(&Value::Array(all), owner)?
        }
        _ => return Err(format!("the outline `{owner}` has no examples")),
    };
    for name in steps.iter().flat_map(|step| placeholders(&step.text)) {
        if !rows[0].iter().any(|column| column == name) {
            return Err(format!(
                "`<{name}>` of the outline `{owner}` is no column of its examples"
            ));
        }
    }
    out.push_str("\n    Examples:\n");
    write_table(out, "      ", &rows);
    Ok(())
}

fn rows_of_objects(items: &[Value], owner: &str) -> Parsed<Vec<Vec<String>>> {
    let first = items.first().and_then(Value::as_object).filter(|first| !first.is_empty());
    let first = first.ok_or_else(|| format!("the outline `{owner}` has no examples"))?;
    let columns: Vec<&String> = first.keys().collect();
    let mut rows = vec![columns.iter().map(|name| cell(&Value::String((*name).clone()))).collect()];
    for item in items {
        let values = columns.iter().map(|name| item.get(name.as_str()).map(cell));
        let row: Option<Vec<String>> = values.collect();
        rows.push(row.ok_or_else(|| format!("an example of `{owner}` lacks a column"))?);
    }
    Ok(rows)
}

fn placeholders(text: &str) -> impl Iterator<Item = &str> {
    text.split('<').skip(1).filter_map(|rest| rest.split_once('>').map(|(name, _)| name))
}
