//! The proxy alone, as the tests and the benchmark run it; users have `kenning wrap`.
//!
//! `wrap-alone watchdog`, `wrap-alone url ADDRESS`, `wrap-alone [--ingest URL] -- COMMAND…`

#![expect(clippy::unwrap_used, reason = "only the tests run this")]

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use kenning_wrap::{IngestSink, NullSink, Options, Sink, Target, run, watchdog};

fn main() -> ExitCode {
    let mut arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    if arguments[0] == "watchdog" {
        watchdog::run().unwrap();
        return ExitCode::SUCCESS;
    }
    let mut sink: Arc<dyn Sink> = Arc::new(NullSink);
    if arguments[0] == "--ingest" {
        let base = arguments.remove(1).into_string().unwrap();
        arguments.remove(0);
        sink = Arc::new(IngestSink::new(&base, Some("hush".into())));
    }
    let first = arguments.remove(0);
    let target = if first == "url" {
        let headers = vec![("x-test".to_owned(), "yes".to_owned())];
        Target::Url { url: arguments[0].clone().into_string().unwrap(), headers }
    } else {
        let watchdog = vec![std::env::current_exe().unwrap().into(), "watchdog".into()];
        Target::Program { command: arguments, watchdog }
    };
    // Servers that exit by themselves get enough time; tests of those that do not set less.
    let grace = std::env::var("WRAP_GRACE_MS").ok().and_then(|grace| grace.parse().ok());
    let grace = Duration::from_millis(grace.unwrap_or(30_000));
    let options = Options { grace, ..Options::new(target, "test") };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    match runtime.block_on(run(options, sink)) {
        Ok(exit) => {
            // A thread may still block on standard input.
            runtime.shutdown_background();
            ExitCode::from(exit.code())
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}
