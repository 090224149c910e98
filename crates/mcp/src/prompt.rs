//! Prompts: messages that a person can start from.

use std::collections::HashMap;
use std::sync::Arc;

use rmcp::model::{self, ErrorData, GetPromptResult, PromptMessage};

use crate::inventory::Toolset;
use crate::rooms::Rooms;

#[derive(Clone)]
pub struct Prompt {
    pub name: &'static str,
    /// The toolset it is switched on and off with: that of the tools it speaks of.
    pub toolset: Toolset,
    pub title: &'static str,
    pub description: &'static str,
    pub arguments: Vec<Argument>,
    pub render: Render,
}

#[derive(Clone)]
pub struct Argument {
    pub name: &'static str,
    pub description: &'static str,
    pub required: bool,
    /// Values worth offering.
    pub complete: Option<fn(&Rooms) -> Vec<String>>,
}

pub type Render = Arc<dyn Fn(&HashMap<String, String>) -> Vec<PromptMessage> + Send + Sync>;

impl Prompt {
    pub fn definition(&self) -> model::Prompt {
        let arguments = self.arguments.iter().map(|argument| {
            model::PromptArgument::new(argument.name)
                .with_description(argument.description)
                .with_required(argument.required)
        });
        model::Prompt::new(self.name, Some(self.description), Some(arguments.collect()))
            .with_title(self.title)
    }

    pub fn get(&self, given: &HashMap<String, String>) -> Result<GetPromptResult, ErrorData> {
        let missing = self.arguments.iter().find(|argument| {
            argument.required
                && given.get(argument.name).is_none_or(|value| value.trim().is_empty())
        });
        if let Some(missing) = missing {
            let message = format!("prompt `{}` needs the argument `{}`", self.name, missing.name);
            return Err(ErrorData::invalid_params(message, None));
        }
        let unknown =
            given.keys().find(|key| self.arguments.iter().all(|a| a.name != key.as_str()));
        if let Some(unknown) = unknown {
            let known: Vec<&str> = self.arguments.iter().map(|argument| argument.name).collect();
            let message = format!(
                "prompt `{}` has no argument `{unknown}`; it takes {}",
                self.name,
                known.join(", ")
            );
            return Err(ErrorData::invalid_params(message, None));
        }
        Ok(GetPromptResult::new((self.render)(given)).with_description(self.description))
    }
}

impl std::fmt::Debug for Prompt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prompt").field("name", &self.name).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Argument {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Argument").field("name", &self.name).finish_non_exhaustive()
    }
}
