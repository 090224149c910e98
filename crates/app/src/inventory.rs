//! Everything that Kenning offers, registered once.

use std::fmt;
use std::sync::Arc;

use kenning_gaps::contract;
use serde_json::Value;

use crate::capabilities::{self, Capabilities};
use crate::generator::Generators;
use crate::limit::Limit;
use crate::operation::{Effect, JsonObject, Operation};
use crate::prompt::Prompt;
use crate::resource::ResourceFamily;
use crate::toolset::Toolset;
use crate::{catalog, compose, gaps, knowledge, registry, state};

/// Operations, resources, prompts, generators and limits, in the order clients see them.
#[derive(Clone, Default)]
pub struct Inventory {
    pub operations: Vec<Operation>,
    pub resources: Vec<Arc<dyn ResourceFamily>>,
    pub prompts: Vec<Prompt>,
    pub generators: Option<Arc<dyn Generators>>,
    pub limits: Vec<Limit>,
}

/// Whether operations that change something are offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    ReadWrite,
    ReadOnly,
}

impl Inventory {
    pub fn full() -> Self {
        Self {
            operations: [
                knowledge::operations(),
                catalog::operations(),
                registry::operations(),
                gaps::operations(),
                compose::operations(),
            ]
            .concat(),
            resources: vec![
                Arc::new(knowledge::KnowledgeResources),
                Arc::new(registry::RegistryResources),
                Arc::new(compose::ConfigResources),
                Arc::new(compose::SchemaResources),
                Arc::new(compose::ContentResources),
                Arc::new(compose::GeneratorResources),
                Arc::new(Capabilities),
            ],
            prompts: knowledge::prompts(),
            generators: Some(Arc::new(compose::ComposeGenerators)),
            limits: [
                state::limits(),
                knowledge::limits(),
                catalog::limits(),
                registry::limits(),
                compose::limits(),
            ]
            .concat(),
        }
    }

    /// Only what belongs to these toolsets, or to none; with [`Access::ReadOnly`] without
    /// operations that write.
    #[must_use]
    pub fn select(mut self, toolsets: &[Toolset], access: Access) -> Self {
        let is_on = |toolset: Option<Toolset>| toolset.is_none_or(|one| toolsets.contains(&one));
        self.operations.retain(|operation| {
            toolsets.contains(&operation.toolset)
                && (access == Access::ReadWrite || operation.effect == Effect::Reads)
        });
        self.resources.retain(|family| is_on(family.family().toolset));
        self.prompts.retain(|prompt| toolsets.contains(&prompt.toolset));
        self.generators = self.generators.filter(|all| toolsets.contains(&all.toolset()));
        self.limits.retain(|limit| is_on(limit.toolset));
        self
    }

    /// Without operations that write.
    pub(crate) fn read_only(&self) -> Self {
        let mut inventory = self.clone();
        inventory.operations.retain(|operation| operation.effect == Effect::Reads);
        inventory
    }

    /// Gives every tool but the reserved one the parameter by which agents say why they call it.
    #[must_use]
    pub fn with_intent(mut self) -> Self {
        let asked = self.operations.iter_mut().filter(|one| one.name != contract::TOOL_NAME);
        for operation in asked {
            let schema = Value::Object(JsonObject::clone(&operation.input_schema));
            if let Some(Value::Object(schema)) = contract::inject_schema(Some(&schema)) {
                operation.input_schema = Arc::new(schema);
            }
        }
        self
    }

    /// The operations that are offered as tools.
    pub fn tools(&self) -> impl Iterator<Item = &Operation> {
        self.operations.iter().filter(|operation| operation.tool.is_some())
    }

    pub fn tool(&self, name: &str) -> Option<&Operation> {
        self.tools().find(|operation| operation.name == name)
    }

    /// Whether any tool of the toolset is there.
    pub fn has(&self, toolset: Toolset) -> bool {
        self.tools().any(|operation| operation.toolset == toolset)
    }

    /// What a model is told when it connects.
    pub fn instructions(&self) -> String {
        let on = Toolset::ALL.into_iter().filter(|toolset| self.has(*toolset));
        let mut guides: Vec<&str> =
            on.map(Toolset::guide).filter(|guide| !guide.is_empty()).collect();
        if self.family(capabilities::SERVER_URI).is_some() {
            guides.push(capabilities::GUIDE);
        }
        guides.join(" ")
    }

    pub fn prompt(&self, name: &str) -> Option<&Prompt> {
        self.prompts.iter().find(|prompt| prompt.name == name)
    }

    pub fn family(&self, uri: &str) -> Option<&dyn ResourceFamily> {
        let (scheme, _) = uri.split_once("://")?;
        self.resources.iter().map(AsRef::as_ref).find(|one| one.family().scheme == scheme)
    }
}

impl fmt::Debug for Inventory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inventory").field("operations", &self.operations).finish_non_exhaustive()
    }
}
