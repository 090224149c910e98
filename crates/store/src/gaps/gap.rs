//! Gaps, and the asks that were assigned to them.

use std::collections::HashMap;

use kenning_gaps::ask::AskKind;
use kenning_gaps::gap::Status;
use kenning_gaps::list::Standing;
use kenning_gaps::ports::{Call, StoredAsk};
use kenning_gaps::{Error, Gap};
use sqlx::QueryBuilder;

use super::{Refusal, signed, storable, unreadable, unsigned};
use crate::engine::{Lock, Pool, Tx, from_row, on};

/// Ids per statement.
const IDS: usize = 1_000;

type GapRow = (String, Vec<u8>);

pub(super) async fn all(pool: &Pool, project_id: Option<&str>) -> Result<Vec<Gap>, sqlx::Error> {
    let rows: Vec<GapRow> = on!(pool, |pool| {
        let mut query = QueryBuilder::new("SELECT body, centroid FROM gaps");
        if let Some(project_id) = project_id {
            query.push(" WHERE project_id = ").push_bind(storable(project_id));
        }
        query.push(" ORDER BY id");
        query.build_query_as().fetch_all(pool).await?
    });
    rows.into_iter().map(read).collect()
}

pub(super) async fn one(pool: &Pool, id: &str) -> Result<Option<Gap>, sqlx::Error> {
    let row: Option<GapRow> = on!(pool, |pool| {
        let query = sqlx::query_as("SELECT body, centroid FROM gaps WHERE id = $1");
        query.bind(storable(id)).fetch_optional(pool).await?
    });
    row.map(read).transpose()
}

/// Reads all gaps of a project, and locks them until the end of the transaction.
pub(super) async fn lock_all(tx: &mut Tx<'_>, project_id: &str) -> Result<Vec<Gap>, sqlx::Error> {
    let project_id = storable(project_id);
    tx.lock(Lock::GapsOf(&project_id)).await?;
    let rows: Vec<GapRow> = on!(tx, |tx| {
        let query = "SELECT body, centroid FROM gaps WHERE project_id = $1 ORDER BY id";
        sqlx::query_as(query).bind(&*project_id).fetch_all(&mut **tx).await?
    });
    rows.into_iter().map(read).collect()
}

pub(super) async fn change(
    pool: &Pool,
    project_id: &str,
    change: &mut dyn FnMut(&mut Vec<Gap>) -> Result<(), Error>,
) -> Result<(), Refusal> {
    let mut tx = pool.write_durably().await?;
    let before = lock_all(&mut tx, project_id).await?;
    let mut after = before.clone();
    change(&mut after)?;
    save(&mut tx, &before, &after).await?;
    Ok(tx.commit().await?)
}

/// Writes the gaps that changed and deletes those that are gone; returns how many were deleted.
pub(super) async fn save(
    tx: &mut Tx<'_>,
    before: &[Gap],
    after: &[Gap],
) -> Result<u64, sqlx::Error> {
    let known: HashMap<&str, &Gap> = before.iter().map(|gap| (gap.id.as_str(), gap)).collect();
    for gap in after.iter().filter(|gap| known.get(gap.id.as_str()) != Some(gap)) {
        write(tx, gap).await?;
    }
    let kept: HashMap<&str, &Gap> = after.iter().map(|gap| (gap.id.as_str(), gap)).collect();
    let mut removed = 0;
    for gap in before.iter().filter(|gap| !kept.contains_key(gap.id.as_str())) {
        removed += on!(&mut *tx, |tx| {
            let query = sqlx::query("DELETE FROM gaps WHERE id = $1").bind(&gap.id);
            query.execute(&mut **tx).await?.rows_affected()
        });
    }
    Ok(removed)
}

async fn write(tx: &mut Tx<'_>, gap: &Gap) -> Result<(), sqlx::Error> {
    let centroid: Vec<u8> = gap.centroid.iter().flat_map(|value| value.to_le_bytes()).collect();
    let body = Gap { centroid: Vec::new(), ..gap.clone() };
    let body = serde_json::to_string(&body).map_err(|error| sqlx::Error::Encode(error.into()))?;
    let into = match &gap.status {
        Status::Merged { into, .. } => into.as_str(),
        _ => "",
    };
    on!(tx, |tx| {
        let query = sqlx::query(
            "INSERT INTO gaps (id, project_id, body, centroid, standing, kind, by_name, asked, \
             requests, last_asked, merged_into) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) \
             ON CONFLICT (id) DO UPDATE SET project_id = excluded.project_id, \
             body = excluded.body, centroid = excluded.centroid, standing = excluded.standing, \
             kind = excluded.kind, by_name = excluded.by_name, asked = excluded.asked, \
             requests = excluded.requests, last_asked = excluded.last_asked, \
             merged_into = excluded.merged_into",
        );
        let query = query.bind(&gap.id).bind(storable(&gap.project_id)).bind(body).bind(centroid);
        let query = query.bind(Standing::of(&gap.status).name()).bind(gap.kind.name());
        let query = query.bind(i64::from(gap.requests > 0)).bind(signed(gap.asks));
        let query = query.bind(signed(gap.requests)).bind(signed(gap.last_asked));
        query.bind(storable(into)).execute(&mut **tx).await?;
    });
    Ok(())
}

fn read((body, centroid): GapRow) -> Result<Gap, sqlx::Error> {
    let mut gap: Gap = serde_json::from_str(&body).map_err(unreadable)?;
    let values = centroid.chunks_exact(4).filter_map(|bytes| bytes.try_into().ok());
    gap.centroid = values.map(f32::from_le_bytes).collect();
    Ok(gap)
}

pub(super) struct AskRow {
    gap_id: String,
    kind: String,
    tool: String,
    text: String,
    at: i64,
    project_id: String,
    call_id: String,
    who: String,
}

from_row!(AskRow { gap_id, kind, tool, text, at, project_id, call_id, who });

/// The columns of [`AskRow`].
macro_rules! ask_columns {
    () => {
        "a.gap_id, a.kind, a.tool, a.text, a.at, a.project_id, e.call_id, e.who"
    };
}
pub(super) use ask_columns;

impl From<AskRow> for StoredAsk {
    fn from(row: AskRow) -> Self {
        let AskRow { gap_id, kind, tool, text, at, project_id, call_id, who } = row;
        let user = (!who.is_empty()).then_some(who);
        Self {
            gap_id,
            kind: AskKind::named(&kind).unwrap_or(AskKind::Miss),
            tool,
            text,
            at: unsigned(at),
            call: Call { project_id, call_id, user },
        }
    }
}

pub(super) async fn asks(
    pool: &Pool,
    gap_ids: &[String],
    limit: usize,
) -> Result<Vec<StoredAsk>, sqlx::Error> {
    let mut found: Vec<StoredAsk> = Vec::new();
    let limit_of_rows = signed(limit as u64);
    for ids in gap_ids.chunks(IDS) {
        let rows: Vec<AskRow> = on!(pool, |pool| {
            let mut query = QueryBuilder::new(concat!(
                "SELECT ",
                ask_columns!(),
                " FROM asks a JOIN events e ON e.id = a.event_id WHERE a.gap_id IN (",
            ));
            let mut list = query.separated(", ");
            for id in ids {
                list.push_bind(storable(id));
            }
            query.push(") ORDER BY a.at DESC, a.id DESC LIMIT ").push_bind(limit_of_rows);
            query.build_query_as().persistent(false).fetch_all(pool).await?
        });
        found.extend(rows.into_iter().map(StoredAsk::from));
    }
    found.sort_by_key(|ask| std::cmp::Reverse(ask.at));
    found.truncate(limit);
    Ok(found)
}
