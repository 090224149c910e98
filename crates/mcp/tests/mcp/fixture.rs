//! A server with real services in this process, and a client of it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use kenning_app::{
    AppState, Capacity, Context, Inventory, JsonObject, Operation, Services, Toolset,
};
use kenning_catalog::Catalog;
use kenning_compose::Timestamp;
use kenning_gaps::Gaps;
use kenning_knowledge::discover::Discovery;
use kenning_knowledge::{Base, Library};
use kenning_mcp::{Server, Transport, protocol};
use kenning_registry::Registry;
use kenning_registry::agents::AddAgentRequest;
use kenning_store::Store;
use rmcp::ServiceExt;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ReadResourceRequestParams, ResourceContents, object,
};
use rmcp::service::{RoleClient, RunningService, ServiceError};
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::DuplexStream;

use crate::workspace;

pub(crate) type Client = RunningService<RoleClient, ()>;

/// A folder with knowledge bases and a store, in which agent 11 is registered.
pub(crate) struct Fixture {
    folder: Arc<TempDir>,
    bases: Vec<(String, PathBuf)>,
}

impl Fixture {
    /// The knowledge base that comes with the project.
    pub(crate) fn handbook() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/knowledge");
        Self {
            folder: Arc::new(TempDir::new().unwrap()),
            bases: vec![("knowledge".to_owned(), root)],
        }
    }

    /// Bases with these files: base, path, text.
    pub(crate) fn with_files(files: &[(&str, &str, String)]) -> Self {
        let folder = TempDir::new().unwrap();
        let mut bases = BTreeMap::new();
        for (base, path, text) in files {
            let root = folder.path().join(base);
            fs::create_dir_all(&root).unwrap();
            fs::write(root.join(path), text).unwrap();
            bases.insert((*base).to_owned(), root);
        }
        Self { folder: Arc::new(folder), bases: bases.into_iter().collect() }
    }

    pub(crate) fn store_file(&self) -> PathBuf {
        self.folder.path().join("store/kenning.db")
    }

    /// Opened on another thread, because opening a store blocks.
    pub(crate) fn services(&self) -> Services {
        std::thread::scope(|scope| scope.spawn(|| self.open()).join().unwrap())
    }

    fn open(&self) -> Services {
        let all = ["**/*.md".to_owned()];
        let bases = self.bases.iter().map(|(name, root)| Base::new(name, root, &all, &[]).unwrap());
        let library = Library::open(bases.collect(), &|_, _| {}).unwrap();
        let store = Store::open(&self.folder.path().join("store")).unwrap();
        let store = Arc::new(store);
        let registry = Registry::new(store.clone());
        let agent = AddAgentRequest { name: "demo".to_owned(), id: Some(11) };
        registry.add_agent(&agent).unwrap();
        // The services outlive the fixture in most tests, and the store is in its folder.
        let folder = self.folder.clone();
        let compose = workspace::open_at(move || {
            let _kept = &folder;
            Timestamp::now()
        });
        Services {
            registry: Some(registry),
            gaps: Some(Gaps::new(store)),
            compose: Some(compose),
            ..Services::new(Arc::new(library), Arc::new(discovery()), Arc::new(Catalog::bundled()))
        }
    }

    pub(crate) async fn client(&self) -> Client {
        connect(Inventory::full(), self.services()).await
    }
}

fn discovery() -> Discovery {
    Discovery {
        default_max_results: 5,
        min_relevance_threshold: 0.07,
        boost_active_status: 1.2,
        boost_recent_update_days: 30,
        boost_recent_update_factor: 1.1,
        boosts: BTreeMap::new(),
    }
}

/// Far more than a busy machine needs.
const DEADLINE: Duration = Duration::from_mins(3);

/// Awaits a future, and panics if it does not complete: a test fails instead of hanging.
pub(crate) async fn within<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(DEADLINE, future).await.expect("an answer within the deadline")
}

/// A client of a server in this process.
pub(crate) async fn connect(inventory: Inventory, services: Services) -> Client {
    connect_with(inventory, services, Capacity::STDIO).await
}

pub(crate) async fn connect_with(
    inventory: Inventory,
    services: Services,
    capacity: Capacity,
) -> Client {
    within(().serve(serve_with(inventory, services, capacity))).await.unwrap()
}

/// The client's end of a connection to a server in this process.
pub(crate) fn serve(inventory: Inventory, services: Services) -> DuplexStream {
    serve_with(inventory, services, Capacity::STDIO)
}

fn serve_with(inventory: Inventory, services: Services, capacity: Capacity) -> DuplexStream {
    let app = AppState::new(inventory, services, capacity, protocol());
    let server = Server::new(app, Transport::Stdio);
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    tokio::spawn(async move { server.serve(theirs).await.unwrap().waiting().await.unwrap() });
    ours
}

pub(crate) async fn describe(client: &Client, kind: &str) -> Value {
    let text = read(client, &format!("capabilities://{kind}")).await.unwrap();
    serde_json::from_str(&text).unwrap()
}

pub(crate) async fn read(client: &Client, uri: &str) -> Result<String, ServiceError> {
    let read = within(client.read_resource(ReadResourceRequestParams::new(uri))).await?;
    match read.contents.into_iter().next().unwrap() {
        ResourceContents::TextResourceContents { text, .. } => Ok(text),
        other => panic!("{uri} is not text: {other:?}"),
    }
}

/// The tools of `capabilities://tools`, whatever their category.
pub(crate) async fn described_tools(client: &Client) -> Vec<Value> {
    let tools = describe(client, "tools").await;
    let categories = tools["tools_by_category"].as_object().unwrap().values();
    categories.flat_map(|tools| tools.as_array().unwrap().clone()).collect()
}

pub(crate) async fn call(client: &Client, tool: &'static str, arguments: Value) -> Value {
    let request = CallToolRequestParams::new(tool).with_arguments(object(arguments));
    answer(&within(client.call_tool(request)).await.unwrap())
}

pub(crate) fn answer(result: &CallToolResult) -> Value {
    serde_json::from_str(&result.content[0].as_text().unwrap().text).unwrap()
}

/// A tool whose calls block their thread until they are released.
#[derive(Clone, Default)]
pub(crate) struct Hold {
    started: Arc<AtomicUsize>,
    permits: Arc<(Mutex<usize>, Condvar)>,
}

impl Hold {
    pub(crate) const NAME: &'static str = "hold";

    /// The inventory with this tool in it.
    pub(crate) fn added_to(&self, mut inventory: Inventory) -> Inventory {
        let hold = self.clone();
        let run = move |_: &Services, _: &JsonObject, _: &mut Context| {
            hold.block();
            Ok::<_, kenning_knowledge::Error>(JsonObject::new())
        };
        let operation = Operation::read(Self::NAME, Toolset::Knowledge, run);
        inventory.operations.push(operation.tool("Hold", "Blocks until it is released"));
        inventory
    }

    fn block(&self) {
        self.started.fetch_add(1, Ordering::SeqCst);
        let (permits, released) = &*self.permits;
        let permits = permits.lock().unwrap();
        // With a deadline, so that a test that fails ends all the same.
        let waited = released.wait_timeout_while(permits, DEADLINE, |permits| *permits == 0);
        let (mut permits, _) = waited.unwrap();
        *permits = permits.saturating_sub(1);
    }

    /// How many calls have started.
    pub(crate) fn started(&self) -> usize {
        self.started.load(Ordering::SeqCst)
    }

    /// Starts so many calls, and returns when the server has accepted them and works on as many as it
    /// can.
    pub(crate) async fn start(
        &self,
        client: &Client,
        calls: usize,
        concurrent: usize,
    ) -> Vec<Held> {
        let call = || {
            let peer = client.peer().clone();
            tokio::spawn(
                async move { peer.call_tool(CallToolRequestParams::new(Self::NAME)).await },
            )
        };
        let held = (0..calls).map(|_| call()).collect();
        // Requests are accepted in order, and lists need no permit: once a list is answered, the
        // calls sent before it are running or waiting.
        for _ in 0..3 {
            tokio::task::yield_now().await;
            within(client.list_all_tools()).await.unwrap();
        }
        within(async {
            while self.started() < concurrent.min(calls) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        })
        .await;
        held
    }

    pub(crate) fn release(&self, calls: usize) {
        let (permits, released) = &*self.permits;
        *permits.lock().unwrap() += calls;
        released.notify_all();
    }
}

type Held = tokio::task::JoinHandle<Result<CallToolResult, ServiceError>>;
