//! A `PostgreSQL` server that stops when the process that started it ends.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::binaries;
use crate::wait::{DEADLINE, eventually, output, wait};

/// Recognisable, so that a test can check that it does not leak.
const PASSWORD: &str = "s3cret-of-the-tests";
const USER: &str = "kenning";
/// The supervisor writes this into the log when the server has ended.
const ENDED: &str = "the server has ended";
/// `nobody`: the server refuses to run as root.
const UNPRIVILEGED: u32 = 65_534;

/// Starts the server and executes commands from its input, line by line. The input ends when the
/// test process ends, even if it is killed; the supervisor then stops the server and removes its
/// folder.
const SUPERVISOR: &str = r#"
folder=$1 programs=$2 user=$3; shift 3
exec >>"$folder/log" 2>&1
if [ "$(id -u)" = 0 ]; then
    as="setpriv --clear-groups --reuid=$user --regid=$user"
fi
serve() {
    (
        $as "$programs/postgres" -D "$folder/data" -k "$folder" -c listen_addresses= "$@" &
        echo $! >"$folder/pid"
        wait $!
        echo "the server has ended"
    ) </dev/null &
}
end() {
    until [ -s "$folder/pid" ]; do sleep 0.1; done
    kill "-$1" "$(cat "$folder/pid")"
    while kill -0 "$(cat "$folder/pid")"; do sleep 0.02; done
    rm "$folder/pid"
}
$as "$programs/initdb" --pgdata "$folder/data" --username kenning --no-sync \
    --pwfile "$folder/password" --auth scram-sha-256 --encoding UTF8 --no-locale </dev/null
serve "$@"
while read -r word; do
    case $word in
        stop) end INT ;;
        crash) end QUIT ;;
        start) serve "$@" ;;
    esac
done
if [ -e "$folder/pid" ]; then end INT; fi
rm -rf "$folder"
"#;

/// A server with its own folder. Clients connect to a socket in it, so no port can be in use.
#[derive(Debug)]
pub struct Postgres {
    folder: PathBuf,
    programs: PathBuf,
    supervisor: Child,
    /// Commands for the supervisor; closing it stops the server.
    commands: Mutex<Option<ChildStdin>>,
    databases: AtomicUsize,
}

impl Postgres {
    /// The server shared by the tests of this process. It does not sync to disk, to be fast.
    pub fn shared() -> &'static Self {
        static SERVER: OnceLock<Postgres> = OnceLock::new();
        SERVER.get_or_init(|| Self::start(&["fsync=off", "synchronous_commit=off"]))
    }

    /// Starts a server with these settings.
    pub fn start(settings: &[&str]) -> Self {
        let programs = binaries::folder();
        let folder = tempfile::Builder::new().prefix("kenning-pg-").tempdir().unwrap().keep();
        change_owner(&folder);
        let mut supervisor = start_supervisor(&programs, &folder, settings);
        let commands = Mutex::new(supervisor.stdin.take());
        let server =
            Self { folder, programs, supervisor, commands, databases: AtomicUsize::new(0) };
        server.wait_until_ready();
        server
    }

    /// Stops the server as an administrator would: open transactions are aborted.
    pub fn stop(&self) {
        self.end("stop");
    }

    /// Stops the server immediately, without a checkpoint.
    pub fn crash(&self) {
        self.end("crash");
    }

    /// Starts the server again with its data and returns when it accepts queries.
    pub fn start_again(&self) {
        self.send("start");
        self.wait_until_ready();
    }

    /// The folder of its socket.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// When this returns, nothing is left of this life of the server, not even in the log, where the
    /// next one would find it.
    fn end(&self, order: &str) {
        self.send(order);
        eventually(DEADLINE, || {
            let has_ended = !self.folder.join("pid").exists() && self.log().contains(ENDED);
            has_ended.then_some(())
        });
        fs::write(self.folder.join("log"), "").unwrap();
    }

    fn send(&self, command: &str) {
        let mut commands = self.commands.lock().unwrap();
        writeln!(commands.as_mut().unwrap(), "{command}").unwrap();
    }

    /// The URL of a new, empty database.
    pub fn database(&self) -> String {
        let name = format!("test_{}", self.databases.fetch_add(1, Ordering::Relaxed));
        let created = self.psql("postgres", &format!("CREATE DATABASE {name}"));
        created.unwrap_or_else(|reason| panic!("{reason}\n{}", self.log()));
        self.url(&name)
    }

    /// The output of a query in a database that [`Self::database`] created.
    pub fn query(&self, url: &str, query: &str) -> String {
        let name = url.rsplit('/').next().unwrap();
        self.psql(name, query).unwrap_or_else(|reason| panic!("{reason}"))
    }

    pub fn password(&self) -> &'static str {
        PASSWORD
    }

    fn url(&self, database: &str) -> String {
        let socket = utf8_percent_encode(self.folder.to_str().unwrap(), NON_ALPHANUMERIC);
        format!("postgres://{USER}:{PASSWORD}@{socket}/{database}")
    }

    fn psql(&self, database: &str, query: &str) -> Result<String, String> {
        let mut psql = Command::new(self.programs.join("psql"));
        psql.args(["--no-psqlrc", "--tuples-only", "--no-align", "--quiet"]);
        psql.arg("--host").arg(&self.folder).args(["--username", USER, "--dbname", database]);
        psql.args(["--command", query]).env("PGPASSWORD", PASSWORD);
        let output = output(&mut psql);
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
        }
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }

    /// A server that cannot start says so in its log.
    fn wait_until_ready(&self) {
        eventually(DEADLINE, || {
            let log = self.log();
            assert!(!log.contains(ENDED), "PostgreSQL does not start: {log}");
            self.psql("postgres", "SELECT 1").ok()
        });
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        drop(self.commands.get_mut().unwrap().take());
        // A panic during a panic would end the process and hide the first one.
        if !std::thread::panicking() {
            wait(&mut self.supervisor);
        }
    }
}

fn start_supervisor(programs: &Path, folder: &Path, settings: &[&str]) -> Child {
    let mut supervisor = Command::new("sh");
    supervisor
        .args(["-c", SUPERVISOR, "sh"])
        .arg(folder)
        .arg(programs)
        .arg(UNPRIVILEGED.to_string());
    for setting in ["max_connections=300"].iter().chain(settings) {
        supervisor.args(["-c", setting]);
    }
    // In its own process group, so that Ctrl-C on a test leaves it time to clean up.
    supervisor.current_dir(folder).stdin(Stdio::piped()).process_group(0);
    supervisor.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Makes the user that the server runs as the owner of the folder.
fn change_owner(folder: &Path) {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
    let password = folder.join("password");
    fs::write(&password, PASSWORD).unwrap();
    fs::set_permissions(&password, fs::Permissions::from_mode(0o644)).unwrap();
    if fs::metadata(folder).unwrap().uid() == 0 {
        std::os::unix::fs::chown(folder, Some(UNPRIVILEGED), Some(UNPRIVILEGED)).unwrap();
    }
}
