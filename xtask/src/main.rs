//! Kenning's chores. `cargo xtask` without a word lists them.

mod bench;
mod browser;
mod clients;
mod conformance;
mod deny;
mod fuzz;
mod mcpeye;
mod outside;
mod replicas;
mod rest;
mod run;
mod server;
mod soak;

use anyhow::{Result, bail};

use crate::run::cargo;

const USAGE: &str = "\
cargo xtask test     everything: format, lints, tests, documents, licences, a little fuzzing, the MCP
                     conformance suite, real clients, REST, the page in a browser and replicas behind
                     a balancer; installs what it needs below target/outside
cargo xtask install  build the binary and put it on your path
cargo xtask clients  only the real clients, of that
cargo xtask rest     only what is asked over HTTP, of that
cargo xtask browser  only the page in a browser, of that; leaves pictures in target/screenshots
cargo xtask pictures the same, and draws the pictures of the README anew
cargo xtask conformance
                     only the MCP conformance suite, of that
cargo xtask replicas only two servers behind a balancer, of that; one is stopped under load
cargo xtask deny     only licences, sources and duplicates of the crates we use, of that
cargo xtask fuzz [--seconds N] [TARGET…]
                     looks for inputs that do harm, ten minutes a target unless told otherwise
cargo xtask soak [--minutes N | --seconds N] [--release]
                     real servers under load while files change and the database comes and goes;
                     30 minutes unless told otherwise; `test` runs a short one
cargo xtask docs     write the generated documents anew
cargo xtask bench    measure, and write docs/benchmarks.md and docs/scaling.md; with names of their
                     sections, only those
";

fn main() -> Result<()> {
    if let Some(compiled) = fuzz::compiling() {
        std::process::exit(compiled?.code().unwrap_or(1));
    }
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["test"] => test(),
        ["install"] => install(),
        ["clients"] => clients(),
        ["browser"] => browser(),
        ["pictures"] => pictures(),
        ["rest"] => rest(),
        ["conformance"] => conformance(),
        ["replicas"] => replicas(),
        ["deny"] => deny::check(),
        ["fuzz", words @ ..] => fuzz::asked(words),
        ["soak", words @ ..] => soak::run(soak::Plan::read(words)?),
        ["docs"] => docs(),
        ["bench", sections @ ..] => bench::run(sections),
        _ => {
            print!("{USAGE}");
            bail!("`{}` is not a chore", words.join(" "))
        }
    }
}

fn test() -> Result<()> {
    cargo(&["fmt", "--all", "--check"])?;
    cargo(&["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"])?;
    cargo(&["test", "--workspace"])?;
    deny::check()?;
    fuzz::check(fuzz::SHORT)?;
    let parts = outside::install()?;
    build()?;
    conformance::check(&parts)?;
    clients::check(&parts)?;
    rest::check()?;
    mcpeye::check()?;
    browser::check(&parts)?;
    replicas::check()?;
    soak::check(soak::Plan::short())?;
    println!("all is well");
    Ok(())
}

fn install() -> Result<()> {
    cargo(&["install", "--locked", "--path", "crates/kenning"])?;
    println!("next: `kenning init` in the folder of your project");
    Ok(())
}

fn clients() -> Result<()> {
    let parts = outside::install()?;
    build()?;
    clients::check(&parts)
}

fn rest() -> Result<()> {
    build()?;
    rest::check()?;
    mcpeye::check()
}

fn browser() -> Result<()> {
    let parts = outside::install()?;
    build()?;
    browser::check(&parts)
}

fn pictures() -> Result<()> {
    let parts = outside::install()?;
    build()?;
    browser::pictures(&parts)
}

fn conformance() -> Result<()> {
    let parts = outside::install()?;
    build()?;
    conformance::check(&parts)
}

fn replicas() -> Result<()> {
    build()?;
    replicas::check()
}

/// With `--workspace`, as the tests: another selection of packages means other features, and
/// compiles every dependency a second time.
pub(crate) fn build() -> Result<()> {
    cargo(&["build", "--workspace", "--bins", "--examples"])
}

/// The same, optimised: what is measured.
pub(crate) fn build_release() -> Result<()> {
    cargo(&["build", "--workspace", "--bins", "--examples", "--release"])
}

/// The documents are written by the tests that otherwise compare them.
fn docs() -> Result<()> {
    run::run(
        run::cargo_command(&["test", "--package", "kenning", "--test", "docs"])
            .env("UPDATE_DOCS", "1"),
    )
}
