//! Looks for inputs that do harm.
//!
//! libFuzzer needs counters in the code it tries. The compiler that is at hand puts them in, so
//! neither a nightly one nor `cargo-fuzz` is needed, and only into our own crates, so that nothing
//! else is compiled anew. There is no `unsafe` code of ours to find faults in, so that memory is not
//! watched; what is looked for are panics, hangs, memory and the promises of `crates/fuzz`.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use anyhow::{Context, Result, bail, ensure};
use cargo_metadata::{Message, MetadataCommand};

use crate::run::{cargo_command, read, root, run};

/// In the tests: enough to see that all of it runs, and to find what lies on the surface.
pub(crate) const SHORT: u64 = 5;
const LONG: u64 = 600;
const MEGABYTES: u64 = 2_048;
/// Longer for one input is a hang.
const HANG_SECONDS: u64 = 20;
const LONGEST_INPUT: u64 = 16_384;
/// Trials write a file for each input, which is slow on a disk.
const MEMORY: &str = "/dev/shm";
/// As `cargo-fuzz` has them, without a sanitizer.
const COUNTERS: [&str; 6] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Copt-level=1",
];
/// Cargo runs us in place of the compiler while this is set.
const COMPILES: &str = "XTASK_COMPILES_WITH_COUNTERS";

/// `[--seconds N] [TARGET…]`
pub(crate) fn asked(words: &[&str]) -> Result<()> {
    let (seconds, targets) = match words {
        ["--seconds", seconds, targets @ ..] => {
            (seconds.parse().with_context(|| format!("`{seconds}` is not a number"))?, targets)
        }
        targets => (LONG, targets),
    };
    let known = targets_there_are()?;
    if let Some(unknown) = targets.iter().find(|name| !known.iter().any(|known| known == *name)) {
        bail!("there is no target `{unknown}`; there is {}", known.join(", "));
    }
    let chosen = |name: &String| targets.is_empty() || targets.contains(&name.as_str());
    all(&known.into_iter().filter(chosen).collect::<Vec<_>>(), seconds)
}

/// Every target for some seconds.
pub(crate) fn check(seconds: u64) -> Result<()> {
    all(&targets_there_are()?, seconds)
}

fn all(targets: &[String], seconds: u64) -> Result<()> {
    let program = build()?;
    targets.iter().try_for_each(|target| fuzz(&program, target, seconds))
}

fn targets_there_are() -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(root().join("fuzz/seeds"))? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// With `--workspace`, as everything is built, for the sake of the features of what we depend on.
fn build() -> Result<PathBuf> {
    let mut cargo = cargo_command(&["build", "--workspace", "--bin", "fuzz"]);
    cargo.args(["--features", "kenning-fuzz/fuzz", "--message-format", "json-render-diagnostics"]);
    cargo.env("RUSTC_WORKSPACE_WRAPPER", ourselves()?).env(COMPILES, "1");
    let said = read(&mut cargo)?;
    let built = Message::parse_stream(said.as_bytes()).filter_map(|message| match message {
        Ok(Message::CompilerArtifact(artifact)) if artifact.target.name == "fuzz" => {
            artifact.executable
        }
        _ => None,
    });
    Ok(built.last().context("cargo built no program")?.into_std_path_buf())
}

/// This program, where no build replaces it: those before this one have made another in its place.
fn ourselves() -> Result<PathBuf> {
    let copy = root().join("target/outside/counting-compiler");
    fs::create_dir_all(root().join("target/outside"))?;
    fs::copy("/proc/self/exe", &copy)?;
    Ok(copy)
}

/// If we stand in for the compiler: compiles as told, with counters in everything that is run.
pub(crate) fn compiling() -> Option<Result<ExitStatus>> {
    std::env::var_os(COMPILES)?;
    let mut words = std::env::args_os().skip(1);
    let compiler = words.next()?;
    let words: Vec<OsString> = words.collect();
    // What runs at compile time has nobody to report to.
    let runs_now = words.iter().any(|word| word == "build_script_build" || word == "proc-macro");
    let counters = if runs_now { &[][..] } else { &COUNTERS };
    let status = Command::new(compiler).args(words).args(counters).status();
    Some(status.context("the compiler did not start"))
}

/// What is new and interesting is kept below `target`, and so is what does harm.
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
    command.arg(format!("-max_total_time={seconds}")).arg(format!("-max_len={LONGEST_INPUT}"));
    command.arg(format!("-rss_limit_mb={MEGABYTES}")).arg(format!("-timeout={HANG_SECONDS}"));
    command.args(["-print_final_stats=1", "-verbosity=0"]);
    if seconds == SHORT {
        // The same for everybody: a search at random is for those who have the time.
        command.arg("-seed=1");
    }
    if Path::new(MEMORY).exists() {
        command.env("TMPDIR", MEMORY);
    }
    if dictionary.exists() {
        command.arg(format!("-dict={}", dictionary.display()));
    }
    let ended = run(&mut command);
    let keep = format!("once it is mended, keep it in fuzz/seeds/{target}");
    ensure!(ended.is_ok(), "{target}: an input does harm. It is in {found}; {keep}");
    Ok(())
}
