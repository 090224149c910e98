//! Renders a report as Markdown, JSON, or a self-contained HTML page.

use serde_json::Value;

use crate::report::Report;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Markdown,
    Json,
    Html,
}

impl Report {
    pub fn render(&self, format: Format) -> String {
        match format {
            Format::Markdown => markdown(self),
            Format::Json => json(self),
            Format::Html => html(self),
        }
    }
}

/// The report as data, with its Markdown rendering in `markdown`.
fn json(report: &Report) -> String {
    let mut value = serde_json::to_value(report).unwrap_or(Value::Null);
    value["markdown"] = markdown(report).into();
    format!("{value:#}\n")
}

struct Table {
    title: &'static str,
    columns: &'static [&'static str],
    rows: Vec<Vec<String>>,
}

fn tables(report: &Report) -> Vec<Table> {
    let missing = report.top_missing_capabilities.iter().map(|missing| {
        vec![
            missing.capability.clone(),
            missing.count.to_string(),
            missing.requests.to_string(),
            format!("{:?}", missing.confidence).to_lowercase(),
            missing.example_session_ids.join(", "),
        ]
    });
    let failed = report.top_failed_asks.iter().map(|failed| {
        let ids = failed.example_session_ids.join(", ");
        vec![failed.ask.clone(), failed.count.to_string(), failed.tools.join(", "), ids]
    });
    let intents = report.top_intents.iter().map(|intent| {
        let ids = intent.example_session_ids.join(", ");
        vec![intent.intent.clone(), intent.count.to_string(), ids]
    });
    let errors = report.error_patterns.iter().map(|pattern| {
        vec![pattern.tool.clone(), pattern.error.clone(), pattern.count.to_string()]
    });
    let combos = report.tool_combos.iter();
    let combos = combos.map(|combo| vec![combo.tools.join(" → "), combo.count.to_string()]);
    let idle = report.tools_never_called.iter().map(|tool| vec![tool.clone()]);
    vec![
        Table {
            title: "Missing capabilities",
            columns: &["Capability", "Sessions", "Requests", "Confidence", "For example"],
            rows: missing.collect(),
        },
        Table {
            title: "Failed asks",
            columns: &["Ask", "Times", "Tools", "For example"],
            rows: failed.collect(),
        },
        Table {
            title: "Intents",
            columns: &["Intent", "Sessions", "For example"],
            rows: intents.collect(),
        },
        Table { title: "Errors", columns: &["Tool", "Error", "Times"], rows: errors.collect() },
        Table {
            title: "Tools used together",
            columns: &["Tools", "Sessions"],
            rows: combos.collect(),
        },
        Table { title: "Tools never called", columns: &["Tool"], rows: idle.collect() },
    ]
}

fn title(report: &Report) -> String {
    match &report.project_id {
        Some(project) => format!("Gaps of {project}"),
        None => "Gaps".to_owned(),
    }
}

fn summary(report: &Report) -> String {
    let ends = report.outcomes.iter().map(|(outcome, count)| format!("{count} {outcome}"));
    let ends: Vec<String> = ends.collect();
    format!("{} sessions, {} calls: {}", report.sessions, report.calls, ends.join(", "))
}

fn markdown(report: &Report) -> String {
    let mut page = format!("# {}\n\n{}\n", markdown_text(&title(report)), summary(report));
    for table in tables(report) {
        page += &format!("\n## {}\n\n", table.title);
        if table.rows.is_empty() {
            page += "None.\n";
            continue;
        }
        page += &format!(
            "| {} |\n|{}\n",
            table.columns.join(" | "),
            "---|".repeat(table.columns.len())
        );
        for row in table.rows {
            let cells: Vec<String> = row.iter().map(|cell| markdown_text(cell)).collect();
            page += &format!("| {} |\n", cells.join(" | "));
        }
    }
    page
}

/// Escapes text from users, which must not become links or markup.
fn markdown_text(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' => escaped.push(' '),
            '<' => escaped += "&lt;",
            '&' => escaped += "&amp;",
            '\\' | '|' | '`' | '*' | '_' | '[' | ']' | '#' | '!' | '~' => {
                escaped.push('\\');
                escaped.push(c);
            }
            _ => escaped.push(c),
        }
    }
    escaped
}

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;\
padding:0 1rem;color-scheme:light dark}table{border-collapse:collapse;width:100%}\
th,td{text-align:left;padding:.3rem .6rem;border-bottom:1px solid #8886;vertical-align:top}";

fn html(report: &Report) -> String {
    let title = html_text(&title(report));
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <h1>{title}</h1>\n<p>{}</p>\n",
        html_text(&summary(report))
    );
    for table in tables(report) {
        page += &format!("<h2>{}</h2>\n", table.title);
        if table.rows.is_empty() {
            page += "<p>None.</p>\n";
            continue;
        }
        page += "<table>\n<thead><tr>";
        page.extend(table.columns.iter().map(|name| format!("<th scope=\"col\">{name}</th>")));
        page += "</tr></thead>\n<tbody>\n";
        for row in table.rows {
            page += "<tr>";
            page.extend(row.iter().map(|cell| format!("<td>{}</td>", html_text(cell))));
            page += "</tr>\n";
        }
        page += "</tbody>\n</table>\n";
    }
    page + "</main>\n</body>\n</html>\n"
}

fn html_text(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\'' => escaped += "&#39;",
            _ => escaped.push(c),
        }
    }
    escaped
}
