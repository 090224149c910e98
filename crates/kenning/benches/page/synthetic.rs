//! A synthetic handbook of 10,000 nodes, and a store with 100,000 recorded calls about it.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use kenning_gaps::offers::ProposeRequest;
use kenning_gaps::ports::EventStore;
use kenning_gaps::{Batch, Event, Gaps, Identity};
use kenning_knowledge::semantic::{
    CacheError, Embedded, Indexer, ModelSource, TextKey, VectorCache,
};
use kenning_knowledge::usage::{DAY, Usage, UsageKind, UsageLog};
use kenning_knowledge::{Base, Library};
use kenning_registry::Registry;
use kenning_registry::agents::AddAgentRequest;
use kenning_registry::register::{CapabilityInput, RegisterRequest};
use kenning_store::Store;
use serde_json::json;

const FILES: usize = 1_250;
/// With the heading of the file these are eight nodes.
const SECTIONS: usize = 7;
const FOLDERS: usize = 40;
const EVENTS: u64 = 100_000;
const DAYS: u64 = 30;

pub(crate) fn write(root: &Path, data: &Path) {
    handbook(root);
    let store = Arc::new(Store::open(data).unwrap());
    vectors(root, &store);
    let now = u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis());
    let now = now.unwrap();
    calls(&store, now);
    usage(&store, now);
    let embed = |text: &str| Some(random_vector(text.as_bytes()));
    let gaps = Gaps::new(store.clone()).with_embedder(Arc::new(embed));
    let extracted = gaps.extract_asks(now).unwrap();
    eprintln!("{EVENTS} calls, {} asks", extracted.asks);
    proposals(&gaps, now);
    registry(store);
}

fn handbook(root: &Path) {
    let mut random = Random(42);
    for file in 0..FILES {
        let mut text = format!("# {}\n- id: doc{file}\n- status: active\n", random.words(3));
        if file % 5 == 4 {
            text += &format!("- blocked_by: [doc{}]\n", random.below(FILES as u64));
        }
        text += "<!-- content -->\n\nWhat it is about.\n";
        for _ in 0..SECTIONS {
            text += &format!("\n## {}\n\n{}.\n", random.words(3), random.words(90));
        }
        let folder = root.join(format!("team-{}", file % FOLDERS));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(format!("{file:04}.md")), text).unwrap();
    }
}

/// Random vectors: computing real ones takes ten minutes and changes none of the times.
fn vectors(root: &Path, store: &Arc<Store>) {
    let base = Base::new("handbook", root, &["**/*.md".to_owned()], &[]).unwrap();
    let library = Arc::new(Library::open(vec![base], &|_, _| {}).unwrap());
    let model = ModelSource::Bundled.load().unwrap();
    let cache = Arc::new(RandomVectors(store.clone()));
    Indexer::new(library.clone(), cache, model).catch_up(&|_, _| {}).unwrap();
    eprintln!("{} nodes", library.snapshot().node_count());
}

struct RandomVectors(Arc<Store>);

impl VectorCache for RandomVectors {
    fn load(
        &self,
        model: &str,
        keys: &[TextKey],
    ) -> Result<HashMap<TextKey, Embedded>, CacheError> {
        let made: Vec<(TextKey, Embedded)> =
            keys.iter().map(|key| (*key, embedded(*key))).collect();
        let kept: Vec<(TextKey, &Embedded)> = made.iter().map(|(key, it)| (*key, it)).collect();
        self.0.save(model, &kept)?;
        Ok(made.into_iter().collect())
    }

    fn save(&self, _: &str, _: &[(TextKey, &Embedded)]) -> Result<(), CacheError> {
        Ok(())
    }
}

fn embedded(key: TextKey) -> Embedded {
    Embedded { windows: std::iter::once(0..1).collect(), vectors: random_vector(key.as_bytes()) }
}

fn random_vector(of: &[u8]) -> Vec<f32> {
    let seed = of
        .iter()
        .fold(1, |seed: u64, byte| seed.wrapping_mul(31).wrapping_add(u64::from(*byte) + 1));
    let mut random = Random(seed | 1);
    let vector: Vec<f32> = (0..384).map(|_| random.below(2_001) as f32 - 1_000.0).collect();
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    vector.iter().map(|x| x / length).collect()
}

fn calls(store: &Store, now: u64) {
    let mut random = Random(7);
    for (batch, project) in (0..20).zip(["shop", "handbook", "shop", "billing"].iter().cycle()) {
        let size = EVENTS / 20;
        let events =
            (batch * size..(batch + 1) * size).map(|number| event(number, now, &mut random));
        let batch = Batch {
            project_id: (*project).to_owned(),
            identity: Identity { client: Some("agent".to_owned()), ..Identity::default() },
            events: events.collect(),
        };
        store.append(&batch).unwrap();
    }
}

/// A call of an agent. One in twenty fails, one in fifty requests a capability.
fn event(number: u64, now: u64, random: &mut Random) -> Event {
    let (failed, requests) = (number.is_multiple_of(20), number.is_multiple_of(50));
    let tool =
        if requests { "mcpeye_request_capability" } else { TOOLS[random.index(TOOLS.len())] };
    let ago = DAYS * DAY / EVENTS * (EVENTS - number);
    Event {
        call_id: format!("{number:08x}-0000-4000-8000-{:012x}", random.below(1 << 48)),
        tool_name: tool.to_owned(),
        arguments: json!({"capability": wish(random), "query": random.words(4)}),
        is_error: failed,
        timestamp: now - ago,
        duration_ms: random.below(400),
        result: (!failed).then(|| json!({"content": [{"type": "text", "text": random.words(60)}]})),
        error_message: failed.then(|| format!("no {} was found", random.words(1))),
        intent: Some(format!("The user is trying to {}", wish(random))),
        intent_source: None,
        user_id: Some(format!("user-{}", number % 97)),
        user_email: None,
        missed: None,
    }
}

const TOOLS: [&str; 5] = ["search_invoices", "list_orders", "get_shipment", "refund", "get_tenant"];

fn wish(random: &mut Random) -> String {
    const VERBS: [&str; 8] =
        ["export", "print", "archive", "rename", "merge", "schedule", "compare", "translate"];
    format!("{} the {}", VERBS[random.index(VERBS.len())], random.words(2))
}

/// Counted by node and day, as the server does it.
fn usage(store: &Store, now: u64) {
    let mut random = Random(11);
    let kinds = [UsageKind::Searched, UsageKind::Discovered, UsageKind::Retrieved];
    for number in 0..EVENTS {
        let nodes = [format!("doc{}", random.below(FILES as u64 * 2 / 3))];
        let kind = kinds[random.index(kinds.len())];
        let at = now - DAYS * DAY / EVENTS * (EVENTS - number);
        store.note(&Usage { kind, nodes: nodes.iter().map(String::as_str).collect(), at });
        if number % 10_000 == 0 {
            store.flush_usage().unwrap();
        }
    }
    store.flush_usage().unwrap();
}

fn proposals(gaps: &Gaps, now: u64) {
    for number in 0..60 {
        let request = ProposeRequest {
            title: format!("Proposal {number}"),
            markdown: "Like this.\n".repeat(200),
            target_path: format!("proposed/{number}.md"),
            gap_id: None,
        };
        gaps.propose(&request, now + number).unwrap();
    }
}

fn registry(store: Arc<Store>) {
    let registry = Registry::new(store);
    for agent in 1..=100 {
        registry
            .add_agent(&AddAgentRequest { name: format!("agent {agent}"), id: Some(agent) })
            .unwrap();
        let skill = |number: i64| CapabilityInput {
            skill_name: format!("skill-{}", (agent * 7 + number * 13) % 300),
            version: format!("1.{number}.0"),
            active: number % 4 > 0,
            metadata: None,
        };
        let capabilities = (0..20).map(skill).collect();
        registry
            .register(&RegisterRequest { agent_id: agent, capabilities, upsert: true })
            .unwrap();
    }
}

const WORDS: &str = "service request data user cluster node container deployment storage volume \
    network policy security token secret key backup restore failure recovery retry timeout queue \
    worker job schedule index query table column migration schema tenant billing invoice order \
    shipment carrier parcel label webhook event stream log metric trace alert incident runbook \
    release rollback canary feature flag test fixture snapshot review comment style naming error \
    result option module package registry version upgrade protocol server client";

struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }

    fn index(&mut self, most: usize) -> usize {
        usize::try_from(self.below(most as u64)).unwrap()
    }

    fn words(&mut self, count: usize) -> String {
        let words: Vec<&str> = WORDS.split_whitespace().collect();
        let drawn: Vec<&str> = (0..count).map(|_| words[self.index(words.len())]).collect();
        drawn.join(" ")
    }
}
