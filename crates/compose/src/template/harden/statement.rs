//! Tags, and the text between them.

use minijinja::machinery::ast::{self, Expr, Stmt};

use super::super::operators::WALKED;
use super::{Outcome, Writer, refused};

impl Writer {
    fn body(&mut self, statements: &[Stmt<'_>]) -> Outcome {
        statements.iter().try_for_each(|statement| self.statement(statement))
    }

    pub(super) fn statement(&mut self, statement: &Stmt<'_>) -> Outcome {
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

    /// What is assigned to.
    pub(super) fn target(&mut self, target: &Expr<'_>) -> Outcome {
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
}
