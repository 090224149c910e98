//! Clients for language models, at their providers or at an endpoint of the user.

use genai::adapter::AdapterKind;
use genai::resolver::{AuthData, Endpoint, ServiceTargetResolver};
use genai::{Client, ModelIden, ServiceTarget};

use super::install_tls_provider;
use crate::failure::Failure;

/// Variable with the key of an OpenAI-compatible endpoint; many local ones need none.
const KEY: &str = "OPENAI_API_KEY";

/// A client of `endpoint`, or else of the provider that the model's name implies.
pub(super) fn client(endpoint: Option<&str>) -> Result<Client, Failure> {
    install_tls_provider();
    let mut client = Client::builder();
    if let Some(endpoint) = endpoint {
        client = client.with_service_target_resolver(resolver(endpoint)?);
    }
    client.build().map_err(|error| Failure::new(error.to_string()))
}

fn resolver(endpoint: &str) -> Result<ServiceTargetResolver, Failure> {
    let url = reqwest::Url::parse(endpoint).map_err(|error| {
        Failure::usage(format!("the endpoint `{endpoint}` is not a URL: {error}"))
            .hint("an example: http://127.0.0.1:8080/v1/")
    })?;
    let base = format!("{}/", url.as_str().trim_end_matches('/'));
    let resolve = move |target: ServiceTarget| -> Result<ServiceTarget, genai::resolver::Error> {
        let auth = match std::env::var_os(KEY) {
            Some(_) => AuthData::from_env(KEY),
            None => AuthData::from_single("none"),
        };
        let model = ModelIden::new(AdapterKind::OpenAI, target.model.model_name);
        Ok(ServiceTarget { endpoint: Endpoint::from_owned(base.as_str()), auth, model })
    };
    Ok(ServiceTargetResolver::from_resolver_fn(resolve))
}
