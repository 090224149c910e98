//! Metrics in the text formats of Prometheus.
//!
//! Labels have few values: tools of the inventory, routes as they are registered, methods, status
//! codes. Nothing that a client wrote becomes a label.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use kenning_app::{AppState, OperationFigures, Tally};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeLabelSet, EncodeMetric, MetricEncoder, NoLabelSet,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use super::health::Readiness;
use super::{Health, StoreHealth};
use crate::auth::{Grant, not_allowed};
use crate::problem::Problem;
use crate::token::Scope;

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// The older format: the same lines with less metadata.
const PLAIN: &str = "text/plain; version=0.0.4; charset=utf-8";
const EDGES: [f64; 11] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Answered {
    method: &'static str,
    route: String,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByRoute {
    route: String,
}

pub(super) struct Metrics {
    requests: Family<Answered, Counter>,
    durations: Family<ByRoute, Histogram, fn() -> Histogram>,
    under_way: Gauge,
    app: AppState,
    health: Arc<dyn Health>,
    readiness: Arc<Readiness>,
}

/// A request under way.
pub(super) struct UnderWay(Gauge);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl Metrics {
    pub(super) fn new(app: AppState, health: Arc<dyn Health>, readiness: Arc<Readiness>) -> Self {
        Self {
            requests: Family::default(),
            durations: Family::new_with_constructor(|| Histogram::new(EDGES)),
            under_way: Gauge::default(),
            app,
            health,
            readiness,
        }
    }

    pub(super) fn begin(&self) -> UnderWay {
        self.under_way.inc();
        UnderWay(self.under_way.clone())
    }

    pub(super) fn answered(
        &self,
        method: &'static str,
        route: String,
        status: StatusCode,
        took: Duration,
    ) {
        let by_route = ByRoute { route: route.clone() };
        self.durations.get_or_create(&by_route).observe(took.as_secs_f64());
        let answered = Answered { method, route, status: status.as_u16() };
        self.requests.get_or_create(&answered).inc();
    }

    /// All metrics of this moment.
    fn registry(&self, figures: Figures) -> Registry {
        let mut registry = Registry::with_prefix("kenning");
        registry.register(
            "http_requests",
            "Requests over HTTP that were answered",
            self.requests.clone(),
        );
        registry.register_with_unit(
            "http_request_duration",
            "Until the answer began",
            Unit::Seconds,
            self.durations.clone(),
        );
        registry.register(
            "http_requests_under_way",
            "Requests over HTTP that are worked on",
            self.under_way.clone(),
        );
        registry.register_collector(Box::new(figures));
        registry
    }

    fn figures(&self, ready: bool, store_up: Option<bool>) -> Figures {
        let snapshot = self.app.services.library.snapshot();
        Figures {
            ready,
            store_up,
            nodes: snapshot.node_count(),
            files: snapshot.file_count(),
            vectors: snapshot.coverage().embedded,
            subscribers: self.health.subscribers(),
            recorded: self.app.recorded_calls(),
            tools: self.app.figures(),
        }
    }
}

/// Figures that are counted elsewhere.
#[derive(Debug)]
struct Figures {
    ready: bool,
    store_up: Option<bool>,
    nodes: usize,
    files: usize,
    vectors: usize,
    subscribers: usize,
    recorded: Option<Tally>,
    tools: Vec<OperationFigures>,
}

impl Collector for Figures {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), fmt::Error> {
        let (name, help) = ("build_info", "The version that runs");
        let mut build = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        let version = [("version", env!("CARGO_PKG_VERSION"))];
        ConstGauge::new(1_i64).encode(build.encode_family(&version)?)?;
        let mut gauge = |name: &str, help: &str, value: usize| {
            let value = ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX));
            value.encode(encoder.encode_descriptor(name, help, None, MetricType::Gauge)?)
        };
        gauge("ready", "Whether requests should be sent here", usize::from(self.ready))?;
        if let Some(up) = self.store_up {
            gauge("store_up", "Whether the store can be read and written", usize::from(up))?;
        }
        gauge("index_nodes", "Sections that are known", self.nodes)?;
        gauge("index_files", "Files that are known", self.files)?;
        gauge("index_vectors", "Sections that can be found by meaning", self.vectors)?;
        gauge("mcp_listeners", "Clients that are told of changes", self.subscribers)?;
        if let Some(Tally { recorded, dropped }) = self.recorded {
            let mut counter = |name: &str, help: &str, value: u64| {
                let value = ConstCounter::new(value);
                value.encode(encoder.encode_descriptor(name, help, None, MetricType::Counter)?)
            };
            counter("recorded_calls", "Calls of tools that were recorded for the gaps", recorded)?;
            counter("recorded_calls_dropped", "Recorded calls that could not be stored", dropped)?;
        }
        self.encode_tools(&mut encoder)
    }
}

impl Figures {
    fn encode_tools(&self, encoder: &mut DescriptorEncoder) -> Result<(), fmt::Error> {
        let (name, help) = ("tool_calls", "Calls of tools");
        let mut calls = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        self.count(&mut calls, |tool| succeeded(tool) + tool.errors)?;
        let (name, help) = ("tool_errors", "Calls of tools that failed or were refused");
        let mut errors = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        self.count(&mut errors, |tool| tool.errors)?;
        let (name, help) = ("tool_duration", "How long calls took that succeeded");
        let unit = Some(&Unit::Seconds);
        let mut took = encoder.encode_descriptor(name, help, unit, MetricType::Histogram)?;
        for tool in &self.tools {
            let count = succeeded(tool);
            took.encode_family(&[("tool", tool.operation)])?.encode_histogram::<NoLabelSet>(
                tool.seconds,
                count,
                &tool.buckets,
                None,
            )?;
        }
        Ok(())
    }

    fn count(
        &self,
        encoder: &mut MetricEncoder,
        value: impl Fn(&OperationFigures) -> u64,
    ) -> Result<(), fmt::Error> {
        for tool in &self.tools {
            let value = ConstCounter::new(value(tool));
            value.encode(encoder.encode_family(&[("tool", tool.operation)])?)?;
        }
        Ok(())
    }
}

fn succeeded(tool: &OperationFigures) -> u64 {
    tool.buckets.iter().map(|(_, count)| count).sum()
}

pub(super) fn routes(metrics: Arc<Metrics>) -> Router {
    Router::new().route("/metrics", get(scrape)).with_state(metrics)
}

async fn scrape(
    Extension(grant): Extension<Grant>,
    State(metrics): State<Arc<Metrics>>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    if !grant.scope.allows(Scope::Read) {
        return Err(not_allowed(grant.scope));
    }
    let accepted = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    let modern = accepted.is_some_and(|accept| accept.contains("application/openmetrics-text"));
    let ready = metrics.readiness.is_ready().await;
    let store_up = match metrics.readiness.store().await {
        StoreHealth::None => None,
        store => Some(store == StoreHealth::Ready),
    };
    let written = tokio::task::spawn_blocking(move || {
        let registry = metrics.registry(metrics.figures(ready, store_up));
        let mut text = String::new();
        encode(&mut text, &registry).map(|()| text)
    });
    match written.await {
        Ok(Ok(text)) => {
            let kind = HeaderValue::from_static(if modern { OPEN_METRICS } else { PLAIN });
            Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
        }
        _ => Err(Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "the figures cannot be written")),
    }
}
