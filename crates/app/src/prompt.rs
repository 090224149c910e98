//! Prompts: messages that a person can start from.

use std::collections::HashMap;

use crate::services::Services;
use crate::toolset::Toolset;

#[derive(Debug, Clone)]
pub struct Prompt {
    pub name: &'static str,
    /// The toolset it is switched on and off with: that of the tools it names.
    pub toolset: Toolset,
    pub title: &'static str,
    pub description: &'static str,
    pub arguments: Vec<Argument>,
    /// The user's message, with `{name}` where an argument goes.
    pub(crate) template: &'static str,
}

#[derive(Clone)]
pub struct Argument {
    pub name: &'static str,
    pub description: &'static str,
    pub required: bool,
    /// Values worth offering.
    pub(crate) complete: Option<fn(&Services) -> Vec<String>>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PromptError {
    #[error("prompt `{prompt}` needs the argument `{argument}`")]
    Missing { prompt: &'static str, argument: &'static str },
    #[error("prompt `{prompt}` has no argument `{given}`; it takes {}", .known.join(", "))]
    Unknown { prompt: &'static str, given: String, known: Vec<&'static str> },
}

impl Prompt {
    /// The message with its arguments filled in.
    pub fn fill(&self, given: &HashMap<String, String>) -> Result<String, PromptError> {
        let is_given = |name: &str| given.get(name).is_some_and(|value| !value.trim().is_empty());
        let missing = self.arguments.iter().find(|one| one.required && !is_given(one.name));
        if let Some(missing) = missing {
            return Err(PromptError::Missing { prompt: self.name, argument: missing.name });
        }
        let known: Vec<&'static str> =
            self.arguments.iter().map(|argument| argument.name).collect();
        if let Some(unknown) = given.keys().find(|name| !known.contains(&name.as_str())) {
            let given = unknown.clone();
            return Err(PromptError::Unknown { prompt: self.name, given, known });
        }
        Ok(filled(self.template, given))
    }
}

/// Replaces each `{argument}`. Values are put in as they are: braces inside them mean nothing.
fn filled(template: &str, given: &HashMap<String, String>) -> String {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((name, after)) = after.split_once('}') else { break };
        text.push_str(before);
        text.push_str(given.get(name).map_or("", |value| value.trim()));
        rest = after;
    }
    text.push_str(rest);
    text
}

impl std::fmt::Debug for Argument {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Argument").field("name", &self.name).finish_non_exhaustive()
    }
}
