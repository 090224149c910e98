//! A `PostgreSQL` server that goes away and comes back.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use kenning_testkit::Postgres;
use reqwest::StatusCode;
use serde_json::json;

use super::{check_knowledge, check_registry_refuses, pelicans};
use crate::server::monitoring::readiness_becomes;
use crate::server::support::{Answer, Server, batch, call, event, finished, within};

async fn register(server: &Server, skill: &str) -> Answer {
    let skill = json!({"skill_name": skill, "version": "1.0.0"});
    let body = json!({"agent_id": 11, "capabilities": [skill]});
    server.post("/api/v1/register_agent_capabilities", &body).await
}

#[tokio::test]
async fn during_an_outage_what_needs_the_store_is_refused_and_the_rest_goes_on() {
    let postgres = Postgres::start(&["fsync=off"]);
    let (project, store) = (pelicans(), postgres.database());
    let server = project.http(&[], &[("KENNING_STORE_URL", &store)]);
    server.add_agent("bot", 11).await;
    let ready = readiness_becomes(&server, StatusCode::OK).await;
    let ok = json!({"ready": true});
    let parts = json!({"model": ok, "store": ok, "files": ok, "bases": ok});
    assert_eq!(ready, json!({"ready": true, "waiting_for": [], "parts": parts}));
    let client = server.client().await;
    for (round, end) in [Postgres::stop, Postgres::crash].into_iter().enumerate() {
        let skill = format!("skill-{round}");
        assert_eq!(register(&server, &skill).await.status, 200);
        end(&postgres);
        let refused = register(&server, "lost").await;
        assert_eq!(refused.status, 500, "{}", refused.text);
        assert_eq!(refused.json()["error"], "DATABASE_ERROR", "{}", refused.text);
        check_registry_refuses(&client).await;
        let event = batch("shop", &[event(round as u64, "list", &json!({}))]);
        let refused = server.post("/ingest", &event).await;
        assert_eq!(refused.status, 503, "{}", refused.text);
        check_knowledge(&client).await;
        let lookup = json!({"agent": "claude-code", "capability": "hooks"});
        let known = call(&client, "lookup_capability", lookup).await;
        assert_eq!(known.get("error"), None, "{known}");
        check_reported_as_not_ready(&server, postgres.password()).await;

        postgres.start_again();
        assert_eq!(register(&server, "found").await.status, 200, "as soon as it is back");
        let skills = call(&client, "get_agent_capabilities", json!({"agent_id": 11})).await;
        let listed = skills["capabilities"].as_array().unwrap().iter();
        let names: Vec<&str> = listed.filter_map(|one| one["skill_name"].as_str()).collect();
        assert!(names.contains(&skill.as_str()) && !names.contains(&"lost"), "{names:?}");
        assert_eq!(server.post("/ingest", &event).await.status, 200);
        readiness_becomes(&server, StatusCode::OK).await;
    }
    let stored = postgres.query(&store, "SELECT count(*) FROM events WHERE project_id = 'shop'");
    assert_eq!(stored, "2", "sent again, and counted once");
    within(client.cancel()).await.unwrap();
    let password = postgres.password();
    drop(postgres);
    assert!(!server.stop().await.contains(password), "the log holds the password");
}

/// Probes and metrics report that the store is missing; the server stays alive.
async fn check_reported_as_not_ready(server: &Server, password: &str) {
    let waiting = readiness_becomes(server, StatusCode::SERVICE_UNAVAILABLE).await;
    assert_eq!(waiting["waiting_for"], json!(["store"]));
    assert_eq!(waiting["parts"]["model"], json!({"ready": true}));
    assert_eq!(waiting["parts"]["store"]["ready"], false, "{waiting}");
    let alive = server.get("/healthz").await;
    assert_eq!((alive.status, alive.text.as_str()), (StatusCode::OK, "ok\n"));
    let metrics = server.get("/metrics").await.text;
    assert!(metrics.contains("\nkenning_store_up 0\n"), "{metrics}");
    assert!(!metrics.contains(password));
}

#[test]
fn a_start_without_the_database_fails_without_printing_the_password() {
    let postgres = Postgres::start(&["fsync=off"]);
    let (project, store) = (pelicans(), postgres.database());
    postgres.stop();
    for args in [&["serve"][..], &["agents", "list"]] {
        let refused = finished(project.kenning(args).env("KENNING_STORE_URL", &store));
        assert!(!refused.err.contains(postgres.password()), "{refused:?}");
        refused.fails_with(&["cannot be opened"]);
    }
}

/// A TCP proxy to the database that can be cut: then connections break, and new ones are refused.
struct Proxy {
    port: u16,
    is_cut: Arc<AtomicBool>,
    open: Arc<Mutex<Vec<TcpStream>>>,
    accepting: Option<JoinHandle<()>>,
}

impl Proxy {
    fn start(socket: PathBuf) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let is_cut = Arc::new(AtomicBool::new(false));
        let open: Arc<Mutex<Vec<TcpStream>>> = Arc::default();
        let (cut, connections) = (is_cut.clone(), open.clone());
        let accepting = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if cut.load(Ordering::SeqCst) {
                    return;
                }
                let near = stream.unwrap();
                let far = UnixStream::connect(&socket).unwrap();
                connections.lock().unwrap().push(near.try_clone().unwrap());
                let (back, there) = (far.try_clone().unwrap(), near.try_clone().unwrap());
                std::thread::spawn(move || copy(near, far));
                std::thread::spawn(move || copy(back, there));
            }
        });
        Self { port, is_cut, open, accepting: Some(accepting) }
    }

    fn cut(&mut self) {
        self.is_cut.store(true, Ordering::SeqCst);
        // Wakes the thread that waits for connections.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        self.accepting.take().unwrap().join().unwrap();
        for stream in self.open.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn copy(mut from: impl Read, mut to: impl Write) {
    let mut bytes = [0; 8192];
    while let Ok(read) = from.read(&mut bytes) {
        if read == 0 || to.write_all(&bytes[..read]).is_err() {
            return;
        }
    }
}

/// Calls that wait for the database leave permits for calls that do not need it, and are
/// refused with the reason before they time out.
#[tokio::test]
async fn calls_that_wait_for_the_database_do_not_delay_others() {
    let postgres = Postgres::start(&["fsync=off"]);
    let project = pelicans();
    let name = postgres.database().rsplit('/').next().unwrap().to_owned();
    let mut proxy = Proxy::start(postgres.folder().join(".s.PGSQL.5432"));
    let (password, port) = (postgres.password(), proxy.port);
    let store = format!("postgres://kenning:{password}@127.0.0.1:{port}/{name}");
    // Fewer permits than callers: without a share for work that needs no store, they would take all.
    let capacity = ("KENNING_SERVER_MAX_CONCURRENT_REQUESTS", "10");
    let server = project.http(&[], &[("KENNING_STORE_URL", &store), capacity]);
    server.add_agent("bot", 11).await;
    let client = Arc::new(server.client().await);
    proxy.cut();
    let answered = Arc::new(Mutex::new(Vec::new()));
    let mut waiting = tokio::task::JoinSet::new();
    for _ in 0..15 {
        let (client, answered) = (client.clone(), answered.clone());
        waiting.spawn(async move {
            check_registry_refuses(&client).await;
            answered.lock().unwrap().push("registry");
        });
    }
    // The calls above are sent before those below.
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    for _ in 0..3 {
        check_knowledge(&client).await;
        answered.lock().unwrap().push("knowledge");
    }
    waiting.join_all().await;
    assert_eq!(answered.lock().unwrap()[..3], ["knowledge"; 3], "these did not have to wait");
}
