//! What stands in tags.

use std::fmt::Write;

use minijinja::machinery::ast::{self, BinOpKind, CallArg, CompareOpKind, Expr, UnaryOpKind};
use minijinja::value::{Value, ValueKind};

use super::super::operators::{ADD, BUILT, COMPARE, CONCAT, MUL, WALKED};
use super::{Outcome, Writer, refused};

impl Writer {
    pub(super) fn wrapped(&mut self, function: &str, inner: &Expr<'_>) -> Outcome {
        self.put(function);
        self.put("(");
        self.expression(inner)?;
        self.put(")");
        Ok(())
    }

    pub(super) fn expression(&mut self, expression: &Expr<'_>) -> Outcome {
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
                self.wrapped(WALKED, &item.subscript_expr)?;
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

    pub(super) fn call(&mut self, call: &ast::Call<'_>) -> Outcome {
        self.operand(&call.expr)?;
        if call.args.is_empty() {
            self.put("()");
            return Ok(());
        }
        // A recursive loop goes through what it is given, and `loop.changed` compares it.
        let looked_at = match &call.expr {
            Expr::Var(variable) => variable.id == "loop",
            Expr::GetAttr(_) => true,
            _ => false,
        };
        match call.args.as_slice() {
            [CallArg::Pos(inner)] if looked_at => {
                self.put("(");
                self.wrapped(BUILT, inner)?;
                self.put(")");
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
