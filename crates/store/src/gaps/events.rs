//! Recorded calls.

use std::collections::{BTreeMap, BTreeSet};

use kenning_gaps::ask;
use kenning_gaps::event::IntentSource;
use kenning_gaps::ports::{Appended, Detail, UserFilter, Window};
use kenning_gaps::session::Recorded;
use kenning_gaps::{Batch, Event, Identity, contract};
use sqlx::QueryBuilder;

use super::{signed, storable, unsigned};
use crate::engine::{Pool, Tx, from_row, on};
use crate::{Store, StoreError};

/// Rows per statement: both databases take 32,766 parameters, of which a row has 19.
const ROWS: usize = 1_000;

pub(super) async fn append(pool: &Pool, batch: &Batch) -> Result<Appended, sqlx::Error> {
    // All writers insert in the same order, so that they cannot deadlock.
    let events: BTreeMap<&str, &Event> =
        batch.events.iter().map(|event| (event.call_id.as_str(), event)).collect();
    let events: Vec<&Event> = events.into_values().collect();
    let mut tx = pool.write_durably().await?;
    let mut new = 0;
    for events in events.chunks(ROWS) {
        let ids = insert(&mut tx, batch, events).await?;
        new += ids.len();
        let due: Vec<(i64, u64)> = events
            .iter()
            .filter_map(|event| Some((*ids.get(event.call_id.as_str())?, ask::due(event)?)))
            .collect();
        mark_pending(&mut tx, &batch.project_id, &due).await?;
    }
    tx.commit().await?;
    Ok(Appended { new, known: batch.events.len() - new })
}

/// Inserts the events that are new; returns their ids by `callId`.
async fn insert(
    tx: &mut Tx<'_>,
    batch: &Batch,
    events: &[&Event],
) -> Result<BTreeMap<String, i64>, sqlx::Error> {
    let Batch { project_id, identity, .. } = batch;
    let project_id = storable(project_id);
    let inserted: Vec<(String, i64)> = on!(tx, |tx| {
        let mut query = QueryBuilder::new(
            "INSERT INTO events (project_id, call_id, at, who, tool_name, is_error, duration_ms, \
             user_id, user_email, batch_user_id, batch_user_email, client, server_version, \
             intent, intent_source, error_message, missed, arguments, result) ",
        );
        query.push_values(events, |mut row, event| {
            row.push_bind(&*project_id)
                .push_bind(storable(&event.call_id))
                .push_bind(signed(event.timestamp))
                .push_bind(storable(who(event, identity)))
                .push_bind(storable(&event.tool_name))
                .push_bind(event.is_error)
                .push_bind(signed(event.duration_ms))
                .push_bind(event.user_id.as_deref().map(storable))
                .push_bind(event.user_email.as_deref().map(storable))
                .push_bind(identity.user_id.as_deref().map(storable))
                .push_bind(identity.user_email.as_deref().map(storable))
                .push_bind(identity.client.as_deref().map(storable))
                .push_bind(identity.server_version.as_deref().map(storable))
                .push_bind(event.intent.as_deref().map(storable))
                .push_bind(event.intent_source.map(source_name))
                .push_bind(event.error_message.as_deref().map(storable))
                .push_bind(event.missed.as_deref().map(storable))
                .push_bind(event.arguments.to_string())
                .push_bind(event.result.as_ref().map(ToString::to_string));
        });
        query.push(" ON CONFLICT (project_id, call_id) DO NOTHING RETURNING call_id, id");
        query.build_query_as().persistent(false).fetch_all(&mut **tx).await?
    });
    Ok(inserted.into_iter().collect())
}

async fn mark_pending(
    tx: &mut Tx<'_>,
    project_id: &str,
    due: &[(i64, u64)],
) -> Result<(), sqlx::Error> {
    if due.is_empty() {
        return Ok(());
    }
    on!(tx, |tx| {
        let mut query = QueryBuilder::new("INSERT INTO waiting (project_id, event_id, due_at) ");
        query.push_values(due, |mut row, (id, due)| {
            row.push_bind(storable(project_id)).push_bind(*id).push_bind(signed(*due));
        });
        query.build().persistent(false).execute(&mut **tx).await?;
    });
    Ok(())
}

/// [`Recorded::user`] as a column; a call without a user has the empty name.
fn who<'a>(event: &'a Event, identity: &'a Identity) -> &'a str {
    let own = event.user_id.as_deref().or(event.user_email.as_deref());
    own.or(identity.user_id.as_deref()).or(identity.user_email.as_deref()).unwrap_or_default()
}

fn source_name(source: IntentSource) -> &'static str {
    match source {
        IntentSource::Mcpeye => "mcpeye",
        IntentSource::Native => "native",
    }
}

fn source_named(name: &str) -> Option<IntentSource> {
    [IntentSource::Mcpeye, IntentSource::Native].into_iter().find(|one| source_name(*one) == name)
}

pub(super) struct EventRow {
    project_id: String,
    call_id: String,
    at: i64,
    tool_name: String,
    is_error: bool,
    duration_ms: i64,
    user_id: Option<String>,
    user_email: Option<String>,
    batch_user_id: Option<String>,
    batch_user_email: Option<String>,
    client: Option<String>,
    server_version: Option<String>,
    intent: Option<String>,
    intent_source: Option<String>,
    error_message: Option<String>,
    missed: Option<String>,
    arguments: String,
    result: Option<String>,
}

from_row!(EventRow {
    project_id,
    call_id,
    at,
    tool_name,
    is_error,
    duration_ms,
    user_id,
    user_email,
    batch_user_id,
    batch_user_email,
    client,
    server_version,
    intent,
    intent_source,
    error_message,
    missed,
    arguments,
    result
});

/// The columns of [`EventRow`] except arguments and result.
pub(super) const COLUMNS: &str = "e.project_id, e.call_id, e.at, e.tool_name, e.is_error, \
    e.duration_ms, e.user_id, e.user_email, e.batch_user_id, e.batch_user_email, e.client, \
    e.server_version, e.intent, e.intent_source, e.error_message, e.missed";

impl From<EventRow> for Recorded {
    fn from(row: EventRow) -> Self {
        let identity = Identity {
            user_id: row.batch_user_id,
            user_email: row.batch_user_email,
            client: row.client,
            server_version: row.server_version,
        };
        let event = Event {
            call_id: row.call_id,
            tool_name: row.tool_name,
            arguments: serde_json::from_str(&row.arguments).unwrap_or_default(),
            is_error: row.is_error,
            timestamp: unsigned(row.at),
            duration_ms: unsigned(row.duration_ms),
            result: row.result.map(|result| serde_json::from_str(&result).unwrap_or_default()),
            error_message: row.error_message,
            intent: row.intent,
            intent_source: row.intent_source.as_deref().and_then(source_named),
            user_id: row.user_id,
            user_email: row.user_email,
            missed: row.missed,
        };
        Self { project_id: row.project_id, identity, event }
    }
}

pub(super) async fn select(pool: &Pool, window: &Window) -> Result<Vec<Recorded>, sqlx::Error> {
    let rows: Vec<EventRow> = on!(pool, |pool| {
        let mut query = QueryBuilder::new("SELECT ");
        query.push(COLUMNS);
        match window.detail {
            Detail::Full => {
                query.push(", e.arguments, e.result");
            }
            Detail::Outline => {
                query.push(", CASE WHEN e.tool_name = ").push_bind(contract::TOOL_NAME);
                query.push(
                    " THEN e.arguments ELSE '{}' END AS arguments, \
                     CASE WHEN e.result IS NULL THEN NULL ELSE 'null' END AS result",
                );
            }
        }
        query.push(" FROM events e WHERE 1 = 1");
        if let Some(project_id) = &window.project_id {
            query.push(" AND e.project_id = ").push_bind(storable(project_id));
        }
        if let UserFilter::Is(user) = &window.user {
            query.push(" AND e.who = ").push_bind(storable(user.as_deref().unwrap_or_default()));
        }
        if let Some(from) = window.from {
            query.push(" AND e.at >= ").push_bind(signed(from));
        }
        if let Some(until) = window.until {
            query.push(" AND e.at < ").push_bind(signed(until));
        }
        match window.last {
            None => query.push(" ORDER BY e.at, e.call_id"),
            Some(last) => {
                query.push(" ORDER BY e.at DESC, e.call_id DESC LIMIT ");
                query.push_bind(signed(last as u64))
            }
        };
        query.build_query_as().fetch_all(pool).await?
    });
    let mut events: Vec<Recorded> = rows.into_iter().map(Recorded::from).collect();
    if window.last.is_some() {
        events.reverse();
    }
    Ok(events)
}

impl Store {
    /// How many recorded calls of our own tools found nothing.
    pub fn miss_count(&self) -> Result<u64, StoreError> {
        let count: i64 = self.runtime().block_on(async {
            let count = "SELECT count(*) FROM events WHERE missed IS NOT NULL";
            on!(&self.pool, |pool| sqlx::query_scalar(count).fetch_one(pool).await)
        })?;
        Ok(unsigned(count))
    }
}

pub(super) async fn note_tools(
    pool: &Pool,
    project_id: &str,
    tools: &[String],
    at: u64,
) -> Result<(), sqlx::Error> {
    let tools: BTreeSet<&String> = tools.iter().collect();
    let tools: Vec<&String> = tools.into_iter().collect();
    let mut tx = pool.write().await?;
    for tools in tools.chunks(ROWS) {
        on!(&mut tx, |tx| {
            let mut query = QueryBuilder::new(
                "INSERT INTO offered_tools (project_id, tool, first_at, last_at) ",
            );
            query.push_values(tools, |mut row, tool| {
                row.push_bind(storable(project_id))
                    .push_bind(storable(tool))
                    .push_bind(signed(at))
                    .push_bind(signed(at));
            });
            query.push(
                " ON CONFLICT (project_id, tool) DO UPDATE SET first_at = CASE \
                 WHEN excluded.first_at < offered_tools.first_at THEN excluded.first_at \
                 ELSE offered_tools.first_at END, last_at = CASE \
                 WHEN excluded.last_at > offered_tools.last_at THEN excluded.last_at \
                 ELSE offered_tools.last_at END",
            );
            query.build().persistent(false).execute(&mut **tx).await?;
        });
    }
    tx.commit().await
}

/// Tools that were first offered before the window ended and last offered after it began: lists
/// are only recorded now and then.
pub(super) async fn tools(pool: &Pool, window: &Window) -> Result<Vec<String>, sqlx::Error> {
    on!(pool, |pool| {
        let mut query =
            QueryBuilder::new("SELECT DISTINCT t.tool FROM offered_tools t WHERE 1 = 1");
        if let Some(project_id) = &window.project_id {
            query.push(" AND t.project_id = ").push_bind(storable(project_id));
        }
        if let Some(from) = window.from {
            query.push(" AND t.last_at >= ").push_bind(signed(from));
        }
        if let Some(until) = window.until {
            query.push(" AND t.first_at < ").push_bind(signed(until));
        }
        query.push(" ORDER BY t.tool");
        query.build_query_scalar().fetch_all(pool).await
    })
}
