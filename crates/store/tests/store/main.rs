//! Tests of the store; those of gaps and registry run on `SQLite` and on `PostgreSQL`.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]

/// Runs each function as a test on either database.
macro_rules! on_both_databases {
    ($($module:ident::$test:ident,)*) => {
        mod sqlite {
            $(#[test] fn $test() { super::$module::$test(&crate::fixture::Fixture::sqlite()); })*
        }
        mod postgres {
            $(#[test] fn $test() { super::$module::$test(&crate::fixture::Fixture::postgres()); })*
        }
    };
}

mod embeddings;
mod fixture;
mod gaps;
mod killed;
mod migrations;
mod open_read_only;
mod registry;
mod tokens;

on_both_databases! {
    embeddings::models_do_not_mix,
    embeddings::loads_many_keys_at_once,
    embeddings::several_processes_share_a_store,
    embeddings::exports_to_the_other_database,
    migrations::records_what_earlier_programs_recorded,
    tokens::are_found_listed_and_removed,
}
