//! Agents and their capabilities: the storage of `kenning-registry`.

mod agents;
mod change;
mod holdings;

use kenning_registry::model::Metadata;
use kenning_registry::store::{
    AgentCounts, Applied, Change, Filter, Held, Holding, Page, RegistryStore, Skill,
};
use kenning_registry::{Agent, Capability, Error, Revision, Timestamp};

use crate::engine::from_row;
use crate::{Store, StoreError};

impl RegistryStore for Store {
    fn add_agent(&self, name: &str, id: Option<i64>, at: Timestamp) -> Result<Agent, Error> {
        Ok(self.runtime().block_on(agents::add(&self.pool, name, id, at))?)
    }

    fn agents(&self, after: i64, limit: usize) -> Result<(Vec<AgentCounts>, usize), Error> {
        Ok(self.runtime().block_on(agents::list(&self.pool, after, limit))?)
    }

    fn agent_named(&self, name: &str) -> Result<Option<Agent>, Error> {
        Ok(self.runtime().block_on(agents::named(&self.pool, name))?)
    }

    fn agent(&self, id: i64) -> Result<Agent, Error> {
        Ok(self.runtime().block_on(agents::get(&self.pool, id))?)
    }

    fn rename_agent(
        &self,
        id: i64,
        name: &str,
        expected: Option<Revision>,
    ) -> Result<Agent, Error> {
        Ok(self.runtime().block_on(agents::rename(&self.pool, id, name, expected))?)
    }

    fn remove_agent(&self, id: i64, expected: Option<Revision>) -> Result<usize, Error> {
        Ok(self.runtime().block_on(agents::remove(&self.pool, id, expected))?)
    }

    fn held(&self, agent_id: i64) -> Result<Held, Error> {
        Ok(self.runtime().block_on(holdings::of_agent(&self.pool, agent_id))?)
    }

    fn apply(&self, agent_id: i64, change: &Change, at: Timestamp) -> Result<Applied, Error> {
        Ok(self.runtime().block_on(change::apply(&self.pool, agent_id, change, at))?)
    }

    fn holdings(&self, filter: &Filter, page: &Page) -> Result<(Vec<Holding>, usize), Error> {
        Ok(self.runtime().block_on(holdings::of_all(&self.pool, filter, page))?)
    }

    fn skills(&self, filter: &Filter) -> Result<Vec<Skill>, Error> {
        Ok(self.runtime().block_on(holdings::skills(&self.pool, filter))?)
    }
}

impl Store {
    /// Active skills that were registered or changed since `at`; the newest if there are more than
    /// `limit`.
    pub fn skills_since(&self, at: Timestamp, limit: usize) -> Result<Vec<Skill>, StoreError> {
        Ok(self.runtime().block_on(holdings::skills_since(&self.pool, at, limit))?)
    }
}

type Refusal = crate::Refusal<Error>;

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Rule(error)
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Rule(error) => error,
            Refusal::Database(error) => Self::database(error),
        }
    }
}

struct AgentRow {
    id: i64,
    name: String,
    created_at: i64,
    revision: i64,
}

from_row!(AgentRow { id, name, created_at, revision });

impl From<AgentRow> for Agent {
    fn from(row: AgentRow) -> Self {
        let (created_at, revision) = (Timestamp(row.created_at), Revision(row.revision));
        Self { id: row.id, name: row.name, created_at, revision }
    }
}

struct CapabilityRow {
    id: i64,
    skill_name: String,
    version: String,
    active: bool,
    metadata: Option<String>,
    registered_at: i64,
    updated_at: i64,
}

from_row!(CapabilityRow { id, skill_name, version, active, metadata, registered_at, updated_at });

impl From<CapabilityRow> for Capability {
    fn from(row: CapabilityRow) -> Self {
        Self {
            id: row.id,
            skill_name: row.skill_name,
            version: row.version,
            active: row.active,
            metadata: parsed(row.metadata.as_deref()),
            registered_at: Timestamp(row.registered_at),
            updated_at: Timestamp(row.updated_at),
        }
    }
}

/// Text that is no JSON object, because another program wrote it, counts as no metadata.
fn parsed(metadata: Option<&str>) -> Option<Metadata> {
    metadata.and_then(|text| serde_json::from_str(text).ok())
}

fn written(metadata: &Metadata) -> String {
    serde_json::to_string(metadata).unwrap_or_default()
}

fn count(number: i64) -> usize {
    usize::try_from(number).unwrap_or(0)
}
