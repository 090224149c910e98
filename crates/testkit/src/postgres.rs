//! A `PostgreSQL` server that ends with the process that started it.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};

use crate::binaries;
use crate::wait::{DEADLINE, eventually};

/// Recognisable, so that a test can look for it where it must not be.
const PASSWORD: &str = "s3cret-of-the-tests";
const USER: &str = "kenning";
/// What the keeper writes into the log when the server is gone.
const ENDED: &str = "the server has ended";
/// `nobody`: the server refuses to run as root.
const UNPRIVILEGED: u32 = 65_534;

/// Starts the server, and does what it is told line by line until the end of its input, which comes
/// when the test process ends in whatever way; then it ends the server and removes its folder.
const KEEPER: &str = r#"
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

/// A server with a folder of its own, reached by a socket in it, so that no port can be taken.
#[derive(Debug)]
pub struct Postgres {
    folder: PathBuf,
    programs: PathBuf,
    keeper: Child,
    /// What the keeper is told; closed, it is told to end.
    orders: Mutex<Option<ChildStdin>>,
    databases: AtomicUsize,
}

impl Postgres {
    /// The server of this process. It forgets what a power cut would lose, to be quick.
    pub fn shared() -> &'static Self {
        static SERVER: OnceLock<Postgres> = OnceLock::new();
        SERVER.get_or_init(|| Self::start(&["fsync=off", "synchronous_commit=off"]))
    }

    /// A server with these settings.
    pub fn start(settings: &[&str]) -> Self {
        let programs = binaries::folder();
        let folder = tempfile::Builder::new().prefix("kenning-pg-").tempdir().unwrap().keep();
        give_away(&folder);
        let mut keeper = keep(&programs, &folder, settings);
        let orders = Mutex::new(keeper.stdin.take());
        let server = Self { folder, programs, keeper, orders, databases: AtomicUsize::new(0) };
        server.wait_until_ready();
        server
    }

    /// Ends the server as its owner would: what goes on is broken off.
    pub fn stop(&self) {
        self.end("stop");
    }

    /// Ends the server without letting it put anything in order.
    pub fn crash(&self) {
        self.end("crash");
    }

    /// Starts the server anew, with all that it had, and returns when it can be asked.
    pub fn start_again(&self) {
        self.tell("start");
        self.wait_until_ready();
    }

    /// Where its socket is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// When this returns, nothing is left of this life of the server, not even in the log, where the
    /// next one would find it.
    fn end(&self, order: &str) {
        self.tell(order);
        eventually(DEADLINE, || {
            let has_ended = !self.folder.join("pid").exists() && self.log().contains(ENDED);
            has_ended.then_some(())
        });
        fs::write(self.folder.join("log"), "").unwrap();
    }

    fn tell(&self, order: &str) {
        let mut orders = self.orders.lock().unwrap();
        writeln!(orders.as_mut().unwrap(), "{order}").unwrap();
    }

    /// The URL of a new, empty database.
    pub fn database(&self) -> String {
        let name = format!("test_{}", self.databases.fetch_add(1, Ordering::Relaxed));
        let created = self.psql("postgres", &format!("CREATE DATABASE {name}"));
        created.unwrap_or_else(|reason| panic!("{reason}\n{}", self.log()));
        self.url(&name)
    }

    /// What a query prints, in a database that [`Self::database`] made.
    pub fn query(&self, url: &str, query: &str) -> String {
        let name = url.rsplit('/').next().unwrap();
        self.psql(name, query).unwrap_or_else(|reason| panic!("{reason}"))
    }

    pub fn password(&self) -> &'static str {
        PASSWORD
    }

    fn url(&self, database: &str) -> String {
        let socket = self.folder.to_str().unwrap().replace('/', "%2F");
        format!("postgres://{USER}:{PASSWORD}@{socket}/{database}")
    }

    fn psql(&self, database: &str, query: &str) -> Result<String, String> {
        let mut psql = Command::new(self.programs.join("psql"));
        psql.args(["--no-psqlrc", "--tuples-only", "--no-align", "--quiet"]);
        psql.arg("--host").arg(&self.folder).args(["--username", USER, "--dbname", database]);
        psql.args(["--command", query]).env("PGPASSWORD", PASSWORD);
        let output = psql.output().map_err(|error| error.to_string())?;
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
        drop(self.orders.get_mut().unwrap().take());
        let _ = self.keeper.wait();
    }
}

fn keep(programs: &Path, folder: &Path, settings: &[&str]) -> Child {
    let mut keeper = Command::new("sh");
    keeper.args(["-c", KEEPER, "sh"]).arg(folder).arg(programs).arg(UNPRIVILEGED.to_string());
    for setting in ["max_connections=300"].iter().chain(settings) {
        keeper.args(["-c", setting]);
    }
    // In a group of its own, so that an interrupted test leaves it the time to clean up.
    keeper.current_dir(folder).stdin(Stdio::piped()).process_group(0);
    keeper.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Gives the folder to the user that the server will run as.
fn give_away(folder: &Path) {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
    let password = folder.join("password");
    fs::write(&password, PASSWORD).unwrap();
    fs::set_permissions(&password, fs::Permissions::from_mode(0o644)).unwrap();
    if fs::metadata(folder).unwrap().uid() == 0 {
        std::os::unix::fs::chown(folder, Some(UNPRIVILEGED), Some(UNPRIVILEGED)).unwrap();
    }
}
