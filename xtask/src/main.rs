//! Development chores that need more than cargo: the full test run, benchmarks, generated documents.
//! `cargo xtask` without arguments lists them.

mod bench;
mod browser;
mod client;
mod clients;
mod conformance;
mod deny;
mod external;
mod fuzz;
mod mcpeye;
mod process;
mod replicas;
mod rest;
mod run;
mod server;
mod soak;
mod wrk;

use anyhow::{Result, bail};

use crate::run::cargo;
use crate::server::Build;

const USAGE: &str = "\
cargo xtask test         run all checks: format, lints, tests, licences, a few seconds of fuzzing, the
                         MCP conformance suite, real MCP clients, the REST interface, the web page in
                         a browser, replicas behind a load balancer and a short soak test; installs
                         what it needs below target/outside
cargo xtask install      build the binary and install it on your PATH
cargo xtask docs         regenerate the documents that are made from the code

Single parts of `test`:
cargo xtask clients      real MCP clients against the binary
cargo xtask rest         the REST interface and mcpeye's SDK
cargo xtask browser      the web page in a browser; screenshots are in target/screenshots
cargo xtask conformance  the MCP conformance suite
cargo xtask replicas     two servers behind a load balancer, of which one is stopped under load
cargo xtask deny         licences, sources and duplicates of the dependencies

Longer runs:
cargo xtask fuzz [--seconds N] [TARGET...]
                         fuzz all targets or the named ones, for 600 seconds each by default
cargo xtask soak [--minutes N | --seconds N] [--release]
                         load real servers while files change and the database stops and starts; 30
                         minutes by default
cargo xtask bench [SECTION...]
                         run the benchmarks and write docs/benchmarks.md and docs/scaling.md, or only
                         the named sections
cargo xtask pictures     `browser`, and redraw the pictures of the README
";

fn main() -> Result<()> {
    if let Some(compiled) = fuzz::run_as_compiler() {
        std::process::exit(compiled?.code().unwrap_or(1));
    }
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["test"] => test(),
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
        _ => {
            print!("{USAGE}");
            bail!("`{}` is not a chore; the list above has all of them", words.join(" "))
        }
    }
}

fn compiled() -> Result<()> {
    Build::Debug.compile()
}

fn test() -> Result<()> {
    cargo(&["fmt", "--all", "--check"])?;
    cargo(&["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"])?;
    cargo(&["test", "--workspace"])?;
    deny::check()?;
    fuzz::check()?;
    let packages = external::test_packages()?;
    compiled()?;
    conformance::check(&packages)?;
    clients::check(&packages)?;
    rest::check()?;
    mcpeye::check()?;
    browser::check(&packages)?;
    replicas::check()?;
    soak::check(soak::Options::short())?;
    println!("all checks passed");
    Ok(())
}

fn install() -> Result<()> {
    cargo(&["install", "--locked", "--path", "crates/kenning"])?;
    println!("next: `kenning init` in the folder of your project");
    Ok(())
}

/// The tests that compare the generated documents can also write them.
fn docs() -> Result<()> {
    let mut tests = run::cargo_command(&["test", "--package", "kenning", "--test", "docs"]);
    run::run(tests.env("UPDATE_DOCS", "1"))
}
