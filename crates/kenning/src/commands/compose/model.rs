//! The language model behind `code_generation`, if an endpoint or a key is configured.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use kenning_compose::generator::{
    Credentials, Latency, Model, ModelError, Stability, UpstreamDependencies,
};

use super::Environment;
use crate::commands::{Context, model};
use crate::failure::Failure;

/// Environment variable of the key, provider, and default model.
const KEYS: [(&str, &str, &str); 3] = [
    ("ANTHROPIC_API_KEY", "anthropic", "claude-sonnet-4-5"),
    ("OPENAI_API_KEY", "openai", "gpt-5"),
    ("GEMINI_API_KEY", "gemini", "gemini-2.5-pro"),
];

/// How long a model may take to answer. A server works on other requests meanwhile, but a model that
/// hangs must not hold its permits for ever.
const MODEL_TIMEOUT: Duration = Duration::from_mins(5);

struct ConfiguredModel {
    model: model::Model,
    upstream: UpstreamDependencies,
    took: Durations,
}

/// How long the last replies took.
#[derive(Default)]
struct Durations(Mutex<VecDeque<Duration>>);

impl Durations {
    /// Enough for a 95th percentile, few enough to follow a provider that becomes slower.
    const KEPT: usize = 100;

    fn add(&self, took: Duration) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() == Self::KEPT {
            kept.pop_front();
        }
        kept.push_back(took);
    }

    /// As measured, or a typical one before the first reply.
    fn latency(&self) -> Latency {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut sorted: Vec<Duration> = kept.iter().copied().collect();
        sorted.sort_unstable();
        let percentile = |percent: usize| {
            let took = sorted.get((sorted.len() * percent).div_ceil(100).saturating_sub(1))?;
            u64::try_from(took.as_millis()).ok()
        };
        match (percentile(50), percentile(95)) {
            (None, _) | (_, None) => Latency::MODEL,
            (p50, p95) => Latency { p50, p95 },
        }
    }
}

/// The model at the configured endpoint, or of the first provider whose key is set.
pub(super) fn from_settings(context: &Context) -> Result<Option<Arc<dyn Model>>, Failure> {
    let settings = &context.settings.compose;
    let endpoint = settings.endpoint(&context.layers)?;
    let provider = KEYS.iter().find(|(key, ..)| Environment.is_set(key));
    let (service, credentials, default) = match (endpoint, provider) {
        (Some(endpoint), _) => (endpoint, vec![], None),
        (None, Some((key, provider, name))) => (*provider, vec![(*key).to_owned()], Some(*name)),
        (None, None) => return Ok(None),
    };
    let name = settings.model().or(default).ok_or_else(|| {
        let problem = "an endpoint needs a model: set `compose.model`";
        context.layers.fault("compose.endpoint", problem)
    })?;
    let model = model::Model::new(name, endpoint)?;
    let upstream = UpstreamDependencies {
        services: vec![service.to_owned()],
        credentials_required: credentials,
        optional_services: Vec::new(),
        expected_latency_ms: Latency::MODEL,
        stability: Stability::Stable,
        concurrency_safe: true,
    };
    Ok(Some(Arc::new(ConfiguredModel { model, upstream, took: Durations::default() })))
}

impl Model for ConfiguredModel {
    fn complete(&self, prompt: &str) -> Result<String, ModelError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| ModelError(error.to_string()))?;
        let name = self.model.name();
        let asked = Instant::now();
        let reply = runtime.block_on(async {
            tokio::time::timeout(MODEL_TIMEOUT, self.model.ask(prompt, &[])).await
        });
        let reply = reply
            .map_err(|_| ModelError(format!("{name} did not answer within {MODEL_TIMEOUT:?}")))?;
        let text = reply.map_err(|error| ModelError(error.to_string()))?.text;
        if text.is_empty() {
            return Err(ModelError(format!("the reply of {name} is empty")));
        }
        self.took.add(asked.elapsed());
        Ok(text)
    }

    fn upstream(&self) -> UpstreamDependencies {
        UpstreamDependencies { expected_latency_ms: self.took.latency(), ..self.upstream.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latency_of_a_model_is_known_before_its_first_reply_and_measured_after_it() {
        let took = Durations::default();
        assert_eq!(took.latency(), Latency::MODEL);
        took.add(Duration::from_millis(70));
        assert_eq!(took.latency(), Latency { p50: Some(70), p95: Some(70) });
        (1..=200).for_each(|ms| took.add(Duration::from_millis(ms)));
        assert_eq!(took.latency(), Latency { p50: Some(150), p95: Some(195) });
    }
}
