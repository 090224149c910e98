//! What redaction takes away although it is no secret: from tool arguments and from documentation.

use std::fs;
use std::path::{Path, PathBuf};

use kenning_gaps::Redactor;
use serde_json::Value;

/// Written by hand before the rules were tried on it; no line has a secret.
static TOOL_ARGUMENTS: &str = include_str!("tool_arguments.txt");

/// So many lines are taken from the crates in Cargo's registry, evenly, unless
/// `KENNING_TEST_DOC_LINES` says how many.
const FROM_CRATES: usize = 20_000;

/// mcpeye's contract redacts addresses and numbers that may be a phone's, however loosely.
const TAKEN_BY_CONTRACT: [&str; 2] =
    ["postgres://app@db.internal/app", "{\"isbn\": \"978-3-16-148410\"}"];

#[test]
fn ordinary_tool_arguments_are_kept() {
    let redactor = Redactor::default();
    let mut changed = Vec::new();
    for line in TOOL_ARGUMENTS.lines() {
        let kept = match serde_json::from_str::<Value>(line) {
            Ok(value) => redactor.value(&value) == value,
            Err(_) => redactor.text(line) == line,
        };
        if !kept && !TAKEN_BY_CONTRACT.contains(&line) {
            changed.push(line);
        }
    }
    println!("{} of {} lines lost something", changed.len(), TOOL_ARGUMENTS.lines().count());
    assert!(changed.is_empty(), "{}", changed.join("\n"));
}

#[test]
fn documentation_keeps_its_text() {
    let redactor = Redactor::default();
    let mut lines = markdown_lines(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
    let own = lines.len();
    let crates =
        cargo_home().map(|home| markdown_lines(&home.join("registry/src"))).unwrap_or_default();
    let wanted = std::env::var("KENNING_TEST_DOC_LINES")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(FROM_CRATES);
    let step = crates.len().div_ceil(wanted).max(1);
    lines.extend(crates.into_iter().step_by(step));
    let changed: Vec<(&String, String)> = lines
        .iter()
        .map(|line| (line, redactor.text(line)))
        .filter(|(line, redacted)| redacted.as_str() != without_addresses(line, redacted))
        .collect();
    let share = changed.len() * 1_000;
    println!("{own} lines of ours, {} in all: {} lost something", lines.len(), changed.len());
    let shown = changed.iter().map(|(line, redacted)| format!("- {line}\n+ {redacted}"));
    let shown: Vec<String> = shown.collect();
    println!("{}", shown.join("\n"));
    assert!(
        share < lines.len(),
        "{} of {} lines:\n{}",
        changed.len(),
        lines.len(),
        shown.join("\n")
    );
}

/// E-mail addresses are always redacted, and documentation has many. A line that lost nothing else
/// counts as kept.
fn without_addresses<'t>(line: &'t str, redacted: &'t str) -> &'t str {
    let others = redacted.replace("[REDACTED_EMAIL]", "");
    if others.contains("[REDACTED_") { line } else { redacted }
}

fn cargo_home() -> Option<PathBuf> {
    let set = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    set.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")))
}

fn markdown_lines(folder: &Path) -> Vec<String> {
    let mut files = Vec::new();
    collect(folder, &mut files);
    files.sort();
    let texts =
        files.iter().map(|file| String::from_utf8_lossy(&fs::read(file).unwrap()).into_owned());
    let lines = texts.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>());
    lines.filter(|line| !line.trim().is_empty()).collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let hidden = name.to_string_lossy().starts_with('.') || name == "target";
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && !hidden => collect(&path, files),
            Ok(kind) if kind.is_file() && path.extension().is_some_and(|end| end == "md") => {
                files.push(path);
            }
            _ => {}
        }
    }
}
