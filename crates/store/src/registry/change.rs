//! Changes to one agent's capabilities.

use std::collections::{HashMap, HashSet};

use kenning_registry::store::{Applied, Change, Existing, NewCapability};
use kenning_registry::{Capability, Error, Revision, Timestamp};
use sqlx::QueryBuilder;

use super::{CapabilityRow, Refusal, written};
use crate::engine::{Pool, Tx, on};

/// Rows per statement.
const BATCH: usize = 1_000;

pub(super) async fn apply(
    pool: &Pool,
    agent_id: i64,
    change: &Change,
    at: Timestamp,
) -> Result<Applied, Refusal> {
    let mut tx = pool.write().await?;
    let revision = touch(&mut tx, agent_id, change.expected).await?;
    let there = there(&mut tx, agent_id, &change.put).await?;
    if change.existing == Existing::Refuse && !there.is_empty() {
        return Err(refused(agent_id, &change.put, &there).into());
    }
    let mut put: HashMap<String, Capability> = HashMap::with_capacity(change.put.len());
    for batch in change.put.chunks(BATCH) {
        let rows = upsert(&mut tx, agent_id, batch, at).await?;
        let rows = rows.into_iter().map(Capability::from);
        put.extend(rows.map(|one| (one.skill_name.clone(), one)));
    }
    for skill in &change.deactivate {
        deactivate(&mut tx, agent_id, skill, at).await?;
    }
    tx.notify_registry_change().await?;
    tx.commit().await?;
    // Rows come back in any order.
    let put = change.put.iter().filter_map(|one| put.remove(&one.skill_name)).collect();
    Ok(Applied { put, updated: there.len(), revision })
}

/// Increments an agent's revision, if it is the one that the caller expects. The row is locked from
/// then on, so that what is read of the agent stays valid until the end of the transaction.
pub(super) async fn touch(
    tx: &mut Tx<'_>,
    agent_id: i64,
    expected: Option<Revision>,
) -> Result<Revision, Refusal> {
    let revision: Option<i64> = on!(tx, |tx| {
        let touch = "UPDATE agents SET revision = revision + 1 WHERE id = $1 RETURNING revision";
        sqlx::query_scalar(touch).bind(agent_id).fetch_optional(&mut **tx).await?
    });
    let revision = revision.ok_or(Error::AgentNotFound { id: agent_id })?;
    if expected.is_some_and(|seen| seen.0 + 1 != revision) {
        return Err(Error::Changed { agent_id }.into());
    }
    Ok(Revision(revision))
}

/// Which of these skills the agent has.
async fn there(
    tx: &mut Tx<'_>,
    agent_id: i64,
    put: &[NewCapability],
) -> Result<HashSet<String>, sqlx::Error> {
    let mut found = HashSet::new();
    for batch in put.chunks(BATCH) {
        let names: Vec<String> = on!(&mut *tx, |tx| {
            let mut query =
                QueryBuilder::new("SELECT skill_name FROM agent_capabilities WHERE agent_id = ");
            query.push_bind(agent_id).push(" AND skill_name IN (");
            let mut list = query.separated(", ");
            for one in batch {
                list.push_bind(one.skill_name.as_str());
            }
            query.push(")");
            query.build_query_scalar().persistent(false).fetch_all(&mut **tx).await?
        });
        found.extend(names);
    }
    Ok(found)
}

fn refused(agent_id: i64, put: &[NewCapability], there: &HashSet<String>) -> Error {
    let names = put.iter().map(|one| &one.skill_name).filter(|name| there.contains(*name));
    Error::DuplicateCapability { agent_id, skills: names.cloned().collect() }
}

async fn upsert(
    tx: &mut Tx<'_>,
    agent_id: i64,
    batch: &[NewCapability],
    at: Timestamp,
) -> Result<Vec<CapabilityRow>, sqlx::Error> {
    on!(tx, |tx| {
        let mut query = QueryBuilder::new(
            "INSERT INTO agent_capabilities \
             (agent_id, skill_name, version, active, metadata, registered_at, updated_at) ",
        );
        query.push_values(batch, |mut row, one| {
            row.push_bind(agent_id)
                .push_bind(one.skill_name.as_str())
                .push_bind(one.version.as_str())
                .push_bind(one.active)
                .push_bind(one.metadata.as_ref().map(written))
                .push_bind(at.0)
                .push_bind(at.0);
        });
        query.push(
            " ON CONFLICT (agent_id, skill_name) DO UPDATE SET \
             version = excluded.version, active = excluded.active, \
             metadata = coalesce(excluded.metadata, agent_capabilities.metadata), \
             updated_at = excluded.updated_at \
             RETURNING id, skill_name, version, active, metadata, registered_at, updated_at",
        );
        query.build_query_as().persistent(false).fetch_all(&mut **tx).await
    })
}

async fn deactivate(
    tx: &mut Tx<'_>,
    agent_id: i64,
    skill: &str,
    at: Timestamp,
) -> Result<(), Refusal> {
    let changed = on!(tx, |tx| {
        let deactivate = sqlx::query(
            "UPDATE agent_capabilities SET active = $1, updated_at = $2 \
             WHERE agent_id = $3 AND skill_name = $4",
        );
        let deactivate = deactivate.bind(false).bind(at.0).bind(agent_id).bind(skill);
        deactivate.execute(&mut **tx).await?.rows_affected()
    });
    match changed {
        0 => Err(Error::CapabilityNotFound { agent_id, skill_name: skill.to_owned() }.into()),
        _ => Ok(()),
    }
}
