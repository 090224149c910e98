//! Agents.

use kenning_registry::store::AgentCounts;
use kenning_registry::{Agent, Error, Revision, Timestamp};

use super::{AgentRow, Refusal, count};
use crate::engine::{Pool, Tx, from_row, on};

pub(super) async fn add(
    pool: &Pool,
    name: &str,
    id: Option<i64>,
    at: Timestamp,
) -> Result<Agent, Refusal> {
    let mut tx = pool.write().await?;
    tx.lock_registry().await?;
    check_name_is_free(&mut tx, name, None).await?;
    let id = match id {
        Some(id) => {
            check_id_is_free(&mut tx, id).await?;
            insert_as(&mut tx, id, name, at).await?;
            tx.skip_used_ids().await?;
            id
        }
        None => insert(&mut tx, name, at).await?,
    };
    tx.notify_registry_change().await?;
    tx.commit().await?;
    Ok(Agent { id, name: name.to_owned(), created_at: at, revision: Revision::default() })
}

async fn insert(tx: &mut Tx<'_>, name: &str, at: Timestamp) -> Result<i64, sqlx::Error> {
    on!(tx, |tx| {
        let insert = "INSERT INTO agents (name, created_at) VALUES ($1, $2) RETURNING id";
        sqlx::query_scalar(insert).bind(name).bind(at.0).fetch_one(&mut **tx).await
    })
}

async fn insert_as(tx: &mut Tx<'_>, id: i64, name: &str, at: Timestamp) -> Result<(), sqlx::Error> {
    on!(tx, |tx| {
        let insert = "INSERT INTO agents (id, name, created_at) VALUES ($1, $2, $3)";
        sqlx::query(insert).bind(id).bind(name).bind(at.0).execute(&mut **tx).await?;
    });
    Ok(())
}

async fn check_name_is_free(
    tx: &mut Tx<'_>,
    name: &str,
    except: Option<i64>,
) -> Result<(), Refusal> {
    match find(tx, name).await? {
        Some(agent) if Some(agent.id) != except => {
            Err(Error::AgentExists { id: agent.id, name: agent.name }.into())
        }
        _ => Ok(()),
    }
}

async fn check_id_is_free(tx: &mut Tx<'_>, id: i64) -> Result<(), Refusal> {
    match with_id(tx, id).await? {
        Some(agent) => Err(Error::AgentExists { id, name: agent.name }.into()),
        None => Ok(()),
    }
}

async fn with_id(tx: &mut Tx<'_>, id: i64) -> Result<Option<AgentRow>, sqlx::Error> {
    on!(tx, |tx| {
        let find = "SELECT id, name, created_at, revision FROM agents WHERE id = $1";
        sqlx::query_as(find).bind(id).fetch_optional(&mut **tx).await
    })
}

pub(super) async fn get(pool: &Pool, id: i64) -> Result<Agent, Refusal> {
    let mut tx = pool.read().await?;
    let agent = with_id(&mut tx, id).await?;
    Ok(agent.ok_or(Error::AgentNotFound { id })?.into())
}

async fn find(tx: &mut Tx<'_>, name: &str) -> Result<Option<AgentRow>, sqlx::Error> {
    on!(tx, |tx| {
        let find = "SELECT id, name, created_at, revision FROM agents WHERE name = $1";
        sqlx::query_as(find).bind(name).fetch_optional(&mut **tx).await
    })
}

pub(super) async fn named(pool: &Pool, name: &str) -> Result<Option<Agent>, Refusal> {
    let mut tx = pool.read().await?;
    Ok(find(&mut tx, name).await?.map(Agent::from))
}

struct Counted {
    agent: AgentRow,
    capabilities: i64,
    active: i64,
}

from_row!(Counted { capabilities, active, ..agent });

pub(super) async fn list(
    pool: &Pool,
    after: i64,
    limit: usize,
) -> Result<(Vec<AgentCounts>, usize), Refusal> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut tx = pool.read().await?;
    let total: i64 = on!(&mut tx, |tx| {
        sqlx::query_scalar("SELECT count(*) FROM agents").fetch_one(&mut **tx).await?
    });
    let rows: Vec<Counted> = on!(&mut tx, |tx| {
        let page = sqlx::query_as(
            "SELECT a.id, a.name, a.created_at, a.revision, count(c.id) AS capabilities, \
             count(c.id) FILTER (WHERE c.active) AS active \
             FROM (SELECT id, name, created_at, revision FROM agents \
                   WHERE id > $1 ORDER BY id LIMIT $2) a \
             LEFT JOIN agent_capabilities c ON c.agent_id = a.id \
             GROUP BY a.id, a.name, a.created_at, a.revision ORDER BY a.id",
        );
        page.bind(after).bind(limit).fetch_all(&mut **tx).await?
    });
    let counts = rows.into_iter().map(|row| AgentCounts {
        agent: row.agent.into(),
        capabilities: count(row.capabilities),
        active: count(row.active),
    });
    Ok((counts.collect(), count(total)))
}

pub(super) async fn rename(
    pool: &Pool,
    id: i64,
    name: &str,
    expected: Option<Revision>,
) -> Result<Agent, Refusal> {
    let mut tx = pool.write().await?;
    tx.lock_registry().await?;
    super::change::touch(&mut tx, id, expected).await?;
    check_name_is_free(&mut tx, name, Some(id)).await?;
    let agent: AgentRow = on!(&mut tx, |tx| {
        let rename = sqlx::query_as(
            "UPDATE agents SET name = $1 WHERE id = $2 \
             RETURNING id, name, created_at, revision",
        );
        rename.bind(name).bind(id).fetch_one(&mut **tx).await?
    });
    tx.notify_registry_change().await?;
    tx.commit().await?;
    Ok(agent.into())
}

/// The foreign key removes the capabilities too; they are counted before.
pub(super) async fn remove(
    pool: &Pool,
    id: i64,
    expected: Option<Revision>,
) -> Result<usize, Refusal> {
    let mut tx = pool.write().await?;
    super::change::touch(&mut tx, id, expected).await?;
    let held: i64 = on!(&mut tx, |tx| {
        let held = "SELECT count(*) FROM agent_capabilities WHERE agent_id = $1";
        sqlx::query_scalar(held).bind(id).fetch_one(&mut **tx).await?
    });
    on!(&mut tx, |tx| {
        sqlx::query("DELETE FROM agents WHERE id = $1").bind(id).execute(&mut **tx).await?;
    });
    tx.notify_registry_change().await?;
    tx.commit().await?;
    Ok(count(held))
}
