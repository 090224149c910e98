//! The migrations, embedded in the program.
//!
//! A store records the version and the checksum of each migration that was applied to it, and is
//! refused if one of them differs. So a migration that has landed is never edited.

use std::borrow::Cow;

use sqlx::SqlStr;
use sqlx::migrate::{Migration, MigrationType, Migrator};

/// One step of both databases.
struct Step {
    version: i64,
    description: &'static str,
    sqlite: &'static str,
    postgres: &'static str,
}

/// The step whose statements are in a file of this name, once for each database.
macro_rules! step {
    ($version:literal, $description:literal, $file:literal) => {
        Step {
            version: $version,
            description: $description,
            sqlite: include_str!(concat!("../migrations/sqlite/", $file)),
            postgres: include_str!(concat!("../migrations/postgres/", $file)),
        }
    };
}

/// In the order of their versions.
const STEPS: &[Step] = &[
    step!(1, "embeddings", "0001_embeddings.sql"),
    step!(2, "registry", "0002_registry.sql"),
    step!(3, "tokens", "0003_tokens.sql"),
    step!(4, "gaps", "0004_gaps.sql"),
    step!(5, "skills by change", "0005_skills_by_change.sql"),
    step!(6, "gaps by rank", "0006_gaps_by_rank.sql"),
    step!(7, "usage sums", "0007_usage_sums.sql"),
    step!(8, "skills from index", "0008_skills_from_index.sql"),
    step!(9, "misses are events", "0009_misses_are_events.sql"),
];

pub(crate) fn sqlite() -> Migrator {
    migrator(|step| step.sqlite)
}

pub(crate) fn postgres() -> Migrator {
    migrator(|step| step.postgres)
}

/// The version of the last migration.
pub(crate) fn latest() -> i64 {
    STEPS.last().map_or(0, |step| step.version)
}

fn migrator(sql: impl Fn(&Step) -> &'static str) -> Migrator {
    let migration = |step: &Step| {
        let (description, sql) = (Cow::Borrowed(step.description), SqlStr::from_static(sql(step)));
        // Each runs in a transaction, so that one that fails changes nothing.
        Migration::new(step.version, description, MigrationType::Simple, sql, false)
    };
    Migrator::with_migrations(STEPS.iter().map(migration).collect())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    type Comparable<'a> = (i64, &'a str, MigrationType, &'a [u8], bool);

    fn comparable(one: &Migration) -> Comparable<'_> {
        (one.version, &one.description, one.migration_type, &one.checksum, one.no_tx)
    }

    /// `sqlx` lists the folders, so that a file that is missing above fails here.
    #[tokio::test]
    async fn embeds_the_files_as_sqlx_reads_them() {
        for (ours, folder) in [(sqlite(), "sqlite"), (postgres(), "postgres")] {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations").join(folder);
            let files = std::fs::read_dir(&folder).unwrap().count();
            let theirs = Migrator::new(folder).await.unwrap();
            assert!(
                ours.iter().map(comparable).eq(theirs.iter().map(comparable)),
                "{ours:?} {theirs:?}"
            );
            assert_eq!(theirs.iter().count(), files, "sqlx ignores a file for its name");
            assert_eq!(ours.iter().map(|one| one.version).max(), Some(latest()));
        }
    }
}
