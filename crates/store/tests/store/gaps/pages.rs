//! Pages of gaps equal those of sorting all gaps in memory.

use kenning_gaps::Gap;
use kenning_gaps::ask::AskKind;
use kenning_gaps::gap::{Evidence, Status};
use kenning_gaps::list::Standing;
use kenning_gaps::ports::{GapQuery, GapStore, Order};
use kenning_store::Store;
use kenning_testkit::Postgres;
use sqlx::{Connection, SqliteConnection};

use super::fixture::NOW;
use crate::fixture::Fixture;

const KINDS: [AskKind; 4] = [AskKind::Explicit, AskKind::Unmet, AskKind::Failed, AskKind::Miss];

fn status(number: u64) -> Status {
    let at = NOW;
    match number % 7 {
        0 => Status::Closed {
            at,
            evidence: Evidence::Person {
                name: "Ada".to_owned(),
                note: "quoted \" and 'so'".to_owned(),
            },
        },
        1 => Status::Muted { at },
        2 => Status::Merged { at, into: "g-000".to_owned() },
        3 => Status::Reopened { at, because: "state: open".to_owned() },
        _ => Status::Open,
    }
}

fn gap(number: u64) -> Gap {
    Gap {
        id: format!("g-{number:03}"),
        project_id: ["shop", "blog"][usize::try_from(number % 2).unwrap()].to_owned(),
        kind: KINDS[usize::try_from(number % 4).unwrap()],
        label: format!("wish {number}"),
        status: status(number),
        asks: number * 7 % 5,
        requests: number * 5 % 3,
        wordings: Vec::new(),
        first_asked: NOW,
        last_asked: NOW + number * 11 % 13,
        centroid: vec![0.5; 4],
    }
}

fn filled(fixture: &Fixture) -> (std::sync::Arc<Store>, Vec<Gap>) {
    let (store, all) = (fixture.store(), (0..60).map(gap).collect::<Vec<_>>());
    for project in ["shop", "blog"] {
        let of = all.iter().filter(|gap| gap.project_id == project);
        store
            .change_gaps(project, &mut |gaps| {
                gaps.extend(of.clone().cloned());
                Ok(())
            })
            .unwrap();
    }
    (store, all)
}

fn expected(all: &[Gap], wanted: &GapQuery<'_>) -> Vec<String> {
    let mut fits: Vec<&Gap> = all
        .iter()
        .filter(|gap| wanted.project_id.is_none_or(|project| gap.project_id == project))
        .filter(|gap| wanted.kind.is_none_or(|kind| gap.kind == kind))
        .filter(|gap| {
            wanted.standing == Standing::All || Standing::of(&gap.status) == wanted.standing
        })
        .collect();
    fits.sort_by_key(|gap| {
        let newest = std::cmp::Reverse(gap.last_asked);
        let rank = match wanted.order {
            Order::Rank => (gap.requests > 0, gap.asks, gap.requests),
            Order::Newest => (false, 0, 0),
        };
        (std::cmp::Reverse(rank), newest, gap.id.clone())
    });
    fits.into_iter().map(|gap| gap.id.clone()).collect()
}

fn check(store: &Store, all: &[Gap], wanted: &GapQuery<'_>) {
    let expected = expected(all, wanted);
    let page = store.gap_page(wanted).unwrap();
    assert_eq!(page.total, expected.len(), "{wanted:?}");
    let ids: Vec<&str> = page.gaps.iter().map(|gap| gap.id.as_str()).collect();
    let shown: Vec<&str> =
        expected.iter().skip(wanted.offset).take(wanted.limit).map(String::as_str).collect();
    assert_eq!(ids, shown, "{wanted:?}");
}

fn check_all(store: &Store, all: &[Gap]) {
    use Standing::{All, Closed, Merged, Muted, Open};
    for standing in [Open, Closed, Muted, Merged, All] {
        for project_id in [None, Some("shop"), Some("nowhere")] {
            for kind in [None, Some(AskKind::Failed)] {
                for (order, offset) in [(Order::Rank, 0), (Order::Rank, 7), (Order::Newest, 0)] {
                    let wanted = GapQuery { project_id, standing, kind, order, offset, limit: 10 };
                    check(store, all, &wanted);
                }
            }
        }
    }
}

pub(crate) fn pages_are_what_sorting_all_would_give(fixture: &Fixture) {
    let (store, all) = filled(fixture);
    check_all(&store, &all);
    assert_eq!(store.projects().unwrap(), ["blog", "shop"]);
    let merged = store.merged_into("g-000").unwrap();
    assert!(merged.len() > 5 && merged.iter().all(|gap| gap.status.name() == "merged"));
    assert_eq!(store.merged_into("").unwrap(), [], "an unmerged gap has no target");
}

/// Gaps that were stored before migration 6.
pub(crate) fn fills_the_rank_columns_of_older_gaps(fixture: &Fixture) {
    let (store, all) = filled(fixture);
    let blank = "UPDATE gaps SET standing = 'open', kind = '', by_name = 0, asked = 0, \
                 requests = 0, last_asked = 0, merged_into = ''";
    run(fixture, blank);
    let migration = if fixture.is_postgres() {
        include_str!("../../../migrations/postgres/0006_gaps_by_rank.sql")
    } else {
        include_str!("../../../migrations/sqlite/0006_gaps_by_rank.sql")
    };
    let statement = migration.split(';').find(|part| part.contains("UPDATE gaps")).unwrap();
    let statement: Vec<&str> = statement.lines().filter(|line| !line.starts_with("--")).collect();
    run(fixture, &statement.join("\n"));
    check_all(&store, &all);
    assert!(!store.merged_into("g-000").unwrap().is_empty());
}

pub(crate) fn run(fixture: &Fixture, statement: &str) {
    if fixture.is_postgres() {
        Postgres::shared().query(&fixture.location, statement);
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let file = format!("sqlite://{}/kenning.db", fixture.location);
        let mut connection = SqliteConnection::connect(&file).await.unwrap();
        let statement = sqlx::AssertSqlSafe(statement.to_owned());
        sqlx::query(statement).execute(&mut connection).await.unwrap();
    });
}
