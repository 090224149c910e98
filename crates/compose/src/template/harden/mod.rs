//! A template, written anew so that all it builds is paid for.

mod expression;
mod statement;

use std::collections::BTreeSet;

use minijinja::machinery::{Span, Token, parse, tokenize};
use minijinja::syntax::SyntaxConfig;
use minijinja::{Error, ErrorKind};

use super::operators::RESERVED;

/// Operators in one tag. The engine's parser goes as deep as there are, and a stack has an end.
const MAX_OPERATORS: usize = 400;
/// `elif` tags in one template, for the same reason.
const MAX_ELIFS: usize = 200;

#[derive(Debug)]
pub(crate) struct Hardened {
    pub(crate) source: String,
    /// Every name that stands for a value.
    pub(crate) mentioned: BTreeSet<String>,
}

pub(crate) fn harden(source: &str) -> Result<Hardened, Error> {
    let syntax = syntax()?;
    check_tags(source, &syntax)?;
    let template = parse(source, "<template>", syntax)?;
    let mut writer = Writer {
        out: String::with_capacity(source.len() * 2),
        line: 1,
        mentioned: BTreeSet::new(),
    };
    writer.statement(&template)?;
    Ok(Hardened { source: writer.out, mentioned: writer.mentioned })
}

/// Tags take the line they stand on with them, and a last newline stays: documents are made of
/// lines.
fn syntax() -> Result<SyntaxConfig, Error> {
    SyntaxConfig::builder()
        .trim_blocks(true)
        .lstrip_blocks(true)
        .keep_trailing_newline(true)
        .build()
}

fn check_tags(source: &str, syntax: &SyntaxConfig) -> Result<(), Error> {
    let (mut operators, mut elifs) = (0, 0);
    for token in tokenize(source, false, syntax.clone()) {
        match token?.0 {
            Token::VariableStart | Token::BlockStart => operators = 0,
            Token::Ident("elif") => elifs += 1,
            token => operators += usize::from(is_operator(&token)),
        }
        if operators > MAX_OPERATORS {
            return Err(refused(format!("a tag has more than {MAX_OPERATORS} operators")));
        }
        if elifs > MAX_ELIFS {
            return Err(refused(format!("there are more than {MAX_ELIFS} `elif`s")));
        }
    }
    Ok(())
}

/// Whatever may lie in another of its kind.
fn is_operator(token: &Token<'_>) -> bool {
    match token {
        Token::Ident(name) => matches!(*name, "and" | "or" | "not" | "is" | "in" | "if"),
        Token::TemplateData(_) | Token::Comma | Token::Colon => false,
        value => !matches!(
            value,
            Token::Str(_) | Token::String(_) | Token::Int(_) | Token::Int128(_) | Token::Float(_)
        ),
    }
}

fn refused(problem: impl Into<String>) -> Error {
    Error::new(ErrorKind::SyntaxError, problem.into())
}

struct Writer {
    out: String,
    /// Lines written so far, so that errors name lines of the original.
    line: usize,
    mentioned: BTreeSet<String>,
}

type Outcome = Result<(), Error>;

impl Writer {
    fn put(&mut self, text: &str) {
        self.out.push_str(text);
    }

    /// Opens a tag, and goes on to the line where it stood.
    fn open(&mut self, tag: &str, span: Span) {
        self.put(tag);
        while self.line < usize::from(span.start_line) {
            self.out.push('\n');
            self.line += 1;
        }
        self.out.push(' ');
    }

    fn listed<T>(&mut self, items: &[T], each: impl Fn(&mut Self, &T) -> Outcome) -> Outcome {
        for (place, item) in items.iter().enumerate() {
            self.put(if place == 0 { "" } else { ", " });
            each(self, item)?;
        }
        Ok(())
    }

    fn name(&mut self, name: &str) -> Outcome {
        if name.starts_with(RESERVED) {
            return Err(refused(format!("`{name}`: names that begin with `{RESERVED}` are taken")));
        }
        self.put(name);
        Ok(())
    }

    fn string(&mut self, text: &str) {
        self.out.push('"');
        for c in text.chars() {
            match c {
                '"' => self.put("\\\""),
                '\\' => self.put("\\\\"),
                '\n' => self.put("\\n"),
                '\r' => self.put("\\r"),
                other => self.out.push(other),
            }
        }
        self.out.push('"');
    }
}
