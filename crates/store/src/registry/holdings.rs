//! Which agents have which capabilities.

use kenning_registry::store::{Activity, Filter, Held, Holding, Page, Skill};
use kenning_registry::{Capability, Error, Revision, Timestamp};
use sqlx::QueryBuilder;

use super::{CapabilityRow, Refusal, count, parsed};
use crate::engine::{Pool, Tx, from_row, on};

/// Parameters of one statement that both databases accept.
const MAX_NAMES: usize = 30_000;

pub(super) async fn of_agent(pool: &Pool, agent_id: i64) -> Result<Held, Refusal> {
    let mut tx = pool.read().await?;
    let revision: Option<i64> = on!(&mut tx, |tx| {
        let revision = "SELECT revision FROM agents WHERE id = $1";
        sqlx::query_scalar(revision).bind(agent_id).fetch_optional(&mut **tx).await?
    });
    let revision = Revision(revision.ok_or(Error::AgentNotFound { id: agent_id })?);
    let rows: Vec<CapabilityRow> = on!(&mut tx, |tx| {
        let held = sqlx::query_as(
            "SELECT id, skill_name, version, active, metadata, registered_at, updated_at \
             FROM agent_capabilities WHERE agent_id = $1 ORDER BY skill_name",
        );
        held.bind(agent_id).fetch_all(&mut **tx).await?
    });
    let capabilities = rows.into_iter().map(Capability::from).collect();
    Ok(Held { capabilities, revision })
}

struct HoldingRow {
    skill_name: String,
    version: String,
    active: bool,
    agent_id: i64,
    agent_name: String,
}

from_row!(HoldingRow { skill_name, version, active, agent_id, agent_name });

/// Adds the filters to a query over `c`.
macro_rules! push_filter {
    ($query:expr, $filter:expr) => {{
        if let Some(name) = &$filter.skill_name {
            $query.push(" AND c.skill_name = ").push_bind(name.as_str());
        }
        if let Some(version) = &$filter.version {
            $query.push(" AND c.version = ").push_bind(version.as_str());
        }
        if $filter.activity == Activity::Active {
            $query.push(" AND c.active");
        }
    }};
}

pub(super) async fn of_all(
    pool: &Pool,
    filter: &Filter,
    page: &Page,
) -> Result<(Vec<Holding>, usize), Refusal> {
    let mut tx = pool.read().await?;
    let total: i64 = on!(&mut tx, |tx| {
        let mut query = QueryBuilder::new(
            "SELECT count(DISTINCT c.skill_name) FROM agent_capabilities c WHERE 1 = 1",
        );
        push_filter!(query, filter);
        query.build_query_scalar().fetch_one(&mut **tx).await?
    });
    let rows = rows_of_page(&mut tx, filter, page).await?;
    Ok((rows.into_iter().map(Holding::from).collect(), count(total)))
}

async fn rows_of_page(
    tx: &mut Tx<'_>,
    filter: &Filter,
    page: &Page,
) -> Result<Vec<HoldingRow>, sqlx::Error> {
    on!(tx, |tx| {
        let mut query = QueryBuilder::new(
            "SELECT c.skill_name, c.version, c.active, c.agent_id, a.name AS agent_name \
             FROM agent_capabilities c JOIN agents a ON a.id = c.agent_id WHERE 1 = 1",
        );
        push_filter!(query, filter);
        match page {
            Page::Skills { after, limit } => {
                query.push(
                    " AND c.skill_name IN (SELECT DISTINCT c.skill_name \
                     FROM agent_capabilities c WHERE 1 = 1",
                );
                push_filter!(query, filter);
                if let Some(after) = after {
                    query.push(" AND c.skill_name > ").push_bind(after.as_str());
                }
                query.push(" ORDER BY c.skill_name LIMIT ").push_bind(bound(*limit));
                query.push(") ORDER BY c.skill_name, c.agent_id");
            }
            Page::Agents { after, limit } => {
                query.push(
                    " AND c.agent_id IN (SELECT DISTINCT c.agent_id \
                     FROM agent_capabilities c WHERE 1 = 1",
                );
                push_filter!(query, filter);
                query.push(" AND c.agent_id > ").push_bind(*after);
                query.push(" ORDER BY c.agent_id LIMIT ").push_bind(bound(*limit));
                query.push(") ORDER BY c.agent_id, c.skill_name");
            }
            Page::Named(names) if names.is_empty() => return Ok(Vec::new()),
            Page::Named(names) => {
                query.push(" AND c.skill_name IN (");
                let mut list = query.separated(", ");
                for name in names.iter().take(MAX_NAMES) {
                    list.push_bind(name.as_str());
                }
                query.push(") ORDER BY c.skill_name, c.agent_id");
            }
        }
        query.build_query_as().persistent(false).fetch_all(&mut **tx).await
    })
}

struct SkillRow {
    skill_name: String,
    version: String,
    metadata: Option<String>,
}

from_row!(SkillRow { skill_name, version, metadata });

pub(super) async fn skills(pool: &Pool, filter: &Filter) -> Result<Vec<Skill>, Refusal> {
    let mut tx = pool.read().await?;
    let rows: Vec<SkillRow> = on!(&mut tx, |tx| {
        let mut query = QueryBuilder::new(
            "SELECT DISTINCT c.skill_name, c.version, c.metadata \
             FROM agent_capabilities c WHERE 1 = 1",
        );
        push_filter!(query, filter);
        query.build_query_as().fetch_all(&mut **tx).await?
    });
    Ok(rows.into_iter().map(Skill::from).collect())
}

pub(super) async fn skills_since(
    pool: &Pool,
    at: Timestamp,
    limit: usize,
) -> Result<Vec<Skill>, sqlx::Error> {
    let rows: Vec<SkillRow> = on!(pool, |pool| {
        let newest = "SELECT DISTINCT skill_name, version, metadata FROM (\
                      SELECT skill_name, version, metadata FROM agent_capabilities \
                      WHERE active = $1 AND updated_at >= $2 ORDER BY updated_at DESC LIMIT $3) c";
        let newest = sqlx::query_as(newest).bind(true).bind(at.0).bind(bound(limit));
        newest.fetch_all(pool).await?
    });
    Ok(rows.into_iter().map(Skill::from).collect())
}

impl From<SkillRow> for Skill {
    fn from(row: SkillRow) -> Self {
        let SkillRow { skill_name, version, metadata } = row;
        Self { skill_name, version, metadata: parsed(metadata.as_deref()) }
    }
}

impl From<HoldingRow> for Holding {
    fn from(row: HoldingRow) -> Self {
        let HoldingRow { skill_name, version, active, agent_id, agent_name } = row;
        Self { skill_name, version, active, agent_id, agent_name }
    }
}

fn bound(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}
