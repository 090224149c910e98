//! Export and import of the registry as lines of JSON, independent of the database.
//!
//! The first line is a header; each line after it is one row, agents before their capabilities. Ids
//! and times are kept.

use std::io::{BufRead, Write};

use kenning_registry::model::Metadata;
use kenning_registry::rules;
use serde::{Deserialize, Serialize};
use sqlx::QueryBuilder;

use crate::engine::{Tx, from_row, on};
use crate::{Store, StoreError};

/// Rows per `INSERT`.
const BATCH: usize = 1_000;
/// Rows per `SELECT`.
const PAGE: i64 = 1_000;
/// Far above the longest valid line, a capability with metadata of the largest allowed size.
const MAX_LINE: u64 = 1024 * 1024;
const FORMAT: &str = "kenning-registry";
const VERSION: u32 = 1;

/// How many rows an export or import moved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RegistryTransferred {
    pub agents: u64,
    pub capabilities: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error("this is not an export of a registry")]
    NotAnExport,
    #[error("this is an export of version {0}; this Kenning reads version {VERSION}")]
    Version(u32),
    #[error("line {line}: {reason}")]
    Line { line: usize, reason: String },
    #[error("agent {id} '{name}' of the export is agent {taken_id} '{taken_name}' here")]
    OtherAgent { id: i64, name: String, taken_id: i64, taken_name: String },
    #[error("it cannot be read: {0}")]
    Read(#[from] std::io::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<sqlx::Error> for ImportError {
    fn from(error: sqlx::Error) -> Self {
        Self::Store(error.into())
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    format: String,
    version: u32,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "table", rename_all = "snake_case", deny_unknown_fields)]
enum Line {
    Agent(AgentLine),
    Capability(CapabilityLine),
}

#[derive(Debug, Serialize, Deserialize)]
struct AgentLine {
    id: i64,
    name: String,
    revision: i64,
    created_at: i64,
}

from_row!(AgentLine { id, name, revision, created_at });

#[derive(Debug, Serialize, Deserialize)]
struct CapabilityLine {
    id: i64,
    agent_id: i64,
    skill_name: String,
    version: String,
    active: bool,
    metadata: Option<Metadata>,
    registered_at: i64,
    updated_at: i64,
}

struct CapabilityRow {
    id: i64,
    agent_id: i64,
    skill_name: String,
    version: String,
    active: bool,
    metadata: Option<String>,
    registered_at: i64,
    updated_at: i64,
}

from_row!(CapabilityRow {
    id,
    agent_id,
    skill_name,
    version,
    active,
    metadata,
    registered_at,
    updated_at
});

impl Store {
    /// Writes all agents and capabilities of one consistent snapshot.
    pub fn export_registry(&self, to: &mut dyn Write) -> Result<RegistryTransferred, StoreError> {
        self.runtime().block_on(async {
            let mut from = self.pool.read().await?;
            let mut moved = RegistryTransferred::default();
            write_line(to, &Header { format: FORMAT.to_owned(), version: VERSION })?;
            let mut last = 0;
            loop {
                let rows = next_agents(&mut from, last).await?;
                let Some(end) = rows.last() else { break };
                last = end.id;
                moved.agents += rows.len() as u64;
                for row in rows {
                    write_line(to, &Line::Agent(row))?;
                }
            }
            let mut last = 0;
            loop {
                let rows = next_capabilities(&mut from, last).await?;
                let Some(end) = rows.last() else { break };
                last = end.id;
                moved.capabilities += rows.len() as u64;
                for row in rows {
                    write_line(to, &Line::Capability(row.into()))?;
                }
            }
            to.flush()?;
            Ok(moved)
        })
    }

    /// Imports an export: all of it, or nothing. Existing rows are not changed; an agent whose id
    /// or name belongs to another agent here is refused.
    pub fn import_registry(
        &self,
        from: &mut dyn BufRead,
    ) -> Result<RegistryTransferred, ImportError> {
        self.runtime().block_on(async {
            let mut lines = Lines { from, number: 0 };
            lines.check_header()?;
            let mut to = self.pool.write().await?;
            to.lock_registry().await?;
            let mut moved = RegistryTransferred::default();
            let mut batch = Vec::with_capacity(BATCH);
            while let Some(line) = lines.next()? {
                match line {
                    Line::Agent(agent) => moved.agents += import_agent(&mut to, agent).await?,
                    Line::Capability(capability) => batch.push(capability),
                }
                if batch.len() == BATCH {
                    moved.capabilities += import_capabilities(&mut to, &mut batch).await?;
                }
            }
            moved.capabilities += import_capabilities(&mut to, &mut batch).await?;
            to.skip_used_ids().await?;
            to.notify_registry_change().await?;
            to.commit().await?;
            Ok(moved)
        })
    }
}

fn write_line(to: &mut dyn Write, line: &impl Serialize) -> Result<(), StoreError> {
    let text = serde_json::to_string(line).map_err(std::io::Error::other)?;
    Ok(writeln!(to, "{text}")?)
}

struct Lines<'a> {
    from: &'a mut dyn BufRead,
    number: usize,
}

impl Line {
    /// Applies the same rules as registration does.
    fn check(&self) -> Result<(), kenning_registry::Error> {
        match self {
            Self::Agent(agent) => {
                rules::check_agent_id(agent.id)?;
                rules::check_name("name", &agent.name)?;
            }
            Self::Capability(one) => {
                rules::check_agent_id(one.agent_id)?;
                rules::check_name("skill_name", &one.skill_name)?;
                rules::check_version(&one.version)?;
                one.metadata
                    .as_ref()
                    .map_or(Ok(()), |map| rules::check_metadata("metadata", map))?;
            }
        }
        Ok(())
    }
}

impl Lines<'_> {
    fn check_header(&mut self) -> Result<(), ImportError> {
        let text = self.text()?.ok_or(ImportError::NotAnExport)?;
        let header: Header = serde_json::from_str(&text).map_err(|_| ImportError::NotAnExport)?;
        match header.version {
            _ if header.format != FORMAT => Err(ImportError::NotAnExport),
            VERSION => Ok(()),
            other => Err(ImportError::Version(other)),
        }
    }

    fn next(&mut self) -> Result<Option<Line>, ImportError> {
        let Some(text) = self.text()? else { return Ok(None) };
        let line: Line =
            serde_json::from_str(&text).map_err(|error| self.refused(error.to_string()))?;
        line.check().map_err(|error| self.refused(error.to_string()))?;
        Ok(Some(line))
    }

    fn text(&mut self) -> Result<Option<String>, ImportError> {
        let mut bytes = Vec::new();
        self.number += 1;
        let read = std::io::Read::take(&mut *self.from, MAX_LINE).read_until(b'\n', &mut bytes)?;
        if read as u64 == MAX_LINE {
            return Err(self.refused(format!("is longer than {MAX_LINE} bytes")));
        }
        let text = String::from_utf8(bytes).map_err(|_| self.refused("is not UTF-8".to_owned()))?;
        Ok((read > 0).then_some(text))
    }

    fn refused(&self, reason: String) -> ImportError {
        ImportError::Line { line: self.number, reason }
    }
}

async fn next_agents(from: &mut Tx<'_>, after: i64) -> Result<Vec<AgentLine>, sqlx::Error> {
    on!(from, |from| {
        let next = sqlx::query_as(
            "SELECT id, name, revision, created_at FROM agents WHERE id > $1 ORDER BY id LIMIT $2",
        );
        next.bind(after).bind(PAGE).fetch_all(&mut **from).await
    })
}

async fn next_capabilities(
    from: &mut Tx<'_>,
    after: i64,
) -> Result<Vec<CapabilityRow>, sqlx::Error> {
    on!(from, |from| {
        let next = sqlx::query_as(
            "SELECT id, agent_id, skill_name, version, active, metadata, registered_at, updated_at \
             FROM agent_capabilities WHERE id > $1 ORDER BY id LIMIT $2",
        );
        next.bind(after).bind(PAGE).fetch_all(&mut **from).await
    })
}

/// Returns the number of added agents: 0 if it exists.
async fn import_agent(to: &mut Tx<'_>, agent: AgentLine) -> Result<u64, ImportError> {
    let AgentLine { id, name, revision, created_at } = agent;
    let here: Vec<(i64, String)> = on!(&mut *to, |to| {
        let here = "SELECT id, name FROM agents WHERE id = $1 OR name = $2";
        sqlx::query_as(here).bind(id).bind(name.as_str()).fetch_all(&mut **to).await?
    });
    if let Some((taken_id, taken_name)) =
        here.iter().find(|(taken_id, taken_name)| *taken_id != id || *taken_name != name)
    {
        let (taken_id, taken_name) = (*taken_id, taken_name.clone());
        return Err(ImportError::OtherAgent { id, name, taken_id, taken_name });
    }
    if !here.is_empty() {
        return Ok(0);
    }
    on!(to, |to| {
        let insert = "INSERT INTO agents (id, name, revision, created_at) VALUES ($1, $2, $3, $4)";
        let insert = sqlx::query(insert).bind(id).bind(name).bind(revision).bind(created_at);
        insert.execute(&mut **to).await?;
    });
    Ok(1)
}

/// Rows whose ids are taken get new ones.
async fn import_capabilities(
    to: &mut Tx<'_>,
    batch: &mut Vec<CapabilityLine>,
) -> Result<u64, ImportError> {
    if batch.is_empty() {
        return Ok(0);
    }
    let taken: Vec<i64> = on!(&mut *to, |to| {
        let mut query = QueryBuilder::new("SELECT id FROM agent_capabilities WHERE id IN (");
        let mut list = query.separated(", ");
        for one in batch.iter() {
            list.push_bind(one.id);
        }
        query.push(")");
        query.build_query_scalar().persistent(false).fetch_all(&mut **to).await?
    });
    let (renumbered, kept): (Vec<_>, Vec<_>) =
        batch.drain(..).partition(|one| taken.contains(&one.id));
    let inserted = insert(to, &kept, Ids::Keep).await?;
    if renumbered.is_empty() {
        return Ok(inserted);
    }
    to.skip_used_ids().await?;
    Ok(inserted + insert(to, &renumbered, Ids::Renew).await?)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ids {
    Keep,
    Renew,
}

async fn insert(to: &mut Tx<'_>, rows: &[CapabilityLine], ids: Ids) -> Result<u64, sqlx::Error> {
    if rows.is_empty() {
        return Ok(0);
    }
    on!(to, |to| {
        let mut query = QueryBuilder::new("INSERT INTO agent_capabilities (");
        query.push(if ids == Ids::Keep { "id, " } else { "" });
        query.push("agent_id, skill_name, version, active, metadata, registered_at, updated_at) ");
        query.push_values(rows, |mut row, one| {
            if ids == Ids::Keep {
                row.push_bind(one.id);
            }
            row.push_bind(one.agent_id)
                .push_bind(one.skill_name.as_str())
                .push_bind(one.version.as_str())
                .push_bind(one.active)
                .push_bind(one.metadata.as_ref().and_then(|map| serde_json::to_string(map).ok()))
                .push_bind(one.registered_at)
                .push_bind(one.updated_at);
        });
        query.push(" ON CONFLICT (agent_id, skill_name) DO NOTHING");
        Ok(query.build().persistent(false).execute(&mut **to).await?.rows_affected())
    })
}

impl From<CapabilityRow> for CapabilityLine {
    fn from(row: CapabilityRow) -> Self {
        Self {
            id: row.id,
            agent_id: row.agent_id,
            skill_name: row.skill_name,
            version: row.version,
            active: row.active,
            metadata: row.metadata.and_then(|text| serde_json::from_str(&text).ok()),
            registered_at: row.registered_at,
            updated_at: row.updated_at,
        }
    }
}
