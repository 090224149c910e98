//! Expressions inside tags.

use minijinja::machinery::ast::{self, BinOpKind, CallArg, CompareOpKind, Expr, UnaryOpKind};
use minijinja::value::{Value, ValueKind};

use super::super::operators::{ADD, BUILT, COMPARE, CONCAT, MUL, WALKED};
use super::{Writer, Written, syntax_error};

impl Writer {
    pub(super) fn wrapped(&mut self, function: &str, inner: &Expr<'_>) -> Written<'_> {
        Ok(self.put(function).put("(").expression(inner)?.put(")"))
    }

    pub(super) fn expression(&mut self, expression: &Expr<'_>) -> Written<'_> {
        match expression {
            Expr::Var(variable) => {
                self.mentioned.insert(variable.id.to_owned());
                self.name(variable.id)
            }
            Expr::Const(constant) => self.constant(&constant.value),
            Expr::UnaryOp(unary) => {
                let operator = match unary.op {
                    UnaryOpKind::Not => "(not ",
                    UnaryOpKind::Neg => "(-",
                };
                Ok(self.put(operator).operand(&unary.expr)?.put(")"))
            }
            Expr::BinOp(binary) => self.binary(binary),
            Expr::Compare(compare) => {
                self.put(COMPARE).put("(").expression(&compare.expr)?;
                for step in &compare.ops {
                    self.comparison(comparison(step.op), &step.expr)?;
                }
                Ok(self.put(")"))
            }
            Expr::IfExpr(choice) => {
                self.put("(").expression(&choice.true_expr)?.put(" if ");
                self.expression(&choice.test_expr)?;
                if let Some(otherwise) = &choice.false_expr {
                    self.put(" else ").expression(otherwise)?;
                }
                Ok(self.put(")"))
            }
            Expr::Filter(filter) => {
                if let Some(inner) = &filter.expr {
                    self.operand(inner)?.put("|");
                }
                self.name(filter.name)?.arguments(&filter.args)
            }
            Expr::Test(test) => {
                self.put("(").operand(&test.expr)?.put(" is ").name(test.name)?;
                Ok(self.arguments(&test.args)?.put(")"))
            }
            other => self.part(other),
        }
    }

    /// Parts of values, and values built from parts.
    fn part(&mut self, expression: &Expr<'_>) -> Written<'_> {
        match expression {
            Expr::GetAttr(attribute) => {
                Ok(self.operand(&attribute.expr)?.put(".").put(attribute.name))
            }
            Expr::GetItem(item) => {
                self.wrapped(WALKED, &item.expr)?.put("[");
                Ok(self.wrapped(WALKED, &item.subscript_expr)?.put("]"))
            }
            Expr::Slice(slice) => {
                self.wrapped(WALKED, &slice.expr)?.put("[");
                for (index, bound) in [&slice.start, &slice.stop, &slice.step].iter().enumerate() {
                    self.put(if index == 0 { "" } else { ":" });
                    bound.as_ref().map_or(Ok(()), |bound| self.expression(bound).map(drop))?;
                }
                Ok(self.put("]"))
            }
            Expr::Call(call) => self.call(call),
            Expr::List(list) => {
                self.put(BUILT).put("([").list(&list.items, |this, item| this.expression(item))?;
                Ok(self.put("])"))
            }
            Expr::Tuple(tuple) => {
                self.put(BUILT).put("((").list(&tuple.items, |this, item| this.expression(item))?;
                Ok(self.put(if tuple.items.len() == 1 { ",))" } else { "))" }))
            }
            Expr::Map(map) => {
                let pairs: Vec<_> = map.keys.iter().zip(&map.values).collect();
                self.put(BUILT).put("({").list(&pairs, |this, (key, value)| {
                    this.expression(key)?.put(": ").expression(value)
                })?;
                Ok(self.put("})"))
            }
            _ => Err(syntax_error("an expression that is not supported")),
        }
    }

    /// An expression in front of a `.`, `|` or `is`. A number may be negative there.
    fn operand(&mut self, expression: &Expr<'_>) -> Written<'_> {
        match expression {
            Expr::Const(constant) if constant.value.is_number() => {
                Ok(self.put("(").expression(expression)?.put(")"))
            }
            _ => self.expression(expression),
        }
    }

    pub(super) fn call(&mut self, call: &ast::Call<'_>) -> Written<'_> {
        self.operand(&call.expr)?;
        // A recursive loop walks its argument, and `loop.changed` compares it.
        let walks_argument = match &call.expr {
            Expr::Var(variable) => variable.id == "loop",
            Expr::GetAttr(_) => true,
            _ => false,
        };
        match call.args.as_slice() {
            [] => Ok(self.put("()")),
            [CallArg::Pos(inner)] if walks_argument => {
                Ok(self.put("(").wrapped(BUILT, inner)?.put(")"))
            }
            arguments => self.arguments(arguments),
        }
    }

    fn arguments(&mut self, arguments: &[CallArg<'_>]) -> Written<'_> {
        if arguments.is_empty() {
            return Ok(self);
        }
        self.put("(").list(arguments, |this, argument| match argument {
            CallArg::Pos(value) => this.expression(value),
            CallArg::Kwarg(name, value) => this.name(name)?.put("=").expression(value),
            CallArg::PosSplat(value) => this.put("*").wrapped(WALKED, value),
            CallArg::KwargSplat(value) => this.put("**").wrapped(BUILT, value),
        })?;
        Ok(self.put(")"))
    }

    /// `a + b + c` becomes one call, and `a and b and c` gets one pair of parentheses: the engine
    /// limits how deep expressions nest.
    fn binary(&mut self, binary: &ast::Spanned<ast::BinOp<'_>>) -> Written<'_> {
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
            BinOpKind::Eq => return self.compared(binary, "=="),
            BinOpKind::Ne => return self.compared(binary, "!="),
            BinOpKind::Lt => return self.compared(binary, "<"),
            BinOpKind::Lte => return self.compared(binary, "<="),
            BinOpKind::Gt => return self.compared(binary, ">"),
            BinOpKind::Gte => return self.compared(binary, ">="),
            BinOpKind::In => return self.compared(binary, "in"),
        };
        let mut operands = vec![&binary.right];
        let mut left = &binary.left;
        // Powers associate to the right.
        while let Expr::BinOp(inner) = left
            && std::mem::discriminant(&inner.op) == std::mem::discriminant(&binary.op)
            && !matches!(binary.op, BinOpKind::Pow)
        {
            operands.push(&inner.right);
            left = &inner.left;
        }
        operands.push(left);
        self.put(open).put("(");
        for (index, operand) in operands.iter().rev().enumerate() {
            self.put(if index == 0 { "" } else { between }).operand(operand)?;
        }
        Ok(self.put(")"))
    }

    fn compared(&mut self, binary: &ast::BinOp<'_>, operator: &str) -> Written<'_> {
        self.put(COMPARE).put("(").expression(&binary.left)?;
        Ok(self.comparison(operator, &binary.right)?.put(")"))
    }

    fn comparison(&mut self, operator: &str, right: &Expr<'_>) -> Written<'_> {
        self.put(", \"").put(operator).put("\", ").expression(right)
    }

    fn constant(&mut self, value: &Value) -> Written<'_> {
        match value.kind() {
            ValueKind::String => Ok(self.string(value.as_str().unwrap_or_default())),
            ValueKind::None => Ok(self.put("none")),
            ValueKind::Bool | ValueKind::Number => Ok(self.put(&value.to_string())),
            _ => Err(syntax_error("a constant that is not supported")),
        }
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
