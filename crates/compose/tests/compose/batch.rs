//! Batches: concurrency, errors, progress and limits.

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};

use kenning_compose::batch::{BatchRequest, BatchStatus, Progress};
use kenning_compose::generator::{Latency, Model, ModelError, Stability, UpstreamDependencies};
use kenning_compose::{Limits, Parts};
use serde_json::json;

use crate::fixture::{code, content, fixture, fixture_with, limited, object};

fn quiet(_: Progress<'_>) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

#[test]
fn generates_all_contents_with_their_contexts() {
    let fixture = fixture();
    for id in ["a", "b", "c"] {
        fixture.template(id, "{{ shared }} {{ own }}");
    }
    let mut request = BatchRequest::of(["a", "b", "c"]);
    request.shared_context = Some(object(json!({"shared": "s", "own": "none"})));
    request.individual_contexts = Some([("b".to_owned(), object(json!({"own": "mine"})))].into());
    let reported = Mutex::new(Vec::new());
    let progress = |progress: Progress<'_>| {
        reported.lock().unwrap().push((progress.done, progress.total));
        ControlFlow::Continue(())
    };
    let response = fixture.compose.batch_generate_content(&request, &progress).unwrap();
    assert!(response.success);
    assert_eq!((response.total, response.generated, response.failed), (3, 3, 0));
    let ids: Vec<&str> = response.results.iter().map(|one| one.content_id.as_str()).collect();
    assert_eq!(ids, ["a", "b", "c"]);
    assert_eq!(fixture.compose.content("a", None).unwrap().content.unwrap(), "s none");
    assert_eq!(fixture.compose.content("b", None).unwrap().content.unwrap(), "s mine");
    assert_eq!(reported.into_inner().unwrap(), [(1, 3), (2, 3), (3, 3)]);
    let again = fixture.compose.batch_generate_content(&request, &quiet).unwrap();
    assert_eq!(again.skipped, 3);
}

#[test]
fn stops_when_the_progress_callback_breaks() {
    let fixture = fixture();
    for n in 0..20 {
        fixture.template(&format!("c{n}"), "fine");
    }
    let mut request = BatchRequest::of((0..20).map(|n| format!("c{n}")));
    request.max_parallel = 1;
    let gone = |progress: Progress<'_>| match progress.done {
        3.. => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    let stopped = fixture.compose.batch_generate_content(&request, &gone).unwrap();
    assert_eq!((stopped.generated, stopped.not_run), (3, 17));
}

#[test]
fn stops_after_an_error_only_if_requested() {
    let fixture = fixture();
    for n in 0..20 {
        fixture.template(&format!("c{n}"), if n == 3 { "{{ missing + 1 }}" } else { "fine" });
    }
    let mut request = BatchRequest::of((0..20).map(|n| format!("c{n}")));
    request.max_parallel = 1;
    request.continue_on_error = false;
    let stopped = fixture.compose.batch_generate_content(&request, &quiet).unwrap();
    assert!(!stopped.success);
    assert_eq!((stopped.generated, stopped.failed, stopped.not_run), (3, 1, 16));
    assert_eq!(stopped.results[4].status, BatchStatus::NotRun);
    assert_eq!(fixture.compose.content_ids().unwrap(), ["c0", "c1", "c2"]);
    request.continue_on_error = true;
    request.max_parallel = 8;
    let went_on = fixture.compose.batch_generate_content(&request, &quiet).unwrap();
    let counts = (went_on.generated, went_on.skipped, went_on.failed, went_on.not_run);
    assert_eq!(counts, (16, 3, 1, 0));
    let error = went_on.results[3].error.as_ref().unwrap();
    assert_eq!(error.error.as_str(), "TEMPLATE_ERROR");
    assert!(!error.success);
}

#[test]
fn rejects_invalid_requests() {
    let fixture = limited(Limits { max_batch_size: 2, ..Limits::default() });
    fixture.template("a", "x");
    let run = |request: &BatchRequest| fixture.compose.batch_generate_content(request, &quiet);
    assert_eq!(code(run(&BatchRequest::of(["a", "b", "c"]))), "LIMIT_EXCEEDED");
    assert_eq!(code(run(&BatchRequest::of(Vec::<String>::new()))), "INVALID_ARGUMENT");
    assert_eq!(code(run(&BatchRequest::of(["a", "a"]))), "INVALID_ARGUMENT");
    assert_eq!(code(run(&BatchRequest::of(["../a"]))), "INVALID_ID");
    for max_parallel in [0, 17] {
        let request = BatchRequest { max_parallel, ..BatchRequest::of(["a"]) };
        assert_eq!(code(run(&request)), "INVALID_ARGUMENT");
    }
    let mut request = BatchRequest::of(["a"]);
    request.individual_contexts = Some([("b".to_owned(), object(json!({})))].into());
    assert_eq!(code(run(&request)), "INVALID_ARGUMENT");
    assert!(run(&BatchRequest::of(["a"])).unwrap().success);
}

/// Counts how many calls run concurrently.
struct Busy {
    now: AtomicUsize,
    most: AtomicUsize,
    /// Reached by all calls that may run concurrently.
    barrier: Option<Barrier>,
    concurrency_safe: bool,
}

impl Model for Busy {
    fn complete(&self, _: &str) -> Result<String, ModelError> {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        if let Some(barrier) = &self.barrier {
            barrier.wait();
        }
        self.now.fetch_sub(1, Ordering::SeqCst);
        Ok("text".to_owned())
    }

    fn upstream(&self) -> UpstreamDependencies {
        UpstreamDependencies {
            services: vec!["local".to_owned()],
            credentials_required: Vec::new(),
            optional_services: Vec::new(),
            expected_latency_ms: Latency::default(),
            stability: Stability::Beta,
            concurrency_safe: self.concurrency_safe,
        }
    }
}

fn most_at_once(max_parallel: usize, concurrency_safe: bool) -> usize {
    let busy = Arc::new(Busy {
        now: AtomicUsize::new(0),
        most: AtomicUsize::new(0),
        barrier: concurrency_safe.then(|| Barrier::new(max_parallel)),
        concurrency_safe,
    });
    let model: Arc<dyn Model> = busy.clone();
    let fixture = fixture_with(|parts| Parts { model: Some(model), ..parts });
    for n in 0..12 {
        let pattern = json!({"type": "code_generation", "specification": "x"});
        fixture.put(&content(&format!("c{n}"), pattern));
    }
    let ids = (0..12).map(|n| format!("c{n}"));
    let request = BatchRequest { max_parallel, ..BatchRequest::of(ids) };
    assert!(fixture.compose.batch_generate_content(&request, &quiet).unwrap().success);
    busy.most.load(Ordering::SeqCst)
}

#[test]
fn runs_as_many_concurrently_as_allowed() {
    assert_eq!(most_at_once(3, true), 3);
    assert_eq!(most_at_once(1, true), 1);
    // A generator that is not safe to run concurrently is not.
    assert_eq!(most_at_once(4, false), 1);
}
