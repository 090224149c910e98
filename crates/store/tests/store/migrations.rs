//! The record of applied migrations.

use kenning_testkit::Postgres;
use sqlx::{Connection, SqliteConnection};

use crate::fixture::Fixture;

/// Version, description and checksum of each applied migration.
fn recorded(fixture: &Fixture) -> String {
    if fixture.is_postgres() {
        let all = "SELECT version, description, encode(checksum, 'hex') FROM _sqlx_migrations \
                   ORDER BY version";
        return Postgres::shared().query(&fixture.location, all);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let lines: Vec<String> = runtime.block_on(async {
        let file = format!("sqlite://{}/kenning.db", fixture.location);
        let mut connection = SqliteConnection::connect(&file).await.unwrap();
        let all = "SELECT version || '|' || description || '|' || lower(hex(checksum)) \
                   FROM _sqlx_migrations ORDER BY version";
        sqlx::query_scalar(all).fetch_all(&mut connection).await.unwrap()
    });
    lines.join("\n")
}

/// A store that an earlier program migrated is refused if one of these lines changes. They were read
/// from databases that a program with `sqlx::migrate!` had migrated; a new migration adds a line.
pub(crate) fn records_what_earlier_programs_recorded(fixture: &Fixture) {
    let earlier = if fixture.is_postgres() {
        include_str!("recorded_migrations/postgres.txt")
    } else {
        include_str!("recorded_migrations/sqlite.txt")
    };
    drop(fixture.store());
    assert_eq!(recorded(fixture), earlier.trim_end());
}
