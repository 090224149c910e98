//! Block tags, and the text between them.

use minijinja::machinery::ast::{self, Expr, Stmt};

use super::super::operators::WALKED;
use super::{Writer, Written, syntax_error};

impl Writer {
    fn body(&mut self, statements: &[Stmt<'_>]) -> Written<'_> {
        statements.iter().try_for_each(|statement| self.statement(statement).map(drop))?;
        Ok(self)
    }

    pub(super) fn statement(&mut self, statement: &Stmt<'_>) -> Written<'_> {
        match statement {
            Stmt::Template(template) => self.body(&template.children),
            Stmt::EmitRaw(raw) => Ok(self.open("{{", raw.span()).string(raw.raw).put(" }}")),
            Stmt::EmitExpr(emit) => {
                Ok(self.open("{{", emit.span()).expression(&emit.expr)?.put(" }}"))
            }
            Stmt::ForLoop(each) => self.for_loop(each),
            Stmt::IfCond(condition) => self.if_condition(condition),
            Stmt::WithBlock(with) => {
                self.block_tag(with.span(), "with ").list(&with.assignments, |this, pair| {
                    this.target(&pair.0)?.put(" = ").expression(&pair.1)
                })?;
                self.end(&with.body, "endwith")
            }
            Stmt::Set(set) => {
                self.block_tag(set.span(), "set ").target(&set.target)?.put(" = ");
                Ok(self.expression(&set.expr)?.put(" %}"))
            }
            Stmt::SetBlock(set) => {
                self.block_tag(set.span(), "set ").target(&set.target)?;
                if let Some(filter) = &set.filter {
                    self.put(" | ").expression(filter)?;
                }
                self.end(&set.body, "endset")
            }
            Stmt::FilterBlock(block) => self
                .block_tag(block.span(), "filter ")
                .expression(&block.filter)?
                .end(&block.body, "endfilter"),
            Stmt::AutoEscape(_) => {
                Err(syntax_error("`autoescape` is not supported; use the filter `escape`"))
            }
            Stmt::Macro(declared) => self
                .block_tag(declared.span(), "macro ")
                .name(declared.name)?
                .parameters(declared)?
                .end(&declared.body, "endmacro"),
            Stmt::CallBlock(block) => {
                self.block_tag(block.span(), "call").parameters(&block.macro_decl)?;
                self.put(" ").call(&block.call)?.end(&block.macro_decl.body, "endcall")
            }
            Stmt::Do(call) => Ok(self.block_tag(call.span(), "do ").call(&call.call)?.put(" %}")),
            other => self.template_statement(other),
        }
    }

    /// Statements that refer to other templates.
    fn template_statement(&mut self, statement: &Stmt<'_>) -> Written<'_> {
        match statement {
            Stmt::Block(block) => self
                .block_tag(block.span(), "block ")
                .name(block.name)?
                .put(if block.required { " required" } else { "" })
                .end(&block.body, "endblock"),
            Stmt::Extends(extends) => {
                self.block_tag(extends.span(), "extends ").expression(&extends.name)?;
                Ok(self.put(" %}"))
            }
            Stmt::Include(include) => {
                self.block_tag(include.span(), "include ").expression(&include.name)?;
                Ok(self.put(if include.ignore_missing { " ignore missing %}" } else { " %}" }))
            }
            Stmt::Import(import) => {
                self.block_tag(import.span(), "import ").expression(&import.expr)?;
                Ok(self.put(" as ").target(&import.name)?.put(" %}"))
            }
            Stmt::FromImport(import) => {
                self.block_tag(import.span(), "from ").expression(&import.expr)?.put(" import ");
                self.list(&import.names, |this, (name, alias)| {
                    this.target(name)?;
                    match alias {
                        Some(alias) => this.put(" as ").target(alias),
                        None => Ok(this),
                    }
                })?;
                Ok(self.put(" %}"))
            }
            _ => Err(syntax_error("a tag that is not supported")),
        }
    }

    /// Closes the opening tag, writes the body and the end tag.
    fn end(&mut self, body: &[Stmt<'_>], end: &str) -> Written<'_> {
        Ok(self.put(" %}").body(body)?.put("{% ").put(end).put(" %}"))
    }

    fn for_loop(&mut self, each: &ast::Spanned<ast::ForLoop<'_>>) -> Written<'_> {
        self.block_tag(each.span(), "for ").target(&each.target)?.put(" in ");
        self.wrapped(WALKED, &each.iter)?;
        if let Some(filter) = &each.filter_expr {
            self.put(" if ").expression(filter)?;
        }
        self.put(if each.recursive { " recursive %}" } else { " %}" }).body(&each.body)?;
        if !each.else_body.is_empty() {
            self.put("{% else %}").body(&each.else_body)?;
        }
        Ok(self.put("{% endfor %}"))
    }

    /// A loop, not recursion: `elif` chains are nested in the syntax tree.
    fn if_condition(&mut self, first: &ast::Spanned<ast::IfCond<'_>>) -> Written<'_> {
        let (mut condition, mut word) = (first, "if ");
        loop {
            self.block_tag(condition.span(), word).expression(&condition.expr)?.put(" %}");
            self.body(&condition.true_body)?;
            match condition.false_body.as_slice() {
                [] => break,
                [Stmt::IfCond(next)] => (condition, word) = (next, "elif "),
                otherwise => {
                    self.put("{% else %}").body(otherwise)?;
                    break;
                }
            }
        }
        Ok(self.put("{% endif %}"))
    }

    fn parameters(&mut self, declared: &ast::Macro<'_>) -> Written<'_> {
        let required = declared.args.len() - declared.defaults.len();
        let numbered: Vec<(usize, &Expr<'_>)> = declared.args.iter().enumerate().collect();
        self.put("(").list(&numbered, |this, (index, name)| {
            this.target(name)?;
            match index.checked_sub(required).and_then(|n| declared.defaults.get(n)) {
                Some(default) => this.put("=").expression(default),
                None => Ok(this),
            }
        })?;
        Ok(self.put(")"))
    }

    /// What is assigned to.
    pub(super) fn target(&mut self, target: &Expr<'_>) -> Written<'_> {
        match target {
            Expr::Var(variable) => self.name(variable.id),
            Expr::GetAttr(attribute) => {
                Ok(self.target(&attribute.expr)?.put(".").put(attribute.name))
            }
            Expr::List(list) => self.targets(&list.items),
            Expr::Tuple(tuple) => self.targets(&tuple.items),
            _ => Err(syntax_error("this cannot be assigned to")),
        }
    }

    fn targets(&mut self, items: &[Expr<'_>]) -> Written<'_> {
        self.put("(").list(items, |this, item| this.target(item))?;
        Ok(self.put(if items.len() == 1 { ",)" } else { ")" }))
    }
}
