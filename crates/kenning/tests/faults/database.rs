//! A `PostgreSQL` that goes away and comes back.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use kenning_testkit::Postgres;
use serde_json::{Value, json};

use crate::support::{Place, Web, call, knows_pelicans, pelicans};

fn serve(place: &Place, store: &str) -> Web {
    let words = ["--log-level", "error", "serve", "--http", "127.0.0.1:0"];
    let mut command = place.kenning(&words);
    command.env("KENNING_STORE_URL", store);
    Web::run(command)
}

fn batch(number: u64) -> Value {
    let event = json!({"callId": crate::clock::call_id(number), "toolName": "list", "arguments": {}, "isError": false,
        "timestamp": crate::clock::now(), "durationMs": 1});
    json!({"projectId": "shop", "identity": {}, "events": [event]})
}

fn add_agent(server: &Web) {
    let added = server.ask("POST", "/api/v1/agents", &json!({"name": "bot", "id": 11})).unwrap();
    assert_eq!(added.0, 201, "{}", added.1);
}

#[test]
fn while_it_is_away_what_needs_it_is_refused_and_the_rest_goes_on() {
    let postgres = Postgres::start(&["fsync=off"]);
    let (place, store) = (Place::new(), postgres.database());
    let server = serve(&place, &store);
    add_agent(&server);
    for (round, end) in [Postgres::stop, Postgres::crash].into_iter().enumerate() {
        let skill = format!("skill-{round}");
        assert_eq!(server.register(11, &skill, "1.0.0").0, 200);
        end(&postgres);
        let (status, refused) = server.register(11, "lost", "1.0.0");
        assert_eq!((status, &refused["error"]), (500, &json!("DATABASE_ERROR")), "{refused}");
        let refused = server.call("get_agent_capabilities", &json!({"agent_id": 11}));
        assert_eq!(refused["error"], "DATABASE_ERROR", "{refused}");
        let event = batch(round as u64);
        let (status, refused) = server.ask("POST", "/ingest", &event).unwrap();
        assert_eq!(status, 503, "{refused}");
        knows_pelicans(&server.call("search_knowledge", &pelicans()));
        let lookup = json!({"agent": "claude-code", "capability": "hooks"});
        let known = server.call("lookup_capability", &lookup);
        assert_eq!(known.get("error"), None, "{known}");
        assert_eq!(server.ask("GET", "/healthz", &Value::Null).unwrap().0, 200);

        postgres.start_again();
        assert_eq!(server.register(11, "found", "1.0.0").0, 200, "as soon as it is back");
        let skills = server.call("get_agent_capabilities", &json!({"agent_id": 11}));
        let listed = skills["capabilities"].as_array().unwrap().iter();
        let names: Vec<&str> = listed.filter_map(|one| one["skill_name"].as_str()).collect();
        assert!(names.contains(&skill.as_str()) && !names.contains(&"lost"), "{names:?}");
        assert_eq!(server.ask("POST", "/ingest", &event).unwrap().0, 200);
    }
    let kept = postgres.query(&store, "SELECT count(*) FROM events WHERE project_id = 'shop'");
    assert_eq!(kept, "2", "sent again, and counted once");
}

#[test]
fn a_start_without_it_says_so_and_not_the_password() {
    let postgres = Postgres::start(&["fsync=off"]);
    let (place, store) = (Place::new(), postgres.database());
    postgres.stop();
    for words in [&["serve"][..], &["agents", "list"]] {
        let mut command = place.kenning(words);
        let refused = crate::support::ended(command.env("KENNING_STORE_URL", &store));
        assert!(!refused.err.contains(postgres.password()), "{refused:?}");
        refused.says(&["cannot be opened"]);
    }
}

/// A way to the database that can be cut: then nobody answers, and connections are refused.
struct Line {
    port: u16,
    is_cut: Arc<AtomicBool>,
    open: Arc<Mutex<Vec<TcpStream>>>,
    listening: Option<JoinHandle<()>>,
}

impl Line {
    fn lay(socket: PathBuf) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let is_cut = Arc::new(AtomicBool::new(false));
        let open: Arc<Mutex<Vec<TcpStream>>> = Arc::default();
        let (cut, connections) = (is_cut.clone(), open.clone());
        let listening = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if cut.load(Ordering::SeqCst) {
                    return;
                }
                let near = stream.unwrap();
                let far = UnixStream::connect(&socket).unwrap();
                connections.lock().unwrap().push(near.try_clone().unwrap());
                let (back, there) = (far.try_clone().unwrap(), near.try_clone().unwrap());
                std::thread::spawn(move || pass(near, far));
                std::thread::spawn(move || pass(back, there));
            }
        });
        Self { port, is_cut, open, listening: Some(listening) }
    }

    fn cut(&mut self) {
        self.is_cut.store(true, Ordering::SeqCst);
        // Whoever listens has to look up.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        self.listening.take().unwrap().join().unwrap();
        for stream in self.open.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn pass(mut from: impl Read, mut to: impl Write) {
    let mut bytes = [0; 8192];
    while let Ok(read) = from.read(&mut bytes) {
        if read == 0 || to.write_all(&bytes[..read]).is_err() {
            return;
        }
    }
}

/// Those who wait for the database leave room for those who do not need it, and are told the
/// reason before their time is up.
#[test]
fn many_who_wait_for_it_do_not_hold_up_those_who_need_nothing_of_it() {
    let postgres = Postgres::start(&["fsync=off"]);
    let place = Place::new();
    let name = postgres.database().rsplit('/').next().unwrap().to_owned();
    let mut line = Line::lay(postgres.folder().join(".s.PGSQL.5432"));
    let (password, port) = (postgres.password(), line.port);
    let server = serve(&place, &format!("postgres://kenning:{password}@127.0.0.1:{port}/{name}"));
    add_agent(&server);
    line.cut();
    let answered = Arc::new(Mutex::new(Vec::new()));
    let waiting: Vec<_> = (0..15)
        .map(|_| {
            let (address, answered) = (server.address(), answered.clone());
            std::thread::spawn(move || {
                let refused = call(&address, "get_agent_capabilities", &json!({"agent_id": 11}));
                answered.lock().unwrap().push("registry");
                refused
            })
        })
        .collect();
    for _ in 0..3 {
        knows_pelicans(&server.call("search_knowledge", &pelicans()));
        answered.lock().unwrap().push("knowledge");
    }
    for one in waiting {
        let refused = one.join().unwrap();
        assert_eq!(refused["error"], "DATABASE_ERROR", "{refused}");
    }
    assert_eq!(answered.lock().unwrap()[..3], ["knowledge"; 3], "they did not have to wait");
}
