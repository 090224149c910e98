//! A page of many gaps: filtered, ordered and counted by the database.

use kenning_gaps::Gap;
use kenning_gaps::list::Standing;
use kenning_gaps::ports::{GapPage, GapQuery, Order};
use sqlx::QueryBuilder;

use super::{signed, storable, unreadable, unsigned};
use crate::engine::{Pool, on};

/// Adds the filters to a query.
macro_rules! push_filter {
    ($query:expr, $wanted:expr) => {{
        if let Some(project_id) = $wanted.project_id {
            $query.push(" AND g.project_id = ").push_bind(storable(project_id));
        }
        if $wanted.standing != Standing::All {
            $query.push(" AND g.standing = ").push_bind($wanted.standing.name());
        }
        if let Some(kind) = $wanted.kind {
            $query.push(" AND g.kind = ").push_bind(kind.name());
        }
    }};
}

fn order(order: Order) -> &'static str {
    match order {
        Order::Rank => {
            " ORDER BY g.by_name DESC, g.asked DESC, g.requests DESC, g.last_asked DESC, g.id"
        }
        Order::Newest => " ORDER BY g.last_asked DESC, g.id",
    }
}

/// Selects the ids from an index, and reads only the bodies of the page.
pub(super) async fn page(pool: &Pool, wanted: &GapQuery<'_>) -> Result<GapPage, sqlx::Error> {
    let total: i64 = on!(pool, |pool| {
        let mut query = QueryBuilder::new("SELECT count(*) FROM gaps g WHERE 1 = 1");
        push_filter!(query, wanted);
        query.build_query_scalar().fetch_one(pool).await?
    });
    let bodies: Vec<String> = on!(pool, |pool| {
        let mut query = QueryBuilder::new(
            "SELECT g.body FROM gaps g WHERE g.id IN (SELECT g.id FROM gaps g WHERE 1 = 1",
        );
        push_filter!(query, wanted);
        query.push(order(wanted.order));
        query.push(" LIMIT ").push_bind(signed(wanted.limit as u64));
        query.push(" OFFSET ").push_bind(signed(wanted.offset as u64));
        query.push(")").push(order(wanted.order));
        query.build_query_scalar().fetch_all(pool).await?
    });
    let total = usize::try_from(unsigned(total)).unwrap_or(usize::MAX);
    Ok(GapPage { gaps: read(&bodies)?, total })
}

pub(super) async fn projects(pool: &Pool) -> Result<Vec<String>, sqlx::Error> {
    on!(pool, |pool| {
        let query = "SELECT DISTINCT project_id FROM gaps ORDER BY project_id";
        sqlx::query_scalar(query).fetch_all(pool).await
    })
}

pub(super) async fn merged_into(pool: &Pool, id: &str) -> Result<Vec<Gap>, sqlx::Error> {
    let bodies: Vec<String> = on!(pool, |pool| {
        // The second condition is that of the partial index.
        let query =
            "SELECT body FROM gaps WHERE merged_into = $1 AND merged_into <> '' ORDER BY id";
        sqlx::query_scalar(query).bind(storable(id)).fetch_all(pool).await?
    });
    read(&bodies)
}

fn read(bodies: &[String]) -> Result<Vec<Gap>, sqlx::Error> {
    bodies.iter().map(|body| serde_json::from_str(body).map_err(unreadable)).collect()
}
