//! `serve`: opens the services and serves them over stdio or HTTP.

mod connections;
#[cfg(unix)]
pub(super) mod daemon;
mod health;
mod http;
mod recording;
mod signals;
mod toolsets;

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread::ScopedJoinHandle;

use kenning_app::compose::content_uri;
use kenning_app::knowledge::file_uri;
use kenning_app::{AppState, Capacity, Inventory, Services, Toolset};
use kenning_gaps::Gaps;
use kenning_knowledge::semantic::IndexerThread;
use kenning_knowledge::usage::UsageLog;
use kenning_knowledge::watch::Watcher;
use kenning_knowledge::{Changes, Library};
use kenning_mcp::{Changed, Server, protocol, stdio};
use kenning_settings::Transport;
use kenning_store::{NotReady, Store, Subscription};
use tokio::io::DuplexStream;
use tokio_util::sync::CancellationToken;
use toml::Value;

use self::recording::Recording;
use self::signals::stop_on_signal;
use self::toolsets::Selection;
use super::vectors::IndexLock;
use super::{Context, compose, registry};
use crate::cli;
use crate::failure::{Exit, Failure};

/// The command's flags as settings.
pub(super) fn flags(serve: &cli::Serve) -> Result<Vec<(String, Value, String)>, Failure> {
    let mut flags = Vec::new();
    let mut set = |key: &str, value: Value, flag: &str| {
        flags.push((key.to_owned(), value, flag.to_owned()));
    };
    if let Some(address) = &serve.http {
        set("server.transport", Value::from("http"), "--http");
        if !address.is_empty() {
            let flag = format!("--http {address}");
            let (host, port) = split_address(address)?;
            if let Some(host) = host {
                set("server.host", Value::from(host), &flag);
            }
            if let Some(port) = port {
                set("server.port", Value::from(i64::from(port)), &flag);
            }
        }
    }
    if !serve.toolsets.is_empty() {
        let list = serve.toolsets.iter().map(|name| Value::from(name.as_str())).collect();
        set("server.toolsets", Value::Array(list), "--toolsets");
    }
    if serve.read_only {
        set("server.read_only", Value::Boolean(true), "--read-only");
    }
    Ok(flags)
}

/// `127.0.0.1:9000`, `[::1]:9000`, `localhost`, `:9000` or `9000`.
fn split_address(address: &str) -> Result<(Option<&str>, Option<u16>), Failure> {
    let (host, port) = match address.rsplit_once(':') {
        Some((host, port)) if !host.ends_with(':') => (host, Some(port)),
        _ if address.bytes().all(|b| b.is_ascii_digit()) => ("", Some(address)),
        _ => (address, None),
    };
    let port = port.map(str::parse).transpose().map_err(|_| {
        Failure::usage(format!("--http {address}: the port is not a number from 0 to 65535"))
            .hint("addresses look like 127.0.0.1:8765; port 0 takes any free one")
    })?;
    let host = host.trim_matches(['[', ']']);
    Ok(((!host.is_empty()).then_some(host), port))
}

pub(super) fn run(context: &Context, serve: &cli::Serve) -> Result<Exit, Failure> {
    #[cfg(unix)]
    if context.settings.server.transport == Transport::Stdio && context.settings.server.attach {
        let in_process = |client| serve_services(context, serve, Some(client));
        if let Some(served) = daemon::attached(context, !serve.no_watch, in_process) {
            return served;
        }
    }
    serve_services(context, serve, None)
}

/// Opens the services and serves them. On standard streams, `client` is one that another process
/// served until now.
fn serve_services(
    context: &Context,
    serve: &cli::Serve,
    client: Option<DuplexStream>,
) -> Result<Exit, Failure> {
    let model = context.settings.model(&context.layers)?.start_loading()?;
    let opened = Opened::new(context)?;
    let (library, store) = (opened.library.clone(), opened.store.clone());
    let cache = Context::vector_cache(store.as_ref());
    let new_nodes = opened.recording.new_nodes();
    let _indexer = IndexerThread::start(library.clone(), cache, model, new_nodes)?;
    // Commands leave vectors to a server that follows the files.
    let _vectors = store.as_ref().filter(|_| !serve.no_watch).and_then(|store| {
        IndexLock::of(context, store, &library).and_then(|lock| lock.try_shared().ok())
    });
    let _watcher = (!serve.no_watch).then(|| watch(&library, &opened.server)).flatten();
    let _registry_watch =
        store.as_ref().and_then(|store| watch_registry(store, &opened.server, &opened.recording));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let served = runtime.block_on(async {
        let stop = CancellationToken::new();
        tokio::spawn(stop_on_signal(stop.clone()));
        match context.settings.server.transport {
            Transport::Stdio => serve_stdio(context, &library, &opened.server, client, stop).await,
            Transport::Http => serve_http(context, serve, &opened, stop).await,
        }
    });
    // A thread may still be blocked on standard input.
    runtime.shutdown_background();
    opened.recording.finish();
    if let Some(Err(error)) = store.map(|store| store.flush_usage()) {
        tracing::warn!(%error, "the last usage counts could not be stored");
    }
    served.map(|()| Exit::Success)
}

fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// The application, wired to its services.
struct Opened {
    library: Arc<Library>,
    store: Option<Arc<Store>>,
    /// Why the store could not be opened.
    store_failure: Option<NotReady>,
    recording: Recording,
    app: AppState,
    server: Server,
}

impl Opened {
    fn new(context: &Context) -> Result<Self, Failure> {
        let all = Inventory::full();
        let selection = Selection::of(&context.settings, &context.layers)?;
        let selected = selection.of_all(all.clone());
        // Each takes a while, and none needs another.
        let (library, store, catalog) = std::thread::scope(|scope| {
            let store = scope.spawn(|| context.try_store());
            let catalog = scope.spawn(|| context.catalog());
            let library = context.open_library();
            (library, joined(store), joined(catalog))
        });
        let (library, store, catalog) = (Arc::new(library?), store?, Arc::new(catalog?));
        let (store, store_failure) = (store.clone().unwrap_or_default(), store.err());
        let registry = store.clone().map(|store| {
            let library = library.clone();
            registry::with_semantic_ranking(store, move |text| library.embed(text))
        });
        let gaps = store.clone().map(|store| gaps(store, library.clone()));
        let recording = Recording::start(context, store.as_ref(), gaps.clone())?;
        recording.record_offer(&selected);
        let discovery = Arc::new(context.settings.discovery.clone());
        let transport = context.settings.server.transport;
        // Compose creates a folder for its state, so it is opened only where it can be used: by its
        // toolset or by the page.
        let is_composing = selected.has(Toolset::Compose) || transport == Transport::Http;
        let compose = is_composing.then(|| {
            let (registry, gaps) = (registry.clone(), gaps.clone());
            context.compose(compose::DomainSources::new(
                &library, &discovery, &catalog, registry, gaps,
            ))
        });
        let services = Services {
            registry,
            gaps,
            compose: compose.flatten(),
            usage: store.clone().map(|store| store as Arc<dyn UsageLog>),
            recorder: recording.recorder(),
            ..Services::new(library.clone(), discovery, catalog)
        };
        let (transport, capacity) = match transport {
            Transport::Stdio => (kenning_mcp::Transport::Stdio, Capacity::STDIO),
            Transport::Http => {
                let concurrent = NonZeroUsize::new(context.settings.server.max_concurrent_requests);
                (kenning_mcp::Transport::StatelessHttp, Capacity::http(concurrent))
            }
        };
        let app = AppState::new(all, services, capacity, protocol());
        let server = Server::new(app.offering(selected), transport);
        watch_contents(&app, &server);
        Ok(Self { library, store, store_failure, recording, app, server })
    }
}

async fn serve_http(
    context: &Context,
    serve: &cli::Serve,
    opened: &Opened,
    stop: CancellationToken,
) -> Result<(), Failure> {
    let Opened { library, store, store_failure, recording, app, server } = opened;
    let open = http::open(context, store.as_ref(), *store_failure).await?;
    #[cfg(unix)]
    let host = {
        let offers = Box::new(recording.offer_recorder());
        daemon::Host::open(context, !serve.no_watch, server, offers, stop.clone())
    };
    http::announce(context, library, server, &open);
    #[cfg(unix)]
    if host.is_some() {
        context.printer.note("Clients on standard streams share this server.");
    }
    let served = open.serve(app.clone(), server.clone(), stop.clone()).await;
    stop.cancel();
    #[cfg(unix)]
    if let Some(host) = host {
        host.finish().await;
    }
    served
}

/// Gaps that are grouped by meaning as soon as the library has its model.
fn gaps(store: Arc<Store>, library: Arc<Library>) -> Gaps {
    Gaps::new(store).with_embedder(Arc::new(move |text: &str| library.embed(text)))
}

/// Without a watcher the files are served as they were at the start.
fn watch(library: &Arc<Library>, server: &Server) -> Option<Watcher> {
    let feed = server.changes();
    let announce = move |changes: Changes| {
        let touched = changes.changed.iter().chain(&changes.removed);
        let uris = touched.filter_map(|name| name.split_once('/'));
        feed.announce(Changed {
            list: changes.alters_list(),
            uris: uris.map(|(base, path)| file_uri(base, path)).collect(),
            ..Changed::default()
        });
    };
    Watcher::start(library.clone(), announce)
        .inspect_err(
            |error| tracing::warn!(%error, "files cannot be watched; changes are not followed"),
        )
        .ok()
}

async fn serve_stdio(
    context: &Context,
    library: &Library,
    server: &Server,
    client: Option<DuplexStream>,
    stop: CancellationToken,
) -> Result<(), Failure> {
    tracing::info!("{}", summary(context, library, server));
    let served = match client {
        Some(client) => {
            let (reader, writer) = tokio::io::split(client);
            stdio::serve_over(server, reader, writer, stop).await
        }
        None => stdio::serve(server, stop).await,
    };
    served.map_err(|error| Failure::new(error.to_string()))
}

/// Notifies clients of changes to the registry, whichever process makes them.
fn watch_registry(
    store: &Arc<Store>,
    server: &Server,
    recording: &Recording,
) -> Option<Subscription> {
    let feed = server.changes();
    let new_skills = recording.new_skills(store);
    let announce = move || {
        let families = vec![kenning_app::registry::SCHEME];
        feed.announce(Changed { list: true, families, ..Changed::default() });
        new_skills();
    };
    store
        .on_registry_change(announce)
        .inspect_err(|error| tracing::warn!(%error, "the registry cannot be watched; clients are not notified of its changes"))
        .ok()
}

/// Notifies clients of contents that this server generates or deletes.
fn watch_contents(app: &AppState, server: &Server) {
    let Some(compose) = &app.services.compose else { return };
    let feed = server.changes();
    compose.on_content_change(move |changed| {
        let uris = vec![content_uri(changed.id)];
        feed.announce(Changed { list: changed.alters_list, uris, ..Changed::default() });
    });
}

fn summary(context: &Context, library: &Library, server: &Server) -> String {
    let snapshot = library.snapshot();
    let bases: Vec<String> = snapshot
        .bases()
        .map(|base| format!("{} ({})", base.name(), base.root().display()))
        .collect();
    let problems = match snapshot.diagnostics().len() {
        0 => String::new(),
        n => format!("; {n} problems, see `kenning index`"),
    };
    let read_only = if context.settings.server.read_only { ", read-only" } else { "" };
    format!(
        "Kenning {}: {} nodes in {} files of {}{problems}; {} tools{read_only}",
        env!("CARGO_PKG_VERSION"),
        snapshot.node_count(),
        snapshot.file_count(),
        bases.join(", "),
        server.app().inventory.tools().count(),
    )
}
