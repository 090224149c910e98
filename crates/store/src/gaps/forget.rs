//! What must not be kept is removed.

use kenning_gaps::ports::{KeptAsk, Mend, Removed, Wording};

use super::book::{self, AskRow, ask_columns};
use super::{signed, storable};
use crate::engine::{Pool, Work, on};

/// Rows removed in one go, so that nobody waits for long.
const STEP: i64 = 5_000;

/// Whether `e` is an event of the user `$1`; `$2` is the same as an e-mail address.
macro_rules! by_user {
    () => {
        "(e.user_id = $1 OR lower(e.user_email) = $2 OR (e.user_id IS NULL \
         AND e.user_email IS NULL AND (e.batch_user_id = $1 OR lower(e.batch_user_email) = $2)))"
    };
}

pub(super) async fn user(pool: &Pool, user: &str, mend: Mend<'_>) -> Result<Removed, sqlx::Error> {
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
        let mut work = pool.write_durably().await?;
        let before = book::take(&mut work, &project_id).await?;
        let gone = asks_of(&mut work, &project_id, &user, &email).await?;
        removed.events += remove_events(&mut work, &project_id, &user, &email).await?;
        removed.asks += gone.len() as u64;
        let left = words(&mut work, &project_id).await?;
        let mut after = before.clone();
        mend(&mut after, &gone, &left);
        removed.gaps += book::put(&mut work, &before, &after).await?;
        work.commit().await?;
    }
    Ok(removed)
}

async fn asks_of(
    work: &mut Work<'_>,
    project_id: &str,
    user: &str,
    email: &str,
) -> Result<Vec<KeptAsk>, sqlx::Error> {
    let rows: Vec<AskRow> = on!(work, |work| {
        let query = sqlx::query_as(concat!(
            "SELECT ",
            ask_columns!(),
            " FROM asks a JOIN events e ON e.id = a.event_id WHERE e.project_id = $3 AND ",
            by_user!(),
        ));
        query.bind(user).bind(email).bind(project_id).fetch_all(&mut **work).await?
    });
    Ok(rows.into_iter().map(KeptAsk::from).collect())
}

/// Removes the user's events, and the user's names from those of others.
async fn remove_events(
    work: &mut Work<'_>,
    project_id: &str,
    user: &str,
    email: &str,
) -> Result<u64, sqlx::Error> {
    on!(work, |work| {
        let query = sqlx::query(concat!(
            "DELETE FROM events AS e WHERE e.project_id = $3 AND ",
            by_user!()
        ));
        let query = query.bind(user).bind(email).bind(project_id);
        let removed = query.execute(&mut **work).await?.rows_affected();
        let query = sqlx::query(
            "UPDATE events SET batch_user_id = NULL, batch_user_email = NULL \
             WHERE project_id = $3 AND (batch_user_id = $1 OR lower(batch_user_email) = $2)",
        );
        query.bind(user).bind(email).bind(project_id).execute(&mut **work).await?;
        Ok(removed)
    })
}

/// How the project's gaps were asked for, in all asks that are kept.
async fn words(work: &mut Work<'_>, project_id: &str) -> Result<Vec<Wording>, sqlx::Error> {
    let rows: Vec<(String, String)> = on!(work, |work| {
        let query = "SELECT DISTINCT gap_id, text FROM asks WHERE project_id = $1";
        sqlx::query_as(query).bind(project_id).fetch_all(&mut **work).await?
    });
    Ok(rows.into_iter().map(|(gap_id, text)| Wording { gap_id, text }).collect())
}

pub(super) async fn before(
    pool: &Pool,
    timestamp: u64,
    mend: Mend<'_>,
) -> Result<Removed, sqlx::Error> {
    let asks = count_asks(pool).await?;
    let events = "DELETE FROM events WHERE id IN \
                  (SELECT id FROM events WHERE at < $1 ORDER BY at LIMIT $2)";
    let misses = "DELETE FROM misses WHERE id IN \
                  (SELECT id FROM misses WHERE asked_at < $1 ORDER BY asked_at LIMIT $2)";
    let removed = in_steps(pool, events, signed(timestamp)).await?;
    in_steps(pool, misses, signed(timestamp.div_ceil(1_000))).await?;
    on!(pool, |pool| {
        let query = sqlx::query("DELETE FROM offered_tools WHERE last_at < $1");
        query.bind(signed(timestamp)).execute(pool).await?;
    });
    let asks = asks.saturating_sub(count_asks(pool).await?);
    let gaps = expire(pool, mend).await?;
    Ok(Removed { events: removed, asks, gaps })
}

async fn in_steps(
    pool: &Pool,
    statement: &'static str,
    timestamp: i64,
) -> Result<u64, sqlx::Error> {
    let mut removed = 0;
    loop {
        let mut work = pool.write().await?;
        let step = on!(&mut work, |work| {
            let query = sqlx::query(statement).bind(timestamp).bind(STEP);
            query.execute(&mut **work).await?.rows_affected()
        });
        work.commit().await?;
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

async fn expire(pool: &Pool, mend: Mend<'_>) -> Result<u64, sqlx::Error> {
    let projects: Vec<String> = on!(pool, |pool| {
        let query = "SELECT DISTINCT project_id FROM gaps ORDER BY project_id";
        sqlx::query_scalar(query).fetch_all(pool).await?
    });
    let mut removed = 0;
    for project_id in projects {
        let mut work = pool.write().await?;
        let before = book::take(&mut work, &project_id).await?;
        let left = words(&mut work, &project_id).await?;
        let mut after = before.clone();
        mend(&mut after, &[], &left);
        removed += book::put(&mut work, &before, &after).await?;
        work.commit().await?;
    }
    Ok(removed)
}
