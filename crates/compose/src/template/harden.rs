//! A template, written anew so that all it builds is paid for.

use std::collections::BTreeSet;
use std::fmt::Write;

use minijinja::machinery::ast::{BinOpKind, CallArg, CompareOpKind, Expr, Stmt, UnaryOpKind};
use minijinja::machinery::{Span, Token, ast, parse, tokenize};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Value, ValueKind};
use minijinja::{Error, ErrorKind};

use super::operators::{ADD, BUILT, COMPARE, CONCAT, MUL, RESERVED, WALKED};

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
            Token::TemplateData(_) | Token::Str(_) | Token::String(_) | Token::Comma => {}
            Token::Int(_) | Token::Float(_) | Token::Colon => {}
            Token::Ident("elif") => elifs += 1,
            Token::Ident(name) if !matches!(name, "and" | "or" | "not" | "is" | "in" | "if") => {}
            _ => operators += 1,
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

    fn body(&mut self, statements: &[Stmt<'_>]) -> Outcome {
        statements.iter().try_for_each(|statement| self.statement(statement))
    }

    fn statement(&mut self, statement: &Stmt<'_>) -> Outcome {
        match statement {
            Stmt::Template(template) => self.body(&template.children),
            Stmt::EmitRaw(raw) => {
                self.open("{{", raw.span());
                self.string(raw.raw);
                self.put(" }}");
                Ok(())
            }
            Stmt::EmitExpr(emit) => {
                self.open("{{", emit.span());
                self.expression(&emit.expr)?;
                self.put(" }}");
                Ok(())
            }
            Stmt::ForLoop(each) => self.for_loop(each),
            Stmt::IfCond(condition) => self.if_condition(condition),
            Stmt::WithBlock(with) => {
                self.open("{%", with.span());
                self.put("with ");
                self.listed(&with.assignments, |this, (target, value)| {
                    this.target(target)?;
                    this.put(" = ");
                    this.expression(value)
                })?;
                self.rest(&with.body, "endwith")
            }
            Stmt::Set(set) => {
                self.open("{%", set.span());
                self.put("set ");
                self.target(&set.target)?;
                self.put(" = ");
                self.expression(&set.expr)?;
                self.put(" %}");
                Ok(())
            }
            Stmt::SetBlock(set) => {
                self.open("{%", set.span());
                self.put("set ");
                self.target(&set.target)?;
                if let Some(filter) = &set.filter {
                    self.put(" | ");
                    self.expression(filter)?;
                }
                self.rest(&set.body, "endset")
            }
            Stmt::FilterBlock(block) => {
                self.open("{%", block.span());
                self.put("filter ");
                self.expression(&block.filter)?;
                self.rest(&block.body, "endfilter")
            }
            Stmt::AutoEscape(_) => {
                Err(refused("there is no `autoescape` here; the filter `escape` escapes"))
            }
            Stmt::Macro(declared) => {
                self.open("{%", declared.span());
                self.put("macro ");
                self.name(declared.name)?;
                self.parameters(declared)?;
                self.rest(&declared.body, "endmacro")
            }
            Stmt::CallBlock(block) => {
                self.open("{%", block.span());
                self.put("call");
                self.parameters(&block.macro_decl)?;
                self.put(" ");
                self.call(&block.call)?;
                self.rest(&block.macro_decl.body, "endcall")
            }
            Stmt::Do(call) => {
                self.open("{%", call.span());
                self.put("do ");
                self.call(&call.call)?;
                self.put(" %}");
                Ok(())
            }
            other => self.template_statement(other),
        }
    }

    /// Statements that have to do with other templates.
    fn template_statement(&mut self, statement: &Stmt<'_>) -> Outcome {
        match statement {
            Stmt::Block(block) => {
                self.open("{%", block.span());
                self.put("block ");
                self.name(block.name)?;
                self.put(if block.required { " required" } else { "" });
                self.rest(&block.body, "endblock")
            }
            Stmt::Extends(extends) => {
                self.open("{%", extends.span());
                self.put("extends ");
                self.expression(&extends.name)?;
                self.put(" %}");
                Ok(())
            }
            Stmt::Include(include) => {
                self.open("{%", include.span());
                self.put("include ");
                self.expression(&include.name)?;
                self.put(if include.ignore_missing { " ignore missing %}" } else { " %}" });
                Ok(())
            }
            Stmt::Import(import) => {
                self.open("{%", import.span());
                self.put("import ");
                self.expression(&import.expr)?;
                self.put(" as ");
                self.target(&import.name)?;
                self.put(" %}");
                Ok(())
            }
            Stmt::FromImport(import) => {
                self.open("{%", import.span());
                self.put("from ");
                self.expression(&import.expr)?;
                self.put(" import ");
                self.listed(&import.names, |this, (name, alias)| {
                    this.target(name)?;
                    let Some(alias) = alias else { return Ok(()) };
                    this.put(" as ");
                    this.target(alias)
                })?;
                self.put(" %}");
                Ok(())
            }
            _ => Err(refused("a tag that is not known here")),
        }
    }

    fn rest(&mut self, body: &[Stmt<'_>], end: &str) -> Outcome {
        self.put(" %}");
        self.body(body)?;
        self.put("{% ");
        self.put(end);
        self.put(" %}");
        Ok(())
    }

    fn for_loop(&mut self, each: &ast::Spanned<ast::ForLoop<'_>>) -> Outcome {
        self.open("{%", each.span());
        self.put("for ");
        self.target(&each.target)?;
        self.put(" in ");
        self.wrapped(WALKED, &each.iter)?;
        if let Some(filter) = &each.filter_expr {
            self.put(" if ");
            self.expression(filter)?;
        }
        self.put(if each.recursive { " recursive %}" } else { " %}" });
        self.body(&each.body)?;
        if !each.else_body.is_empty() {
            self.put("{% else %}");
            self.body(&each.else_body)?;
        }
        self.put("{% endfor %}");
        Ok(())
    }

    fn if_condition(&mut self, first: &ast::Spanned<ast::IfCond<'_>>) -> Outcome {
        let (mut condition, mut word) = (first, "if ");
        loop {
            self.open("{%", condition.span());
            self.put(word);
            self.expression(&condition.expr)?;
            self.put(" %}");
            self.body(&condition.true_body)?;
            match condition.false_body.as_slice() {
                [] => break,
                [Stmt::IfCond(next)] => (condition, word) = (next, "elif "),
                otherwise => {
                    self.put("{% else %}");
                    self.body(otherwise)?;
                    break;
                }
            }
        }
        self.put("{% endif %}");
        Ok(())
    }

    fn parameters(&mut self, declared: &ast::Macro<'_>) -> Outcome {
        let required = declared.args.len() - declared.defaults.len();
        self.put("(");
        let numbered: Vec<(usize, &Expr<'_>)> = declared.args.iter().enumerate().collect();
        self.listed(&numbered, |this, (place, name)| {
            this.target(name)?;
            let Some(default) = place.checked_sub(required).and_then(|n| declared.defaults.get(n))
            else {
                return Ok(());
            };
            this.put("=");
            this.expression(default)
        })?;
        self.put(")");
        Ok(())
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

    /// What is assigned to.
    fn target(&mut self, target: &Expr<'_>) -> Outcome {
        match target {
            Expr::Var(variable) => self.name(variable.id),
            Expr::GetAttr(attribute) => {
                self.target(&attribute.expr)?;
                self.put(".");
                self.put(attribute.name);
                Ok(())
            }
            Expr::List(list) => self.targets(&list.items),
            Expr::Tuple(tuple) => self.targets(&tuple.items),
            _ => Err(refused("this cannot be assigned to")),
        }
    }

    fn targets(&mut self, items: &[Expr<'_>]) -> Outcome {
        self.put("(");
        self.listed(items, |this, item| this.target(item))?;
        self.put(if items.len() == 1 { ",)" } else { ")" });
        Ok(())
    }

    fn wrapped(&mut self, function: &str, inner: &Expr<'_>) -> Outcome {
        self.put(function);
        self.put("(");
        self.expression(inner)?;
        self.put(")");
        Ok(())
    }

    fn expression(&mut self, expression: &Expr<'_>) -> Outcome {
        match expression {
            Expr::Var(variable) => {
                self.mentioned.insert(variable.id.to_owned());
                self.name(variable.id)
            }
            Expr::Const(constant) => self.constant(&constant.value),
            Expr::UnaryOp(unary) => {
                self.put(match unary.op {
                    UnaryOpKind::Not => "(not ",
                    UnaryOpKind::Neg => "(-",
                });
                self.operand(&unary.expr)?;
                self.put(")");
                Ok(())
            }
            Expr::BinOp(binary) => self.binary(binary),
            Expr::Compare(compare) => {
                self.put(COMPARE);
                self.put("(");
                self.expression(&compare.expr)?;
                for step in &compare.ops {
                    let _ = write!(self.out, ", \"{}\", ", comparison(step.op));
                    self.expression(&step.expr)?;
                }
                self.put(")");
                Ok(())
            }
            Expr::IfExpr(choice) => {
                self.put("(");
                self.expression(&choice.true_expr)?;
                self.put(" if ");
                self.expression(&choice.test_expr)?;
                if let Some(otherwise) = &choice.false_expr {
                    self.put(" else ");
                    self.expression(otherwise)?;
                }
                self.put(")");
                Ok(())
            }
            Expr::Filter(filter) => {
                if let Some(inner) = &filter.expr {
                    self.operand(inner)?;
                    self.put("|");
                }
                self.name(filter.name)?;
                self.arguments(&filter.args)
            }
            Expr::Test(test) => {
                self.put("(");
                self.operand(&test.expr)?;
                self.put(" is ");
                self.name(test.name)?;
                self.arguments(&test.args)?;
                self.put(")");
                Ok(())
            }
            other => self.part(other),
        }
    }

    /// Parts of values, and values made of parts.
    fn part(&mut self, expression: &Expr<'_>) -> Outcome {
        match expression {
            Expr::GetAttr(attribute) => {
                self.operand(&attribute.expr)?;
                self.put(".");
                self.put(attribute.name);
                Ok(())
            }
            Expr::GetItem(item) => {
                self.wrapped(WALKED, &item.expr)?;
                self.put("[");
                self.expression(&item.subscript_expr)?;
                self.put("]");
                Ok(())
            }
            Expr::Slice(slice) => {
                self.wrapped(WALKED, &slice.expr)?;
                self.put("[");
                for (place, bound) in [&slice.start, &slice.stop, &slice.step].iter().enumerate() {
                    self.put(if place == 0 { "" } else { ":" });
                    bound.as_ref().map_or(Ok(()), |bound| self.expression(bound))?;
                }
                self.put("]");
                Ok(())
            }
            Expr::Call(call) => self.call(call),
            Expr::List(list) => {
                self.put(BUILT);
                self.put("([");
                self.listed(&list.items, |this, item| this.expression(item))?;
                self.put("])");
                Ok(())
            }
            Expr::Tuple(tuple) => {
                self.put(BUILT);
                self.put("((");
                self.listed(&tuple.items, |this, item| this.expression(item))?;
                self.put(if tuple.items.len() == 1 { ",))" } else { "))" });
                Ok(())
            }
            Expr::Map(map) => {
                self.put(BUILT);
                self.put("({");
                let pairs: Vec<_> = map.keys.iter().zip(&map.values).collect();
                self.listed(&pairs, |this, (key, value)| {
                    this.expression(key)?;
                    this.put(": ");
                    this.expression(value)
                })?;
                self.put("})");
                Ok(())
            }
            _ => Err(refused("an expression that is not known here")),
        }
    }

    /// An expression in front of a `.`, `|` or `is`.
    fn operand(&mut self, expression: &Expr<'_>) -> Outcome {
        let negative = matches!(expression, Expr::Const(constant) if constant.value.is_number());
        self.put(if negative { "(" } else { "" });
        self.expression(expression)?;
        self.put(if negative { ")" } else { "" });
        Ok(())
    }

    fn call(&mut self, call: &ast::Call<'_>) -> Outcome {
        self.operand(&call.expr)?;
        // A recursive loop goes through what it is given.
        let recursion = matches!(&call.expr, Expr::Var(variable) if variable.id == "loop");
        match call.args.as_slice() {
            [CallArg::Pos(inner)] if recursion => {
                self.put("(");
                self.wrapped(WALKED, inner)?;
                self.put(")");
                Ok(())
            }
            [] => {
                self.put("()");
                Ok(())
            }
            arguments => self.arguments(arguments),
        }
    }

    fn arguments(&mut self, arguments: &[CallArg<'_>]) -> Outcome {
        if arguments.is_empty() {
            return Ok(());
        }
        self.put("(");
        self.listed(arguments, |this, argument| match argument {
            CallArg::Pos(value) => this.expression(value),
            CallArg::Kwarg(name, value) => {
                this.name(name)?;
                this.put("=");
                this.expression(value)
            }
            CallArg::PosSplat(value) => {
                this.put("*");
                this.wrapped(WALKED, value)
            }
            CallArg::KwargSplat(value) => {
                this.put("**");
                this.wrapped(BUILT, value)
            }
        })?;
        self.put(")");
        Ok(())
    }

    /// `a + b + c` is one call, and `a and b and c` has one pair of parentheses: depth is precious.
    fn binary(&mut self, binary: &ast::Spanned<ast::BinOp<'_>>) -> Outcome {
        let (open, between) = match binary.op {
            BinOpKind::Add => (ADD, ", "),
            BinOpKind::Mul => (MUL, ", "),
            BinOpKind::Concat => (CONCAT, ", "),
            BinOpKind::ScAnd => ("", " and "),
            BinOpKind::ScOr => ("", " or "),
            BinOpKind::Sub => ("", " - "),
            BinOpKind::Div => ("", " / "),
            BinOpKind::FloorDiv => ("", " // "),
            BinOpKind::Rem => ("", " % "),
            BinOpKind::Pow => ("", " ** "),
            compared => return self.compared(binary, compared),
        };
        let mut operands = vec![&binary.right];
        let mut left = &binary.left;
        // Powers are not grouped from the left.
        while let Expr::BinOp(inner) = left
            && same(inner.op, binary.op)
            && !matches!(binary.op, BinOpKind::Pow)
        {
            operands.push(&inner.right);
            left = &inner.left;
        }
        operands.push(left);
        self.put(open);
        self.put("(");
        for (place, operand) in operands.iter().rev().enumerate() {
            self.put(if place == 0 { "" } else { between });
            self.operand(operand)?;
        }
        self.put(")");
        Ok(())
    }

    fn compared(&mut self, binary: &ast::BinOp<'_>, operator: BinOpKind) -> Outcome {
        let shown = match operator {
            BinOpKind::Eq => "==",
            BinOpKind::Ne => "!=",
            BinOpKind::Lt => "<",
            BinOpKind::Lte => "<=",
            BinOpKind::Gt => ">",
            BinOpKind::Gte => ">=",
            _ => "in",
        };
        self.put(COMPARE);
        self.put("(");
        self.expression(&binary.left)?;
        let _ = write!(self.out, ", \"{shown}\", ");
        self.expression(&binary.right)?;
        self.put(")");
        Ok(())
    }

    fn constant(&mut self, value: &Value) -> Outcome {
        match value.kind() {
            ValueKind::String => self.string(value.as_str().unwrap_or_default()),
            ValueKind::None => self.put("none"),
            ValueKind::Bool | ValueKind::Number => {
                let _ = write!(self.out, "{value}");
            }
            _ => return Err(refused("a constant that is not known here")),
        }
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

fn comparison(operator: CompareOpKind) -> &'static str {
    match operator {
        CompareOpKind::Eq => "==",
        CompareOpKind::Ne => "!=",
        CompareOpKind::Lt => "<",
        CompareOpKind::Lte => "<=",
        CompareOpKind::Gt => ">",
        CompareOpKind::Gte => ">=",
        CompareOpKind::In => "in",
        CompareOpKind::NotIn => "not in",
    }
}

fn same(a: BinOpKind, b: BinOpKind) -> bool {
    std::mem::discriminant(&a) == std::mem::discriminant(&b)
}
