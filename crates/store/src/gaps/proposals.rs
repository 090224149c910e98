//! Knowledge proposals.

use kenning_gaps::{Error, Proposal};

use super::{Refusal, signed, storable, unreadable};
use crate::engine::{Lock, Pool, Tx, on};

pub(super) async fn all(pool: &Pool) -> Result<Vec<Proposal>, sqlx::Error> {
    let rows: Vec<String> = on!(pool, |pool| {
        let query = "SELECT body FROM proposals ORDER BY proposed_at DESC, id";
        sqlx::query_scalar(query).fetch_all(pool).await?
    });
    rows.iter().map(|body| read(body)).collect()
}

pub(super) async fn one(pool: &Pool, id: &str) -> Result<Option<Proposal>, sqlx::Error> {
    let mut tx = pool.read().await?;
    find(&mut tx, id).await
}

pub(super) async fn add(pool: &Pool, proposal: &Proposal) -> Result<Proposal, sqlx::Error> {
    let mut tx = pool.write_durably().await?;
    let body = written(proposal)?;
    on!(&mut tx, |tx| {
        let query = sqlx::query(
            "INSERT INTO proposals (id, proposed_at, body) VALUES ($1, $2, $3) \
             ON CONFLICT (id) DO NOTHING",
        );
        let query = query.bind(&proposal.id).bind(signed(proposal.proposed_at)).bind(body);
        query.execute(&mut **tx).await?;
    });
    let kept = find(&mut tx, &proposal.id).await?;
    tx.commit().await?;
    kept.ok_or(sqlx::Error::RowNotFound)
}

pub(super) async fn change(
    pool: &Pool,
    id: &str,
    change: &mut dyn FnMut(&mut Proposal) -> Result<(), Error>,
) -> Result<(), Refusal> {
    let mut tx = pool.write_durably().await?;
    tx.lock(Lock::Proposal(&storable(id))).await?;
    let found = find(&mut tx, id).await?;
    let mut proposal = found.ok_or_else(|| Error::ProposalNotFound { id: id.to_owned() })?;
    change(&mut proposal)?;
    let body = written(&proposal)?;
    on!(&mut tx, |tx| {
        let query = sqlx::query("UPDATE proposals SET body = $1 WHERE id = $2");
        query.bind(body).bind(id).execute(&mut **tx).await?;
    });
    Ok(tx.commit().await?)
}

async fn find(tx: &mut Tx<'_>, id: &str) -> Result<Option<Proposal>, sqlx::Error> {
    let body: Option<String> = on!(tx, |tx| {
        let query = sqlx::query_scalar("SELECT body FROM proposals WHERE id = $1");
        query.bind(storable(id)).fetch_optional(&mut **tx).await?
    });
    body.as_deref().map(read).transpose()
}

fn read(body: &str) -> Result<Proposal, sqlx::Error> {
    serde_json::from_str(body).map_err(unreadable)
}

fn written(proposal: &Proposal) -> Result<String, sqlx::Error> {
    serde_json::to_string(proposal).map_err(|error| sqlx::Error::Encode(error.into()))
}
