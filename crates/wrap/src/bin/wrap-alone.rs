//! The proxy alone, as the tests and the benchmark run it; users have `kenning wrap`.
//!
//! `wrap-alone guard`, `wrap-alone url ADDRESS`, `wrap-alone [--ingest URL] -- COMMAND…`

#![expect(clippy::unwrap_used, reason = "only the tests run this")]

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use kenning_wrap::{Ingest, Nowhere, Options, Sink, Target, guard, run};

fn main() -> ExitCode {
    let mut arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    if arguments[0] == "guard" {
        guard::keep().unwrap();
        return ExitCode::SUCCESS;
    }
    let mut sink: Arc<dyn Sink> = Arc::new(Nowhere);
    if arguments[0] == "--ingest" {
        let base = arguments.remove(1).into_string().unwrap();
        arguments.remove(0);
        sink = Arc::new(Ingest::new(&base, Some("hush".into())));
    }
    let first = arguments.remove(0);
    let target = if first == "url" {
        let headers = vec![("x-test".to_owned(), "yes".to_owned())];
        Target::Url { url: arguments[0].clone().into_string().unwrap(), headers }
    } else {
        let guard = vec![std::env::current_exe().unwrap().into(), "guard".into()];
        Target::Program { command: arguments, guard }
    };
    // Servers that end by themselves are given the time; tests of those that do not are impatient.
    let grace = std::env::var("WRAP_GRACE_MS").ok().and_then(|grace| grace.parse().ok());
    let grace = Duration::from_millis(grace.unwrap_or(30_000));
    let options = Options { grace, ..Options::new(target, "test") };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    match runtime.block_on(run(options, sink)) {
        Ok(exit) => {
            // The thread that may still wait for our input is of no consequence.
            runtime.shutdown_background();
            ExitCode::from(exit.code())
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}
