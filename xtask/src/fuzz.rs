//! Runs the fuzz targets of `crates/fuzz` with libFuzzer.
//!
//! libFuzzer needs coverage counters in the code under test. The stable compiler can insert them, so
//! neither nightly nor `cargo-fuzz` is needed; this program wraps the compiler to insert them into our
//! crates only, so that no dependency is rebuilt. Our crates have no `unsafe` code, so there is no memory
//! sanitizer: fuzzing finds panics, hangs, excessive memory and violated properties.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use anyhow::{Context, Result, bail, ensure};
use cargo_metadata::{Message, MetadataCommand};

use crate::run::{self, cargo_command, read, root};

/// In the tests: enough to see that every target runs, and to find shallow bugs.
const SHORT: u64 = 5;
const LONG: u64 = 600;
const MEMORY_LIMIT_MB: u64 = 2_048;
/// An input that takes longer is a hang.
const HANG_SECONDS: u64 = 20;
const MAX_INPUT_BYTES: u64 = 16_384;
/// Targets write a file for each input, which is slow on a disk.
const RAM_DISK: &str = "/dev/shm";
/// The flags of `cargo-fuzz`, without a sanitizer.
const COVERAGE_FLAGS: [&str; 6] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Copt-level=1",
];
/// While this is set, cargo runs this program in place of the compiler.
const WRAPS_COMPILER: &str = "XTASK_WRAPS_COMPILER";

/// `[--seconds N] [TARGET…]`
pub(crate) fn run(words: &[&str]) -> Result<()> {
    let (seconds, wanted) = match words {
        ["--seconds", seconds, wanted @ ..] => {
            (seconds.parse().with_context(|| format!("`{seconds}` is not a number"))?, wanted)
        }
        wanted => (LONG, wanted),
    };
    let known = targets()?;
    if let Some(unknown) = wanted.iter().find(|name| !known.iter().any(|known| known == *name)) {
        bail!("unknown target `{unknown}`; the targets are {}", known.join(", "));
    }
    let chosen = |name: &String| wanted.is_empty() || wanted.contains(&name.as_str());
    fuzz_all(&known.into_iter().filter(chosen).collect::<Vec<_>>(), seconds)
}

/// Every target for a few seconds.
pub(crate) fn check() -> Result<()> {
    fuzz_all(&targets()?, SHORT)
}

fn fuzz_all(targets: &[String], seconds: u64) -> Result<()> {
    let program = build()?;
    targets.iter().try_for_each(|target| fuzz(&program, target, seconds))
}

fn targets() -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(root().join("fuzz/seeds"))? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// With `--workspace`, as everything is built, so that the features of the dependencies stay the same.
fn build() -> Result<PathBuf> {
    let mut cargo = cargo_command(&["build", "--workspace", "--bin", "fuzz"]);
    cargo.args(["--features", "kenning-fuzz/fuzz", "--message-format", "json-render-diagnostics"]);
    cargo.env("RUSTC_WORKSPACE_WRAPPER", compiler_wrapper()?).env(WRAPS_COMPILER, "1");
    let messages = read(&mut cargo)?;
    let built = Message::parse_stream(messages.as_bytes()).filter_map(|message| match message {
        Ok(Message::CompilerArtifact(artifact)) if artifact.target.name == "fuzz" => {
            artifact.executable
        }
        _ => None,
    });
    Ok(built.last().context("cargo built no program")?.into_std_path_buf())
}

/// A copy of this program, because the build may replace the original while it runs.
fn compiler_wrapper() -> Result<PathBuf> {
    let copy = root().join("target/outside/counting-compiler");
    fs::create_dir_all(root().join("target/outside"))?;
    fs::copy("/proc/self/exe", &copy)?;
    Ok(copy)
}

/// When cargo runs this program as the compiler: compiles with coverage counters.
pub(crate) fn run_as_compiler() -> Option<Result<ExitStatus>> {
    std::env::var_os(WRAPS_COMPILER)?;
    let mut words = std::env::args_os().skip(1);
    let compiler = words.next()?;
    let words: Vec<OsString> = words.collect();
    // Programs that run at compile time are not linked with libFuzzer.
    let runs_now = words.iter().any(|word| word == "build_script_build" || word == "proc-macro");
    let flags = if runs_now { &[][..] } else { &COVERAGE_FLAGS };
    let status = Command::new(compiler).args(words).args(flags).status();
    Some(status.context("the compiler did not start"))
}

/// Inputs that reach new code, and inputs that fail, are kept below `target`.
fn fuzz(program: &Path, target: &str, seconds: u64) -> Result<()> {
    let folder = MetadataCommand::new().no_deps().exec()?.target_directory.join("fuzz");
    let (corpus, found) = (folder.join("corpus").join(target), folder.join("found").join(target));
    fs::create_dir_all(&corpus)?;
    fs::create_dir_all(&found)?;
    let fuzz = root().join("fuzz");
    let dictionary = fuzz.join("dictionaries").join(format!("{target}.dict"));
    let mut command = Command::new(program);
    command.env("FUZZ_TARGET", target).arg(&corpus).arg(fuzz.join("seeds").join(target));
    command.arg(format!("-artifact_prefix={found}/"));
    command.arg(format!("-max_total_time={seconds}")).arg(format!("-max_len={MAX_INPUT_BYTES}"));
    command.arg(format!("-rss_limit_mb={MEMORY_LIMIT_MB}")).arg(format!("-timeout={HANG_SECONDS}"));
    command.args(["-print_final_stats=1", "-verbosity=0"]);
    if seconds == SHORT {
        // The test run has a fixed seed, so that it fails for everyone or for no one.
        command.arg("-seed=1");
    }
    if Path::new(RAM_DISK).exists() {
        command.env("TMPDIR", RAM_DISK);
    }
    if dictionary.exists() {
        command.arg(format!("-dict={}", dictionary.display()));
    }
    let ended = run::run(&mut command);
    let keep = format!("once it is fixed, add it to fuzz/seeds/{target}");
    ensure!(ended.is_ok(), "{target}: an input fails. It is in {found}; {keep}");
    Ok(())
}
