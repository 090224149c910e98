//! What waits to be looked at, and what is heard from it.

use std::collections::HashMap;

use kenning_gaps::ports::{Looked, NewAsk, Place, Ticket, Unheard, Waiting};
use kenning_gaps::session::Recorded;
use sqlx::QueryBuilder;

use super::log::{self, EventRow};
use super::{book, signed, storable, unsigned};
use crate::engine::{Pool, Work, on};

/// Rows in one statement.
const ROWS: usize = 1_000;

#[derive(sqlx::FromRow)]
struct WaitingCall {
    ticket: i64,
    #[sqlx(flatten)]
    event: EventRow,
}

pub(super) async fn waiting(
    pool: &Pool,
    now: u64,
    limit: usize,
) -> Result<Vec<Waiting>, sqlx::Error> {
    let mut work = pool.read().await?;
    let project_id: Option<String> = on!(&mut work, |work| {
        let first = "SELECT project_id FROM waiting WHERE due_at <= $1 \
                     ORDER BY due_at, id LIMIT 1";
        sqlx::query_scalar(first).bind(signed(now)).fetch_optional(&mut **work).await?
    });
    let Some(project_id) = project_id else { return Ok(Vec::new()) };
    let mut found = calls(&mut work, &project_id, now, limit).await?;
    let room = limit.saturating_sub(found.len());
    found.extend(misses(&mut work, &project_id, now, room).await?);
    Ok(found)
}

async fn calls(
    work: &mut Work<'_>,
    project_id: &str,
    now: u64,
    limit: usize,
) -> Result<Vec<Waiting>, sqlx::Error> {
    let rows: Vec<WaitingCall> = on!(work, |work| {
        let mut query = QueryBuilder::new("SELECT w.id AS ticket, ");
        query.push(log::COLUMNS);
        query.push(
            ", e.arguments, NULL AS result FROM waiting w JOIN events e ON e.id = w.event_id \
             WHERE w.project_id = ",
        );
        query.push_bind(project_id).push(" AND w.due_at <= ").push_bind(signed(now));
        query.push(" ORDER BY w.due_at, w.id LIMIT ").push_bind(signed(limit as u64));
        query.build_query_as().fetch_all(&mut **work).await?
    });
    let found = rows.into_iter().map(|row| Waiting {
        ticket: Ticket(row.ticket),
        project_id: project_id.to_owned(),
        what: Unheard::Call(Box::new(Recorded::from(row.event))),
    });
    Ok(found.collect())
}

async fn misses(
    work: &mut Work<'_>,
    project_id: &str,
    now: u64,
    limit: usize,
) -> Result<Vec<Waiting>, sqlx::Error> {
    let rows: Vec<(i64, String, String, i64)> = on!(work, |work| {
        let query = sqlx::query_as(
            "SELECT w.id, m.tool, m.query, m.asked_at \
             FROM waiting w JOIN misses m ON m.id = w.miss_id \
             WHERE w.project_id = $1 AND w.due_at <= $2 ORDER BY w.due_at, w.id LIMIT $3",
        );
        let query = query.bind(project_id).bind(signed(now)).bind(signed(limit as u64));
        query.fetch_all(&mut **work).await?
    });
    let found = rows.into_iter().map(|(ticket, tool, text, asked_at)| Waiting {
        ticket: Ticket(ticket),
        project_id: project_id.to_owned(),
        what: Unheard::Miss { tool, text, at: unsigned(asked_at) * 1_000 },
    });
    Ok(found.collect())
}

/// What a ticket was for: an event or a miss.
type Origin = (Option<i64>, Option<i64>);

pub(super) async fn hear(
    pool: &Pool,
    project_id: &str,
    looked: &Looked,
    place: Place<'_>,
) -> Result<usize, sqlx::Error> {
    let mut work = pool.write().await?;
    let before = book::take(&mut work, project_id).await?;
    put_off(&mut work, &looked.later).await?;
    let asks = looked.asks.iter().map(|ask| ask.ticket);
    let tickets: Vec<Ticket> = asks.chain(looked.nothing.iter().copied()).collect();
    let taken = take(&mut work, &tickets).await?;
    let asks: Vec<&NewAsk> =
        looked.asks.iter().filter(|ask| taken.contains_key(&ask.ticket)).collect();
    let mut gaps = before.clone();
    let places = place(&mut gaps, &asks);
    book::put(&mut work, &before, &gaps).await?;
    let heard: Vec<(&NewAsk, String, Origin)> =
        asks.iter().zip(places).map(|(ask, gap)| (*ask, gap, taken[&ask.ticket])).collect();
    for heard in heard.chunks(ROWS) {
        keep(&mut work, project_id, heard).await?;
    }
    work.commit().await?;
    Ok(heard.len())
}

/// Takes off what waits. Only the first of many who take a ticket gets it.
async fn take(
    work: &mut Work<'_>,
    tickets: &[Ticket],
) -> Result<HashMap<Ticket, Origin>, sqlx::Error> {
    let mut taken = HashMap::with_capacity(tickets.len());
    for tickets in tickets.chunks(ROWS) {
        let rows: Vec<(i64, Option<i64>, Option<i64>)> = on!(&mut *work, |work| {
            let mut query = QueryBuilder::new("DELETE FROM waiting WHERE id IN (");
            let mut list = query.separated(", ");
            for ticket in tickets {
                list.push_bind(ticket.0);
            }
            query.push(") RETURNING id, event_id, miss_id");
            query.build_query_as().persistent(false).fetch_all(&mut **work).await?
        });
        taken.extend(rows.into_iter().map(|(id, event, miss)| (Ticket(id), (event, miss))));
    }
    Ok(taken)
}

async fn put_off(work: &mut Work<'_>, later: &[(Ticket, u64)]) -> Result<(), sqlx::Error> {
    for (ticket, due) in later {
        on!(&mut *work, |work| {
            let query = sqlx::query("UPDATE waiting SET due_at = $1 WHERE id = $2");
            query.bind(signed(*due)).bind(ticket.0).execute(&mut **work).await?;
        });
    }
    Ok(())
}

async fn keep(
    work: &mut Work<'_>,
    project_id: &str,
    heard: &[(&NewAsk, String, Origin)],
) -> Result<(), sqlx::Error> {
    on!(work, |work| {
        let mut query = QueryBuilder::new(
            "INSERT INTO asks (project_id, gap_id, event_id, miss_id, kind, tool, text, at) ",
        );
        query.push_values(heard, |mut row, (ask, gap_id, (event, miss))| {
            row.push_bind(storable(project_id))
                .push_bind(gap_id.as_str())
                .push_bind(*event)
                .push_bind(*miss)
                .push_bind(ask.kind.name())
                .push_bind(storable(&ask.tool))
                .push_bind(storable(&ask.text))
                .push_bind(signed(ask.at));
        });
        query.build().persistent(false).execute(&mut **work).await?;
    });
    Ok(())
}
