//! Rewrites a template so that every operation that can grow a value is charged to the budget.

mod expression;
mod statement;

use std::collections::BTreeSet;

use minijinja::machinery::{Span, Token, parse, tokenize};
use minijinja::syntax::SyntaxConfig;
use minijinja::{Error, ErrorKind};

use super::operators::RESERVED;

/// Operators in one tag. The engine's parser recurses once per operator, and the stack is finite.
const MAX_OPERATORS: usize = 400;
/// `elif` tags in one template, for the same reason.
const MAX_ELIFS: usize = 200;

#[derive(Debug)]
pub(crate) struct Hardened {
    pub(crate) source: String,
    /// Every variable that the template reads.
    pub(crate) mentioned: BTreeSet<String>,
}

pub(crate) fn harden(source: &str) -> Result<Hardened, Error> {
    let syntax = syntax()?;
    check_nesting(source, &syntax)?;
    let template = parse(source, "<template>", syntax)?;
    let out = String::with_capacity(source.len() * 2);
    let mut writer = Writer { out, line: 1, mentioned: BTreeSet::new() };
    writer.statement(&template)?;
    Ok(Hardened { source: writer.out, mentioned: writer.mentioned })
}

/// Block tags swallow the line they stand on, and a trailing newline stays: the output is a
/// document made of lines.
fn syntax() -> Result<SyntaxConfig, Error> {
    SyntaxConfig::builder()
        .trim_blocks(true)
        .lstrip_blocks(true)
        .keep_trailing_newline(true)
        .build()
}

/// Rejects sources that would overflow the stack of the parser, before parsing.
fn check_nesting(source: &str, syntax: &SyntaxConfig) -> Result<(), Error> {
    let (mut operators, mut elifs) = (0, 0);
    for token in tokenize(source, false, syntax.clone()) {
        match token?.0 {
            Token::VariableStart | Token::BlockStart => operators = 0,
            Token::Ident("elif") => elifs += 1,
            token => operators += usize::from(can_nest(&token)),
        }
        if operators > MAX_OPERATORS {
            return Err(syntax_error(format!("a tag has more than {MAX_OPERATORS} operators")));
        }
        if elifs > MAX_ELIFS {
            return Err(syntax_error(format!("there are more than {MAX_ELIFS} `elif`s")));
        }
    }
    Ok(())
}

fn can_nest(token: &Token<'_>) -> bool {
    match token {
        Token::Ident(name) => matches!(*name, "and" | "or" | "not" | "is" | "in" | "if"),
        Token::TemplateData(_) | Token::Comma | Token::Colon => false,
        value => !matches!(
            value,
            Token::Str(_) | Token::String(_) | Token::Int(_) | Token::Int128(_) | Token::Float(_)
        ),
    }
}

fn syntax_error(problem: impl Into<String>) -> Error {
    Error::new(ErrorKind::SyntaxError, problem.into())
}

/// Writes the syntax tree back as a template. Methods return the writer, so that calls chain.
struct Writer {
    out: String,
    /// Lines written so far, so that errors name lines of the original.
    line: usize,
    mentioned: BTreeSet<String>,
}

type Written<'w> = Result<&'w mut Writer, Error>;

impl Writer {
    fn put(&mut self, text: &str) -> &mut Self {
        self.out.push_str(text);
        self
    }

    /// Opens a tag, padded with newlines to the line of the original.
    fn open(&mut self, tag: &str, span: Span) -> &mut Self {
        self.put(tag);
        while self.line < usize::from(span.start_line) {
            self.out.push('\n');
            self.line += 1;
        }
        self.put(" ")
    }

    fn block_tag(&mut self, span: Span, keyword: &str) -> &mut Self {
        self.open("{%", span).put(keyword)
    }

    fn list<T>(
        &mut self,
        items: &[T],
        each: impl for<'w> Fn(&'w mut Self, &T) -> Written<'w>,
    ) -> Written<'_> {
        for (index, item) in items.iter().enumerate() {
            each(self.put(if index == 0 { "" } else { ", " }), item)?;
        }
        Ok(self)
    }

    fn name(&mut self, name: &str) -> Written<'_> {
        if name.starts_with(RESERVED) {
            let problem = format!("`{name}`: names that begin with `{RESERVED}` are reserved");
            return Err(syntax_error(problem));
        }
        Ok(self.put(name))
    }

    fn string(&mut self, text: &str) -> &mut Self {
        self.out.push('"');
        for c in text.chars() {
            match c {
                '"' => self.out.push_str("\\\""),
                '\\' => self.out.push_str("\\\\"),
                '\n' => self.out.push_str("\\n"),
                '\r' => self.out.push_str("\\r"),
                other => self.out.push(other),
            }
        }
        self.put("\"")
    }
}
