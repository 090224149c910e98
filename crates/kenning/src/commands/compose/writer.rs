//! A language model that writes code, if somebody has a key for one.

use std::sync::Arc;

use genai::Client;
use genai::chat::ChatRequest;
use kenning_compose::generator::{Model, ModelError};

use crate::commands::use_ring;

/// Which model, if not the usual one of the provider whose key there is.
const MODEL: &str = "KENNING_COMPOSE_MODEL";
/// Keys, and the model that is meant by having one.
const KEYS: [(&str, &str); 3] = [
    ("ANTHROPIC_API_KEY", "claude-sonnet-4-5"),
    ("OPENAI_API_KEY", "gpt-5"),
    ("GEMINI_API_KEY", "gemini-2.5-pro"),
];

struct Writer {
    client: Client,
    name: String,
}

/// The model of the first provider whose key is set.
pub(super) fn from_environment() -> Option<Arc<dyn Model>> {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let (_, usual) = KEYS.iter().find(|(key, _)| is_set(key))?;
    use_ring();
    let name = std::env::var(MODEL).ok().filter(|name| !name.trim().is_empty());
    let name = name.unwrap_or_else(|| (*usual).to_owned());
    let client = Client::new().inspect_err(|error| tracing::warn!(%error, "no model")).ok()?;
    Some(Arc::new(Writer { client, name }))
}

impl Model for Writer {
    fn complete(&self, prompt: &str) -> Result<String, ModelError> {
        let failed = |error: &dyn std::fmt::Display| {
            ModelError(format!("{} does not answer: {error}", self.name))
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| failed(&error))?;
        let request = ChatRequest::from_user(prompt);
        let answer = runtime.block_on(self.client.exec_chat(&self.name, request, None));
        let answer = answer.map_err(|error| failed(&error))?;
        answer.into_first_text().ok_or_else(|| failed(&"it said nothing"))
    }
}
