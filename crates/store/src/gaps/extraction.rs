//! Pending calls, and the asks that were extracted from them.

use std::collections::HashMap;

use kenning_gaps::ports::{AssignGaps, Extraction, NewAsk, PendingCall, PendingId};
use kenning_gaps::session::Recorded;
use sqlx::QueryBuilder;

use super::events::{self, EventRow};
use super::{gap, signed, storable};
use crate::engine::{Pool, Tx, from_row, on};

/// Rows per statement.
const ROWS: usize = 1_000;

struct PendingRow {
    pending_id: i64,
    event: EventRow,
}

from_row!(PendingRow { pending_id, ..event });

pub(super) async fn pending(
    pool: &Pool,
    now: u64,
    limit: usize,
) -> Result<Vec<PendingCall>, sqlx::Error> {
    let mut tx = pool.read().await?;
    let project_id: Option<String> = on!(&mut tx, |tx| {
        let first = "SELECT project_id FROM waiting WHERE due_at <= $1 \
                     ORDER BY due_at, id LIMIT 1";
        sqlx::query_scalar(first).bind(signed(now)).fetch_optional(&mut **tx).await?
    });
    let Some(project_id) = project_id else { return Ok(Vec::new()) };
    let rows: Vec<PendingRow> = on!(&mut tx, |tx| {
        let mut query = QueryBuilder::new("SELECT w.id AS pending_id, ");
        query.push(events::COLUMNS);
        query.push(
            ", e.arguments, NULL AS result FROM waiting w JOIN events e ON e.id = w.event_id \
             WHERE w.project_id = ",
        );
        query.push_bind(project_id).push(" AND w.due_at <= ").push_bind(signed(now));
        query.push(" ORDER BY w.due_at, w.id LIMIT ").push_bind(signed(limit as u64));
        query.build_query_as().fetch_all(&mut **tx).await?
    });
    let calls = rows
        .into_iter()
        .map(|row| PendingCall { id: PendingId(row.pending_id), call: Recorded::from(row.event) });
    Ok(calls.collect())
}

pub(super) async fn commit(
    pool: &Pool,
    project_id: &str,
    extraction: &Extraction,
    assign: AssignGaps<'_>,
) -> Result<usize, sqlx::Error> {
    let mut tx = pool.write().await?;
    let before = gap::lock_all(&mut tx, project_id).await?;
    postpone(&mut tx, &extraction.postponed).await?;
    let asks = extraction.asks.iter().map(|ask| ask.pending);
    let ids: Vec<PendingId> = asks.chain(extraction.without_ask.iter().copied()).collect();
    let events = take(&mut tx, &ids).await?;
    let asks: Vec<&NewAsk> =
        extraction.asks.iter().filter(|ask| events.contains_key(&ask.pending)).collect();
    let mut gaps = before.clone();
    let gap_ids = assign(&mut gaps, &asks);
    gap::save(&mut tx, &before, &gaps).await?;
    let rows: Vec<(&NewAsk, String, i64)> =
        asks.iter().zip(gap_ids).map(|(ask, gap)| (*ask, gap, events[&ask.pending])).collect();
    for rows in rows.chunks(ROWS) {
        insert(&mut tx, project_id, rows).await?;
    }
    tx.commit().await?;
    Ok(rows.len())
}

/// Removes pending calls; returns the event ids of those that no other process took before.
async fn take(tx: &mut Tx<'_>, ids: &[PendingId]) -> Result<HashMap<PendingId, i64>, sqlx::Error> {
    let mut taken = HashMap::with_capacity(ids.len());
    for ids in ids.chunks(ROWS) {
        let rows: Vec<(i64, i64)> = on!(&mut *tx, |tx| {
            let mut query = QueryBuilder::new("DELETE FROM waiting WHERE id IN (");
            let mut list = query.separated(", ");
            for id in ids {
                list.push_bind(id.0);
            }
            query.push(") RETURNING id, event_id");
            query.build_query_as().persistent(false).fetch_all(&mut **tx).await?
        });
        taken.extend(rows.into_iter().map(|(id, event)| (PendingId(id), event)));
    }
    Ok(taken)
}

async fn postpone(tx: &mut Tx<'_>, postponed: &[(PendingId, u64)]) -> Result<(), sqlx::Error> {
    for (id, due) in postponed {
        on!(&mut *tx, |tx| {
            let query = sqlx::query("UPDATE waiting SET due_at = $1 WHERE id = $2");
            query.bind(signed(*due)).bind(id.0).execute(&mut **tx).await?;
        });
    }
    Ok(())
}

async fn insert(
    tx: &mut Tx<'_>,
    project_id: &str,
    asks: &[(&NewAsk, String, i64)],
) -> Result<(), sqlx::Error> {
    on!(tx, |tx| {
        let mut query = QueryBuilder::new(
            "INSERT INTO asks (project_id, gap_id, event_id, kind, tool, text, at) ",
        );
        query.push_values(asks, |mut row, (ask, gap_id, event_id)| {
            row.push_bind(storable(project_id))
                .push_bind(gap_id.as_str())
                .push_bind(*event_id)
                .push_bind(ask.kind.name())
                .push_bind(storable(&ask.tool))
                .push_bind(storable(&ask.text))
                .push_bind(signed(ask.at));
        });
        query.build().persistent(false).execute(&mut **tx).await?;
    });
    Ok(())
}
