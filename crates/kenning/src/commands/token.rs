//! `token`: access tokens for other machines.

use std::sync::Arc;

use kenning_store::{Store, TokenRecord};
use kenning_web::token::{Presented, Scope, mint};
use kenning_web::{Grant, TokenStore, TokenStoreError};
use serde_json::json;

use super::Context;
use crate::cli::Token;
use crate::failure::{Exit, Failure};

pub(super) fn run(context: &Context, command: Token) -> Result<Exit, Failure> {
    let store = context.require_store()?;
    match command {
        Token::Create { name, scope, project } => create(context, &store, name, scope, project),
        Token::List => {
            let tokens = store.tokens()?;
            context.answer(&json!({ "tokens": tokens }), |_| list_text(&tokens))
        }
        Token::Revoke { token } => {
            if !store.revoke_token(&token)? {
                return Err(Failure::new(format!("there is no token `{token}`"))
                    .hint("`kenning token list` lists the tokens"));
            }
            context.answer(&json!({ "revoked": token }), |_| format!("revoked {token}"))
        }
    }
}

fn create(
    context: &Context,
    store: &Store,
    name: String,
    scope: Scope,
    project: Option<String>,
) -> Result<Exit, Failure> {
    if name.trim().is_empty() || name.chars().count() > 255 {
        return Err(Failure::usage("a token's name must have 1 to 255 characters"));
    }
    if project.is_some() && scope != Scope::Ingest {
        return Err(Failure::usage("--project requires --scope ingest"));
    }
    let minted =
        mint().map_err(|error| Failure::new(format!("cannot generate a token: {error}")))?;
    let created_at = kenning_registry::Timestamp::now().0;
    let (scope, hash) = (scope.to_string(), minted.hash);
    let record = TokenRecord { id: minted.id, name, scope, project, hash, created_at };
    if !store.add_token(&record)? {
        return Err(Failure::new(format!("there is a token `{}` already", record.name))
            .hint("revoke it first, or choose another name"));
    }
    context.printer.note("The token is shown only once; store it as a secret.");
    let answer = json!({"id": record.id, "name": record.name, "scope": record.scope,
        "token": minted.token});
    context.answer(&answer, |_| minted.token.clone())
}

fn list_text(tokens: &[TokenRecord]) -> String {
    let line = |token: &TokenRecord| {
        let created = kenning_registry::Timestamp(token.created_at);
        let project = token.project.as_deref().unwrap_or_default();
        format!("{}  {:<24} {:<6} {created}  {project}", token.id, token.name, token.scope)
    };
    let lines: Vec<String> = tokens.iter().map(|token| line(token).trim_end().to_owned()).collect();
    lines.join("\n")
}

/// The tokens of the store.
pub(super) struct StoredTokens(pub(super) Arc<Store>);

impl TokenStore for StoredTokens {
    fn grant(&self, token: &str) -> Result<Option<Grant>, TokenStoreError> {
        let Some(presented) = Presented::read(token) else { return Ok(None) };
        let kept = self.0.token(presented.id).map_err(|error| TokenStoreError(Box::new(error)))?;
        let kept = kept.filter(|kept| presented.matches(&kept.hash));
        Ok(kept.and_then(|kept| {
            let scope = kept.scope.parse().ok()?;
            Some(Grant { scope, project: kept.project, by_token: true })
        }))
    }

    fn has_secret(&self, project: &str) -> Result<bool, TokenStoreError> {
        let tokens = self.0.tokens().map_err(|error| TokenStoreError(Box::new(error)))?;
        Ok(tokens.iter().any(|token| token.project.as_deref() == Some(project)))
    }
}
