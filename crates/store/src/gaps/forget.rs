//! Removes calls and asks that must not be stored any longer.

use kenning_gaps::ports::{RemoveWords, Removed, StoredAsk, Wording};

use super::gap::{self, AskRow, ask_columns};
use super::{pages, signed, storable};
use crate::engine::{Pool, Tx, on};

/// Rows per transaction, so that other writers wait only briefly.
const STEP: i64 = 5_000;

/// Whether `e` is an event of the user `$1`; `$2` is the same as an e-mail address.
macro_rules! by_user {
    () => {
        "(e.user_id = $1 OR lower(e.user_email) = $2 OR (e.user_id IS NULL \
         AND e.user_email IS NULL AND (e.batch_user_id = $1 OR lower(e.batch_user_email) = $2)))"
    };
}

pub(super) async fn user(
    pool: &Pool,
    user: &str,
    remove_words: RemoveWords<'_>,
) -> Result<Removed, sqlx::Error> {
    let user = storable(user);
    let email = user.to_lowercase();
    let projects: Vec<String> = on!(pool, |pool| {
        let query = sqlx::query_scalar(
            "SELECT DISTINCT project_id FROM events WHERE user_id = $1 OR batch_user_id = $1 \
             OR lower(user_email) = $2 OR lower(batch_user_email) = $2 ORDER BY project_id",
        );
        query.bind(&*user).bind(&email).fetch_all(pool).await?
    });
    let mut removed = Removed::default();
    for project_id in projects {
        let mut tx = pool.write_durably().await?;
        let before = gap::lock_all(&mut tx, &project_id).await?;
        let gone = asks_of(&mut tx, &project_id, &user, &email).await?;
        removed.events += remove_events(&mut tx, &project_id, &user, &email).await?;
        removed.asks += gone.len() as u64;
        let left = wordings(&mut tx, &project_id).await?;
        let mut after = before.clone();
        remove_words(&mut after, &gone, &left);
        removed.gaps += gap::save(&mut tx, &before, &after).await?;
        tx.commit().await?;
    }
    Ok(removed)
}

async fn asks_of(
    tx: &mut Tx<'_>,
    project_id: &str,
    user: &str,
    email: &str,
) -> Result<Vec<StoredAsk>, sqlx::Error> {
    let rows: Vec<AskRow> = on!(tx, |tx| {
        let query = sqlx::query_as(concat!(
            "SELECT ",
            ask_columns!(),
            " FROM asks a JOIN events e ON e.id = a.event_id WHERE e.project_id = $3 AND ",
            by_user!(),
        ));
        query.bind(user).bind(email).bind(project_id).fetch_all(&mut **tx).await?
    });
    Ok(rows.into_iter().map(StoredAsk::from).collect())
}

/// Removes the user's events, and the user's name from events of others in the same batch.
async fn remove_events(
    tx: &mut Tx<'_>,
    project_id: &str,
    user: &str,
    email: &str,
) -> Result<u64, sqlx::Error> {
    on!(tx, |tx| {
        let query = sqlx::query(concat!(
            "DELETE FROM events AS e WHERE e.project_id = $3 AND ",
            by_user!()
        ));
        let query = query.bind(user).bind(email).bind(project_id);
        let removed = query.execute(&mut **tx).await?.rows_affected();
        let query = sqlx::query(
            "UPDATE events SET batch_user_id = NULL, batch_user_email = NULL \
             WHERE project_id = $3 AND (batch_user_id = $1 OR lower(batch_user_email) = $2)",
        );
        query.bind(user).bind(email).bind(project_id).execute(&mut **tx).await?;
        Ok(removed)
    })
}

/// The wordings of all stored asks of a project.
async fn wordings(tx: &mut Tx<'_>, project_id: &str) -> Result<Vec<Wording>, sqlx::Error> {
    let rows: Vec<(String, String)> = on!(tx, |tx| {
        let query = "SELECT DISTINCT gap_id, text FROM asks WHERE project_id = $1";
        sqlx::query_as(query).bind(project_id).fetch_all(&mut **tx).await?
    });
    Ok(rows.into_iter().map(|(gap_id, text)| Wording { gap_id, text }).collect())
}

pub(super) async fn before(
    pool: &Pool,
    timestamp: u64,
    remove_words: RemoveWords<'_>,
) -> Result<Removed, sqlx::Error> {
    let asks = count_asks(pool).await?;
    let events = remove_events_before(pool, signed(timestamp)).await?;
    on!(pool, |pool| {
        let query = sqlx::query("DELETE FROM offered_tools WHERE last_at < $1");
        query.bind(signed(timestamp)).execute(pool).await?;
    });
    let asks = asks.saturating_sub(count_asks(pool).await?);
    let gaps = expire(pool, remove_words).await?;
    Ok(Removed { events, asks, gaps })
}

async fn remove_events_before(pool: &Pool, timestamp: i64) -> Result<u64, sqlx::Error> {
    let oldest = "DELETE FROM events WHERE id IN \
                  (SELECT id FROM events WHERE at < $1 ORDER BY at LIMIT $2)";
    let mut removed = 0;
    loop {
        let mut tx = pool.write().await?;
        let step = on!(&mut tx, |tx| {
            let query = sqlx::query(oldest).bind(timestamp).bind(STEP);
            query.execute(&mut **tx).await?.rows_affected()
        });
        tx.commit().await?;
        removed += step;
        if step == 0 {
            return Ok(removed);
        }
    }
}

async fn count_asks(pool: &Pool) -> Result<u64, sqlx::Error> {
    let count: i64 = on!(pool, |pool| {
        sqlx::query_scalar("SELECT count(*) FROM asks").fetch_one(pool).await?
    });
    Ok(count.unsigned_abs())
}

async fn expire(pool: &Pool, remove_words: RemoveWords<'_>) -> Result<u64, sqlx::Error> {
    let mut removed = 0;
    for project_id in pages::projects(pool).await? {
        let mut tx = pool.write().await?;
        let before = gap::lock_all(&mut tx, &project_id).await?;
        let left = wordings(&mut tx, &project_id).await?;
        let mut after = before.clone();
        remove_words(&mut after, &[], &left);
        removed += gap::save(&mut tx, &before, &after).await?;
        tx.commit().await?;
    }
    Ok(removed)
}
