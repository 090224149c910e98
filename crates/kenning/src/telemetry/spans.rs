//! Exports the spans of requests and calls to a collector, by OTLP over HTTP.
//!
//! OpenTelemetry's environment variables say whether and where; without an endpoint nothing is
//! started. A span names the route or tool, its outcome and its duration, and nothing of the
//! request or the response.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kenning_gaps::Redactor;
use kenning_web::AdoptTrace;
use opentelemetry::KeyValue;
use opentelemetry::propagation::TextMapPropagator;
use opentelemetry::trace::TracerProvider;
use opentelemetry_http::HeaderExtractor;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanData, SpanExporter};
use tracing_opentelemetry::OpenTelemetrySpanExt;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::{Layer, Registry};

use super::{BoxedLayer, SPANS};

const ENDPOINTS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];
const PROTOCOLS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"];
const DISABLED: &str = "OTEL_SDK_DISABLED";
const EXPORTER: &str = "OTEL_TRACES_EXPORTER";
/// The only protocol that is supported.
const PROTOCOL: &str = "http/protobuf";
/// How long the export of the last spans may take at shutdown.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

static PROPAGATOR: OnceLock<TraceContextPropagator> = OnceLock::new();

pub(super) struct Spans(SdkTracerProvider);

impl Spans {
    /// `None` if the environment asks for no export; an error if it does and none can start.
    pub(super) fn start() -> Result<Option<Self>, String> {
        if !is_enabled(&variable) {
            return Ok(None);
        }
        if let Some(protocol) = first(&PROTOCOLS, &variable).filter(|given| given != PROTOCOL) {
            return Err(format!(
                "the OTLP protocol `{protocol}` is not supported, only {PROTOCOL}"
            ));
        }
        crate::commands::install_tls_provider();
        let exporter = opentelemetry_otlp::SpanExporter::builder().with_http().build();
        let exporter = exporter.map_err(|error| Redactor::default().text(&error.to_string()))?;
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(WarnOnce { exporter, failing: AtomicBool::new(false) })
            .with_resource(resource())
            .build();
        PROPAGATOR.get_or_init(TraceContextPropagator::new);
        Ok(Some(Self(provider)))
    }

    pub(super) fn layer(&self) -> BoxedLayer<Registry> {
        tracing_opentelemetry::layer()
            .with_tracer(self.0.tracer("kenning"))
            .with_location(false)
            .with_threads(false)
            .with_target(false)
            .with_level(false)
            .with_tracked_inactivity(false)
            // Log events are left out: they may say more than a collector should know.
            .with_filter(filter_fn(|metadata| metadata.is_span() && metadata.target() == SPANS))
            .boxed()
    }

    pub(super) fn finish(self) {
        if let Err(error) = self.0.shutdown_with_timeout(SHUTDOWN_TIMEOUT) {
            tracing::debug!(%error, "the last spans were not exported");
        }
    }
}

/// Makes a span part of the trace of the caller's `traceparent`; `None` if nothing is traced.
pub(crate) fn adopt() -> Option<AdoptTrace> {
    PROPAGATOR.get()?;
    Some(|span, headers| {
        let Some(propagator) = PROPAGATOR.get() else { return };
        let parent = propagator.extract(&HeaderExtractor(headers));
        // Fails only for a span that is not exported anyway.
        let _ = span.set_parent(parent);
    })
}

type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// An empty variable counts as unset.
fn first(names: &[&str], lookup: Lookup<'_>) -> Option<String> {
    names.iter().filter_map(|name| lookup(name)).find(|value| !value.trim().is_empty())
}

fn is_enabled(lookup: Lookup<'_>) -> bool {
    let is = |name: &str, word: &str| {
        lookup(name).is_some_and(|value| value.trim().eq_ignore_ascii_case(word))
    };
    !is(DISABLED, "true") && !is(EXPORTER, "none") && first(&ENDPOINTS, lookup).is_some()
}

/// The resource attributes of the environment, and our service name if it sets none.
fn resource() -> Resource {
    let from_environment = Resource::builder().build();
    let unnamed = from_environment
        .get(&"service.name".into())
        .is_none_or(|name| name.as_str().starts_with("unknown_service"));
    let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
    let resource = Resource::builder().with_attribute(version);
    if unnamed { resource.with_service_name("kenning").build() } else { resource.build() }
}

/// Warns once when the collector cannot be reached, and again only after it could.
#[derive(Debug)]
struct WarnOnce<E> {
    exporter: E,
    failing: AtomicBool,
}

impl<E: SpanExporter> SpanExporter for WarnOnce<E> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let sent = self.exporter.export(batch).await;
        let was_failing = self.failing.swap(sent.is_err(), Ordering::Relaxed);
        if let Err(error) = &sent
            && !was_failing
        {
            let reason = Redactor::default().text(&error.to_string());
            tracing::warn!(
                reason,
                "spans cannot be exported; they are dropped until the collector is back"
            );
        }
        sent
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.exporter.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(variables: &[(&str, &str)], expected: bool) {
        let lookup = |name: &str| {
            let found = variables.iter().find(|(given, _)| *given == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        assert_eq!(is_enabled(&lookup), expected, "{variables:?}");
    }

    #[test]
    fn spans_are_exported_only_if_an_endpoint_is_set() {
        let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318");
        check(&[], false);
        check(&[endpoint], true);
        check(&[("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://collector:4318/v1/traces")], true);
        check(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "")], false);
        check(&[endpoint, ("OTEL_SDK_DISABLED", "TRUE")], false);
        check(&[endpoint, ("OTEL_SDK_DISABLED", "false")], true);
        check(&[endpoint, ("OTEL_TRACES_EXPORTER", "none")], false);
        check(&[("OTEL_SERVICE_NAME", "kenning")], false);
    }
}
