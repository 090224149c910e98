//! Development chores that need more than cargo: the full test run, benchmarks, generated documents.
//! `cargo xtask` without arguments lists them.

mod bench;
mod browser;
mod client;
mod clients;
mod conformance;
mod deny;
mod external;
mod fit;
mod fuzz;
mod mcpeye;
mod process;
mod replicas;
mod rest;
mod run;
mod server;
mod soak;
mod stage;
mod wrk;

use anyhow::{Result, bail};

use crate::run::cargo;
use crate::server::Build;
use crate::stage::Stages;

const USAGE: &str = "\
cargo xtask test         run everything that a change must pass: format, lints, tests, licences, a few
                         seconds of fuzzing, the MCP conformance suite, real MCP clients, the REST
                         interface and the web pages in a browser; prints the time of each stage and
                         installs what it needs below target/outside
cargo xtask proof        run what proves more than a change needs, for some hours: replicas behind a
                         load balancer, soak, fuzzing and all benchmarks
cargo xtask install      build the binary and install it on your PATH
cargo xtask docs         regenerate the documents that are made from the code

Single parts of `test` and `proof`:
cargo xtask clients      real MCP clients against the binary
cargo xtask rest         the REST interface and mcpeye's SDK
cargo xtask browser      the web page in a browser; screenshots are in target/screenshots
cargo xtask conformance  the MCP conformance suite
cargo xtask replicas     two servers behind a load balancer, of which one is stopped under load
cargo xtask deny         licences, sources and duplicates of the dependencies

Longer runs, also parts of `proof`:
cargo xtask fuzz [--seconds N] [TARGET...]
                         fuzz all targets or the named ones, for 600 seconds each by default
cargo xtask soak [--minutes N | --seconds N] [--release]
                         load real servers while files change and the database stops and starts; 30
                         minutes by default
cargo xtask soak --load [--minutes N | --seconds N] [--release]
                         load one server with 200 connections over REST, 50 over MCP and 300 that only
                         connect, while files change; 10 minutes by default
cargo xtask bench [SECTION...]
                         run the benchmarks and write docs/benchmarks.md and docs/scaling.md, or only
                         the named sections
cargo xtask fit [SET...]
                         fit the model of relevance on data/fit and on the given folders, and write its
                         coefficients and the figures of docs/search.md
cargo xtask pictures     `browser`, and redraw the pictures of the README
";

fn main() -> Result<()> {
    if let Some(compiled) = fuzz::run_as_compiler() {
        std::process::exit(compiled?.code().unwrap_or(1));
    }
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["test"] => test(),
        ["proof"] => proof(),
        ["install"] => install(),
        ["docs"] => docs(),
        ["clients"] => compiled().and_then(|()| clients::check(&external::test_packages()?)),
        ["rest"] => compiled().and_then(|()| rest::check()).and_then(|()| mcpeye::check()),
        ["browser"] => compiled().and_then(|()| browser::check(&external::test_packages()?)),
        ["pictures"] => compiled().and_then(|()| browser::pictures(&external::test_packages()?)),
        ["conformance"] => {
            compiled().and_then(|()| conformance::check(&external::test_packages()?))
        }
        ["replicas"] => compiled().and_then(|()| replicas::check()),
        ["deny"] => deny::check(),
        ["fuzz", words @ ..] => fuzz::run(words),
        ["soak", words @ ..] => soak::run(soak::Options::parse(words)?),
        ["bench", sections @ ..] => bench::run(sections),
        ["fit", sets @ ..] => fit::run(sets),
        _ => {
            print!("{USAGE}");
            bail!("`{}` is not a chore; the list above has all of them", words.join(" "))
        }
    }
}

fn compiled() -> Result<()> {
    Build::Debug.compile()
}

/// Everything that a change must pass.
fn test() -> Result<()> {
    let mut stages = Stages::default();
    stages.run("format", || cargo(&["fmt", "--all", "--check"]))?;
    let clippy = ["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"];
    stages.run("lints", || cargo(&clippy))?;
    stages.run("tests", || cargo(&["test", "--workspace"]))?;
    stages.run("dependencies", deny::check)?;
    stages.run("fuzzing", fuzz::check)?;
    let packages = stages.run("packages", external::test_packages)?;
    stages.run("binaries", compiled)?;
    stages.run("conformance", || conformance::check(&packages))?;
    stages.run("clients", || clients::check(&packages))?;
    stages.run("REST", rest::check)?;
    stages.run("mcpeye", mcpeye::check)?;
    stages.run("browser", || browser::check(&packages))?;
    stages.print();
    println!("all checks passed");
    Ok(())
}

/// What takes longer than a change should wait for.
fn proof() -> Result<()> {
    let mut stages = Stages::default();
    stages.run("binaries", compiled)?;
    stages.run("replicas", replicas::check)?;
    stages.run("soak", || soak::run(soak::Options::parse(&[])?))?;
    stages.run("load", || soak::run(soak::Options::parse(&["--load", "--release"])?))?;
    stages.run("fuzzing", || fuzz::run(&[]))?;
    stages.run("benchmarks", || bench::run(&[]))?;
    stages.print();
    println!("all proofs passed");
    Ok(())
}

fn install() -> Result<()> {
    cargo(&["install", "--locked", "--path", "crates/kenning"])?;
    println!("next: `kenning init` in the folder of your project");
    Ok(())
}

/// The tests that compare the generated documents can also write them.
fn docs() -> Result<()> {
    let mut tests =
        run::cargo_command(&["test", "--package", "kenning", "--test", "program", "docs::"]);
    run::run(tests.env("UPDATE_DOCS", "1"))
}
