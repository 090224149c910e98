//! Migration of stored data.

use std::path::Path;

use kenning_gaps::Gap;
use kenning_gaps::ask::AskKind;
use kenning_gaps::extract::Extracted;
use kenning_gaps::gap::Status;
use kenning_gaps::ports::{Call, EventStore, GapStore, StoredAsk, Window};
use sqlx::migrate::{Migration, Migrator};
use sqlx::{Connection, PgConnection, SqliteConnection};

use super::fixture::{NOW, all, labelled};
use super::pages::run;
use crate::fixture::Fixture;

/// Applies the migrations up to a version, as `sqlx` reads them from the files.
fn migrate_to(fixture: &Fixture, version: i64) {
    let first = async |folder: &str| -> Migrator {
        let all = Migrator::new(Path::new(folder)).await.unwrap();
        let first = all.iter().filter(|migration| migration.version <= version);
        Migrator::with_migrations(first.cloned().collect::<Vec<Migration>>())
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        if fixture.is_postgres() {
            let mut connection = PgConnection::connect(&fixture.location).await.unwrap();
            first("migrations/postgres").await.run(&mut connection).await.unwrap();
        } else {
            let file = format!("sqlite://{}/kenning.db?mode=rwc", fixture.location);
            let mut connection = SqliteConnection::connect(&file).await.unwrap();
            first("migrations/sqlite").await.run(&mut connection).await.unwrap();
        }
    });
}

fn gap(project: &str, label: &str, kind: AskKind) -> Gap {
    Gap {
        id: format!("g-{project}"),
        project_id: project.to_owned(),
        kind,
        label: label.to_owned(),
        status: Status::Open,
        asks: 1,
        requests: u64::from(kind == AskKind::Explicit),
        wordings: vec![label.to_owned()],
        first_asked: NOW,
        last_asked: NOW,
        centroid: Vec::new(),
    }
}

fn insert_gap(fixture: &Fixture, gap: &Gap) {
    let Gap { id, project_id, kind, .. } = gap;
    let (body, kind) = (serde_json::to_string(gap).unwrap(), kind.name());
    let blob = if fixture.is_postgres() { "''" } else { "x''" };
    run(
        fixture,
        &format!(
            "INSERT INTO gaps (id, project_id, body, centroid, kind, asked, last_asked) \
             VALUES ('{id}', '{project_id}', '{body}', {blob}, '{kind}', 1, {NOW})"
        ),
    );
}

fn insert_request(fixture: &Fixture, id: u64, capability: &str) {
    run(
        fixture,
        &format!(
            "INSERT INTO events (id, project_id, call_id, at, who, tool_name, is_error, \
             duration_ms, arguments) VALUES ({id}, 'shop', 'call-{id}', {NOW}, 'ann', \
             'mcpeye_request_capability', {}, 0, '{{\"capability\": \"{capability}\"}}')",
            if fixture.is_postgres() { "FALSE" } else { "0" }
        ),
    );
}

/// A database of version 8, with an ask and a pending ask of each origin.
fn version_8(fixture: &Fixture, gaps: &[Gap; 2]) {
    migrate_to(fixture, 8);
    for gap in gaps {
        insert_gap(fixture, gap);
    }
    insert_request(fixture, 101, "export as PDF");
    insert_request(fixture, 102, "book a room");
    let seconds = NOW / 1_000;
    for statement in [
        format!(
            "INSERT INTO misses (id, tool, query, asked_at) VALUES \
             (7, 'discover_context', 'how to rotate keys', {seconds}), \
             (8, 'search_knowledge', 'print an invoice', {seconds})"
        ),
        format!(
            "INSERT INTO asks (project_id, gap_id, event_id, miss_id, kind, tool, text, at) \
             VALUES ('kenning', 'g-kenning', NULL, 7, 'miss', 'discover_context', \
             'how to rotate keys', {NOW}), ('shop', 'g-shop', 101, NULL, 'explicit', \
             'mcpeye_request_capability', 'export as PDF', {NOW})"
        ),
        "INSERT INTO waiting (project_id, event_id, miss_id, due_at) VALUES \
         ('kenning', NULL, 8, 0), ('shop', 102, NULL, 0)"
            .to_owned(),
    ] {
        run(fixture, &statement);
    }
}

pub(crate) fn turns_misses_into_events(fixture: &Fixture) {
    let before = [
        gap("kenning", "how to rotate keys", AskKind::Miss),
        gap("shop", "export as PDF", AskKind::Explicit),
    ];
    version_8(fixture, &before);
    let store = fixture.store();
    assert_eq!(store.gaps(None).unwrap(), before);
    let ask = |gap: &Gap, tool: &str, call_id: &str, user: Option<&str>| StoredAsk {
        gap_id: gap.id.clone(),
        kind: gap.kind,
        tool: tool.to_owned(),
        text: gap.label.clone(),
        at: NOW,
        call: Call {
            project_id: gap.project_id.clone(),
            call_id: call_id.to_owned(),
            user: user.map(str::to_owned),
        },
    };
    let asks = |gap: &Gap| store.asks(std::slice::from_ref(&gap.id), 10).unwrap();
    assert_eq!(asks(&before[0]), [ask(&before[0], "discover_context", "miss-7", None)]);
    let request = ask(&before[1], "mcpeye_request_capability", "call-101", Some("ann"));
    assert_eq!(asks(&before[1]), [request]);

    let own = Window { project_id: Some("kenning".into()), ..Window::default() };
    let events = store.events(&own).unwrap();
    let missed: Vec<(&str, Option<&str>, u64)> = events
        .iter()
        .map(|one| &one.event)
        .map(|event| (event.tool_name.as_str(), event.missed.as_deref(), event.timestamp))
        .collect();
    assert_eq!(
        missed,
        [
            ("discover_context", Some("how to rotate keys"), NOW),
            ("search_knowledge", Some("print an invoice"), NOW),
        ]
    );
    assert_eq!(store.miss_count().unwrap(), 2);

    let gaps = fixture.gaps();
    assert_eq!(gaps.extract_asks(NOW).unwrap(), Extracted { calls: 2, asks: 2 });
    let found = all(&gaps);
    assert_eq!(found.len(), 4);
    let invoice = labelled(&found, "print an invoice");
    assert_eq!((invoice.kind, invoice.project_id.as_str()), (AskKind::Miss, "kenning"));
    assert_eq!(labelled(&found, "book a room").kind, AskKind::Explicit);
}
