//! Access tokens for other machines.

use serde::Serialize;

use crate::engine::{from_row, on};
use crate::{Store, StoreError};

/// A token without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TokenRecord {
    pub id: String,
    pub name: String,
    pub scope: String,
    /// The only project that an ingest token may send events for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Of the secret.
    #[serde(skip)]
    pub hash: String,
    /// Milliseconds since 1970.
    pub created_at: i64,
}

from_row!(TokenRecord { id, name, scope, project, hash, created_at });

impl Store {
    /// Adds a token; `false` if there is one of this name.
    pub fn add_token(&self, token: &TokenRecord) -> Result<bool, StoreError> {
        let rows = self.runtime().block_on(async {
            on!(&self.pool, |pool| {
                let insert = sqlx::query(
                    "INSERT INTO tokens (id, name, scope, project, hash, created_at) \
                     VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING",
                );
                let insert = insert.bind(&token.id).bind(&token.name).bind(&token.scope);
                let insert = insert.bind(&token.project).bind(&token.hash).bind(token.created_at);
                insert.execute(pool).await.map(|done| done.rows_affected())
            })
        })?;
        Ok(rows == 1)
    }

    pub fn token(&self, id: &str) -> Result<Option<TokenRecord>, StoreError> {
        let token = self.runtime().block_on(async {
            on!(&self.pool, |pool| {
                let find = "SELECT id, name, scope, project, hash, created_at FROM tokens \
                            WHERE id = $1";
                sqlx::query_as(find).bind(id).fetch_optional(pool).await
            })
        })?;
        Ok(token)
    }

    /// All tokens, by name.
    pub fn tokens(&self) -> Result<Vec<TokenRecord>, StoreError> {
        let tokens = self.runtime().block_on(async {
            on!(&self.pool, |pool| {
                let all = "SELECT id, name, scope, project, hash, created_at FROM tokens \
                           ORDER BY name";
                sqlx::query_as(all).fetch_all(pool).await
            })
        })?;
        Ok(tokens)
    }

    /// Removes a token by its id or name; `false` if there is none.
    pub fn revoke_token(&self, id_or_name: &str) -> Result<bool, StoreError> {
        let rows = self.runtime().block_on(async {
            on!(&self.pool, |pool| {
                let remove = "DELETE FROM tokens WHERE id = $1 OR name = $1";
                let done = sqlx::query(remove).bind(id_or_name).execute(pool).await;
                done.map(|done| done.rows_affected())
            })
        })?;
        Ok(rows > 0)
    }
}
