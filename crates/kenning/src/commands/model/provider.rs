//! Which provider has a model, by the model's name.

use super::wire::Wire;
use crate::failure::Failure;

pub(super) struct Provider {
    /// As in `groq::llama-3.3-70b-versatile`, which asks for this provider whatever the model.
    pub(super) name: &'static str,
    /// How the names of its models start.
    models: &'static [&'static str],
    /// Variable with the key; `None` if it needs none.
    pub(super) key: Option<&'static str>,
    pub(super) base: &'static str,
}

const ANTHROPIC: &str = "https://api.anthropic.com/v1/";
const OPENAI: &str = "https://api.openai.com/v1/";
const GEMINI: &str = "https://generativelanguage.googleapis.com/v1beta/";
const MINIMAX: &str = "https://api.minimax.io/anthropic/v1/";

/// Models on this machine.
const LOCAL: Provider = provider("ollama", &[], None, "http://localhost:11434/v1/");

/// Those not named in [`wire`] speak the completions of `OpenAI`.
const PROVIDERS: &[Provider] = &[
    provider("anthropic", &["claude"], Some("ANTHROPIC_API_KEY"), ANTHROPIC),
    provider(
        "openai",
        &["gpt", "o1", "o3", "o4", "chatgpt", "codex"],
        Some("OPENAI_API_KEY"),
        OPENAI,
    ),
    provider("gemini", &["gemini"], Some("GEMINI_API_KEY"), GEMINI),
    provider(
        "cohere",
        &["command"],
        Some("COHERE_API_KEY"),
        "https://api.cohere.ai/compatibility/v1/",
    ),
    provider("deepseek", &["deepseek-"], Some("DEEPSEEK_API_KEY"), "https://api.deepseek.com/v1/"),
    provider(
        "fireworks",
        &["accounts/fireworks/"],
        Some("FIREWORKS_API_KEY"),
        "https://api.fireworks.ai/inference/v1/",
    ),
    provider("groq", &[], Some("GROQ_API_KEY"), "https://api.groq.com/openai/v1/"),
    provider("kimi", &["kimi-"], Some("KIMI_API_KEY"), "https://api.moonshot.ai/v1/"),
    provider("minimax", &["MiniMax-", "minimax-"], Some("MINIMAX_API_KEY"), MINIMAX),
    provider("mistral", &[], Some("MISTRAL_API_KEY"), "https://api.mistral.ai/v1/"),
    provider("moonshot", &["moonshot-"], Some("MOONSHOT_API_KEY"), "https://api.moonshot.cn/v1/"),
    provider("openrouter", &[], Some("OPENROUTER_API_KEY"), "https://openrouter.ai/api/v1/"),
    provider("together", &[], Some("TOGETHER_API_KEY"), "https://api.together.xyz/v1/"),
    provider("xai", &["grok"], Some("XAI_API_KEY"), "https://api.x.ai/v1/"),
    provider("zai", &["glm"], Some("ZAI_API_KEY"), "https://api.z.ai/api/paas/v4/"),
    LOCAL,
];

const fn provider(
    name: &'static str,
    models: &'static [&'static str],
    key: Option<&'static str>,
    base: &'static str,
) -> Provider {
    Provider { name, models, key, base }
}

/// The provider of a model, and the model's name there.
pub(super) fn of(model: &str) -> Result<(&'static Provider, &str), Failure> {
    if let Some((namespace, model)) = model.split_once("::") {
        let named = PROVIDERS.iter().find(|provider| provider.name == namespace);
        return named.map(|provider| (provider, model)).ok_or_else(|| unknown(namespace));
    }
    if is_local(model) {
        return Ok((&LOCAL, model));
    }
    let has = |provider: &&Provider| provider.models.iter().any(|name| model.starts_with(name));
    let named = PROVIDERS.iter().find(has);
    named.map(|provider| (provider, model)).ok_or_else(|| unimplied(model))
}

/// Ollama's names have a tag, such as `qwen3:8b`. The weights of `gpt-oss` are open: a caller that
/// asks for it by this name runs it.
fn is_local(model: &str) -> bool {
    let has_tag = model.contains(':') && !model.contains('/');
    has_tag || model.starts_with("gpt-oss")
}

fn known() -> String {
    let known: Vec<&str> = PROVIDERS.iter().map(|provider| provider.name).collect();
    known.join(", ")
}

fn unknown(namespace: &str) -> Failure {
    Failure::usage(format!("there is no provider `{namespace}`"))
        .hint(format!("there is {}; for any other, name its OpenAI-compatible endpoint", known()))
}

fn unimplied(model: &str) -> Failure {
    Failure::usage(format!("no known provider has a model called `{model}`")).hint(format!(
        "write PROVIDER::{model} with one of {}, such as ollama::{model} for one on this machine; \
         for any other provider, name its OpenAI-compatible endpoint",
        known()
    ))
}

pub(super) fn wire(base: &str, model: &str) -> Wire {
    match base {
        ANTHROPIC | MINIMAX => Wire::Messages,
        GEMINI => Wire::Contents,
        OPENAI if needs_responses(model) => Wire::Responses,
        _ => Wire::Completions,
    }
}

/// The newer models of `OpenAI` do not all answer as completions.
fn needs_responses(model: &str) -> bool {
    let generation = model.strip_prefix("gpt-").and_then(|rest| rest.chars().next());
    generation.is_some_and(|digit| ('5'..='9').contains(&digit))
        || model.contains("codex")
        || model.contains("-pro")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_implies_its_provider_and_its_wire() {
        let implied = |model| {
            let (provider, name) = of(model).unwrap();
            (provider.name, name, wire(provider.base, name))
        };
        let expected = [
            ("claude-sonnet-4-5", "anthropic", Wire::Messages),
            ("gpt-5", "openai", Wire::Responses),
            ("gpt-4o-mini", "openai", Wire::Completions),
            ("o3-mini", "openai", Wire::Completions),
            ("o3-pro", "openai", Wire::Responses),
            ("gemini-2.5-pro", "gemini", Wire::Contents),
            ("MiniMax-M2", "minimax", Wire::Messages),
            ("grok-4", "xai", Wire::Completions),
            ("gpt-oss:20b", "ollama", Wire::Completions),
            ("qwen3:8b", "ollama", Wire::Completions),
        ];
        for (model, provider, wire) in expected {
            assert_eq!(implied(model), (provider, model, wire));
        }
        assert_eq!(implied("groq::llama-3"), ("groq", "llama-3", Wire::Completions));
        assert_eq!(implied("anthropic::claude-x").0, "anthropic");
    }

    #[test]
    fn an_unknown_provider_is_an_error_that_names_the_known_ones() {
        let names =
            ["mimo-v2-flash", "omlx-qwen3", "fireworks/glm-5", "deepseek/r1:free", "llama3.2"];
        for model in ["nobody::model"].into_iter().chain(names) {
            let error = of(model).err().unwrap_or_else(|| panic!("{model} has a provider"));
            let name = model.strip_suffix("::model").unwrap_or(model);
            assert!(error.message.contains(name), "{error:?}");
            assert!(error.hint.unwrap().contains("anthropic, openai, gemini"));
        }
        assert_eq!(of("ollama::llama3.2").unwrap().0.name, "ollama");
    }

    #[test]
    fn every_address_is_a_url_to_which_paths_are_appended() {
        for provider in PROVIDERS {
            let base = reqwest::Url::parse(provider.base).unwrap();
            assert!(base.join("models").unwrap().as_str().starts_with(provider.base));
        }
    }
}
