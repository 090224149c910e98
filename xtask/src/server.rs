//! The binary that was built, serving over HTTP as long as this value lives.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use anyhow::{Context, Result};

use crate::run::target;

pub(crate) struct Server {
    child: Child,
    /// Without a slash at the end.
    pub(crate) address: String,
}

/// The binary with a home of its own.
pub(crate) fn kenning(home: &Path) -> Command {
    let mut command = Command::new(target().join("debug/kenning"));
    command.env("HOME", home).env_remove("XDG_CONFIG_HOME").env_remove("XDG_DATA_HOME");
    command
}

impl Server {
    pub(crate) fn start(knowledge: &Path, home: &Path, variables: &[(&str, &str)]) -> Result<Self> {
        let mut command = kenning(home);
        command.arg("--root").arg(knowledge).args(["serve", "--http", "127.0.0.1:0"]);
        // What is composed is written into the folder it works in.
        command.current_dir(knowledge).envs(variables.iter().copied());
        let mut child = command.stderr(Stdio::piped()).spawn().context("the server")?;
        let stderr = child.stderr.take().context("the server's messages are piped")?;
        let mut lines = BufReader::new(stderr).lines().map_while(Result::ok);
        // In JSON, if that is asked for.
        let page =
            lines.find_map(|line| Some(line.split_once("Page  ")?.1.split('"').next()?.to_owned()));
        // Whoever logs must not wait for somebody to read it.
        std::thread::spawn(move || lines.for_each(drop));
        let page = page.context("the server did not say where it is")?;
        Ok(Self { child, address: page.trim_end_matches('/').to_owned() })
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until it has ended by itself.
    pub(crate) fn wait(&mut self) -> Result<ExitStatus> {
        Ok(self.child.wait()?)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
