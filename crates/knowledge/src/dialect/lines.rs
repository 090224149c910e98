//! What is recognised line by line: admonitions, tabs, attribute lines, imports, code in shortcodes.

use super::{Dialect, attributes};

/// Consecutive lines that are code, or that are not.
pub(super) struct Run {
    pub(super) is_code: bool,
    pub(super) text: String,
}

/// Encloses code that was between shortcodes.
const SHORTCODE_FENCE: &str = "~~~~~~~~";

/// A code fence: its character, its length, and how much indentation its lines lose.
#[derive(Clone, Copy)]
struct Fence {
    mark: char,
    length: usize,
    dedent: usize,
}

enum State {
    Text,
    Fence(Fence),
    /// Code between shortcodes, up to a line that starts with this.
    Shortcode(&'static str),
    /// An import or export that goes on, with so many open brackets.
    Module(i32),
    /// Options of the block that was just opened, in lines indented deeper than this.
    Options(usize),
}

/// What a line means besides its text.
enum Marker<'a> {
    /// Opens a block whose lines are indented by four.
    Indented(&'a str),
    /// Opens or closes a block whose lines are not indented; options may follow.
    Delimiter(&'a str),
    Nothing,
}

struct Unwrapper {
    dialect: Dialect,
    state: State,
    /// The indentation of the lines of each open block.
    blocks: Vec<usize>,
    in_list: bool,
    runs: Vec<Run>,
}

/// The lines of `markdown` without the marks of blocks and the indentation that these ask for.
pub(super) fn unwrapped(markdown: &str, dialect: Dialect) -> Vec<Run> {
    let mut unwrapper = Unwrapper {
        dialect,
        state: State::Text,
        blocks: Vec::new(),
        in_list: false,
        runs: Vec::new(),
    };
    for line in markdown.split_inclusive('\n') {
        unwrapper.line(line.trim_end_matches(['\n', '\r']));
    }
    unwrapper.runs
}

impl Unwrapper {
    fn line(&mut self, line: &str) {
        let indent = indentation(line);
        let trimmed = line.trim_start();
        match self.state {
            State::Fence(fence) => {
                self.push(true, dedented(line, fence.dedent));
                if closes(trimmed, fence) {
                    self.state = State::Text;
                }
            }
            State::Shortcode(end) if trimmed.starts_with(end) => {
                self.push(true, SHORTCODE_FENCE);
                self.state = State::Text;
            }
            State::Shortcode(_) => self.push(true, line),
            State::Module(depth) => self.module(depth, line),
            State::Options(above) if indent > above && !trimmed.is_empty() => {}
            State::Options(_) | State::Text => {
                self.state = State::Text;
                self.text(line, trimmed, indent);
            }
        }
    }

    fn text(&mut self, line: &str, trimmed: &str, indent: usize) {
        if trimmed.is_empty() {
            self.push(false, "");
            return;
        }
        while self.blocks.last().is_some_and(|&wanted| wanted > indent) {
            self.blocks.pop();
        }
        let strip = self.blocks.last().copied().unwrap_or_default();
        if is_list_item(trimmed) {
            self.in_list = true;
        } else if indent == strip {
            self.in_list = false;
        }
        let loose = self.dialect == Dialect::Mdx && !self.in_list;
        let dedent = if loose { indent } else { strip };
        if let Some((mark, length)) = fence(trimmed) {
            self.state = State::Fence(Fence { mark, length, dedent });
            self.push(true, dedented(line, dedent));
        } else if let Some(end) = code_shortcode(trimmed) {
            self.state = State::Shortcode(end);
            self.push(true, SHORTCODE_FENCE);
        } else if self.dialect == Dialect::Mdx && indent == 0 && is_module_start(trimmed) {
            self.module(0, line);
        } else {
            self.marked(dedented(line, dedent), trimmed, indent);
        }
    }

    fn marked(&mut self, line: &str, trimmed: &str, indent: usize) {
        match marker(trimmed) {
            Some(Marker::Indented(title)) => {
                self.title(title);
                self.blocks.push(indent + 4);
            }
            Some(Marker::Delimiter(title)) => {
                self.title(title);
                if trimmed.contains(|c: char| c.is_alphanumeric()) && has_options(trimmed) {
                    self.state = State::Options(indent + 3);
                }
            }
            Some(Marker::Nothing) => self.push(false, ""),
            None => match without_alert(line) {
                Some(quote) => self.push(false, &quote),
                None => self.push(false, line),
            },
        }
    }

    fn title(&mut self, title: &str) {
        self.push(false, "");
        if !title.is_empty() {
            self.push(false, title);
            self.push(false, "");
        }
    }

    /// Drops a line of an import or export, which ends where its brackets are closed.
    fn module(&mut self, depth: i32, line: &str) {
        let change: i32 = line
            .chars()
            .map(|c| match c {
                '{' | '(' | '[' => 1,
                '}' | ')' | ']' => -1,
                _ => 0,
            })
            .sum();
        let depth = depth + change;
        self.state = if depth > 0 { State::Module(depth) } else { State::Text };
    }

    fn push(&mut self, is_code: bool, line: &str) {
        if self.runs.last().is_none_or(|run| run.is_code != is_code) {
            self.runs.push(Run { is_code, text: String::new() });
        }
        if let Some(run) = self.runs.last_mut() {
            run.text.push_str(line);
            run.text.push('\n');
        }
    }
}

/// The lines that are not inside fences.
pub(super) fn outside_code(text: &str) -> impl Iterator<Item = &str> {
    let mut open: Option<Fence> = None;
    text.lines().filter(move |line| {
        let trimmed = line.trim_start();
        match (open, fence(trimmed)) {
            (Some(fence), _) => {
                if closes(trimmed, fence) {
                    open = None;
                }
                false
            }
            (None, Some((mark, length))) => {
                open = Some(Fence { mark, length, dedent: 0 });
                false
            }
            (None, None) => true,
        }
    })
}

/// `import X from "y"`, in one line.
pub(super) fn is_module_line(line: &str) -> bool {
    line.strip_prefix("import ").is_some_and(|rest| {
        let rest = rest.trim_end().trim_end_matches(';');
        rest.ends_with(['"', '\'']) && (rest.contains(" from ") || rest.starts_with(['"', '\'']))
    })
}

fn is_module_start(line: &str) -> bool {
    const EXPORTS: [&str; 8] =
        ["const", "let", "var", "function", "class", "default", "async", "type"];
    if let Some(rest) = line.strip_prefix("export ") {
        let word = rest.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
        return EXPORTS.contains(&word) || rest.starts_with(['{', '*']);
    }
    is_module_line(line)
        || line.trim_end() == "import {"
        || line.starts_with("import { ") && !line.contains('}')
}

fn fence(trimmed: &str) -> Option<(char, usize)> {
    let mark = trimmed.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = trimmed.chars().take_while(|&c| c == mark).count();
    (length >= 3 && !(mark == '`' && trimmed[length..].contains('`'))).then_some((mark, length))
}

fn closes(trimmed: &str, fence: Fence) -> bool {
    let rest = trimmed.trim_end();
    rest.len() >= fence.length && rest.chars().all(|c| c == fence.mark)
}

fn code_shortcode(trimmed: &str) -> Option<&'static str> {
    if trimmed.starts_with("{% highlight") {
        Some("{% endhighlight")
    } else if trimmed.starts_with("{{< highlight") && !trimmed.contains("/>}}") {
        Some("{{< /highlight")
    } else {
        None
    }
}

fn marker(line: &str) -> Option<Marker<'_>> {
    let line = line.trim_end();
    if let Some(rest) = line.strip_prefix("!!!").or_else(|| line.strip_prefix("???")) {
        return admonition(rest.strip_prefix('+').unwrap_or(rest)).map(Marker::Indented);
    }
    if let Some(rest) = line.strip_prefix("===") {
        let rest = rest.strip_prefix(['!', '+']).unwrap_or(rest).trim_start();
        return quoted(rest).map(Marker::Indented);
    }
    if line.starts_with("///") {
        return slashes(line.trim_start_matches('/')).map(Marker::Delimiter);
    }
    if line.starts_with(":::") {
        return colons(line.trim_start_matches(':').trim()).map(Marker::Delimiter);
    }
    let is_for_tools = attributes::is_line(line)
        || line.starts_with("--8<--")
        || ["[TOC]", "[[toc]]", "[[_TOC_]]"].iter().any(|mark| line.eq_ignore_ascii_case(mark));
    is_for_tools.then_some(Marker::Nothing)
}

/// ` note inline "Title"`: a type, then an optional title in quotes.
fn admonition(rest: &str) -> Option<&str> {
    let rest = rest.strip_prefix([' ', '\t'])?.trim();
    let at = rest.find(['"', '\'']).unwrap_or(rest.len());
    let (kinds, title) = rest.split_at(at);
    let is_kind = |word: &str| word.chars().all(|c| c.is_alphanumeric() || "-_".contains(c));
    let is_opening = !kinds.trim().is_empty() && kinds.split_whitespace().all(is_kind);
    is_opening.then(|| quoted(title).unwrap_or_default())
}

fn quoted(text: &str) -> Option<&str> {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    text[1..].rfind(quote).map(|end| &text[1..=end])
}

/// ` note | Title`, or nothing, which closes.
fn slashes(rest: &str) -> Option<&str> {
    let (kind, title) = rest.split_once('|').unwrap_or((rest, ""));
    let is_kind = kind.trim().chars().all(|c| c.is_alphanumeric() || "-_".contains(c));
    is_kind.then_some(title.trim())
}

/// `tip Title`, `tip[Title]`, `{note} Title`, `pkg.module`, or nothing, which closes.
fn colons(rest: &str) -> Option<&str> {
    if let Some(inside) = rest.strip_prefix('{') {
        return inside.split_once('}').map(|(_, title)| title.trim());
    }
    let end =
        rest.find(|c: char| !(c.is_alphanumeric() || "-_.:".contains(c))).unwrap_or(rest.len());
    let (kind, title) = rest.split_at(end);
    if kind.contains('.') {
        return Some(kind);
    }
    let title = title.split_once('{').map_or(title, |(title, _)| title).trim();
    let bracketed = title.strip_prefix('[').and_then(|title| title.strip_suffix(']'));
    Some(bracketed.unwrap_or(title))
}

/// Blocks whose options are YAML in indented lines below the mark.
fn has_options(line: &str) -> bool {
    line.starts_with("///") || line.trim_start_matches(':').trim().contains('.')
}

/// `> [!NOTE] Title` → `> Title`.
fn without_alert(line: &str) -> Option<String> {
    let at = line.find("[!")?;
    let quote = &line[..at];
    if !quote.contains('>') || !quote.chars().all(|c| c == '>' || c.is_whitespace()) {
        return None;
    }
    let (kind, title) = line[at + 2..].split_once(']')?;
    let is_kind = kind.chars().all(|c| c.is_alphanumeric() || "-_|".contains(c));
    let title = title.trim_start_matches(['+', '-']).trim();
    // A blank line inside the quote, so that the title is a paragraph of its own.
    let gap = if title.is_empty() { String::new() } else { format!("\n{quote}") };
    (is_kind && !kind.is_empty()).then(|| format!("{quote}{title}{gap}"))
}

fn is_list_item(trimmed: &str) -> bool {
    let rest = trimmed.trim_start_matches(|c: char| c.is_ascii_digit());
    let mark = if rest.len() < trimmed.len() { ['.', ')', '.'] } else { ['-', '*', '+'] };
    rest.strip_prefix(mark).is_some_and(|rest| rest.starts_with([' ', '\t']))
}

fn indentation(line: &str) -> usize {
    let white = line.chars().take_while(|c| matches!(c, ' ' | '\t'));
    white.map(|c| if c == '\t' { 4 } else { 1 }).sum()
}

/// `line` without up to `columns` of indentation.
fn dedented(line: &str, columns: usize) -> &str {
    let mut left = columns;
    for (at, c) in line.char_indices() {
        let width = match c {
            ' ' => 1,
            '\t' => 4,
            _ => return &line[at..],
        };
        if left < width {
            return &line[at..];
        }
        left -= width;
    }
    ""
}
