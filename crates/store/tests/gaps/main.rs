//! Gaps on both databases: every story below runs on `SQLite` and on `PostgreSQL`.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]

mod crash;
mod fixture;
mod forgetting;
mod hearing;
mod life;
mod log;
mod many;
mod pages;
mod people;
mod usage;

macro_rules! stories {
    ($($chapter:ident::$story:ident,)*) => {
        mod sqlite {
            $(#[test] fn $story() { crate::$chapter::$story(&crate::fixture::Fixture::sqlite()); })*
        }
        mod postgres {
            $(#[test] fn $story() { crate::$chapter::$story(&crate::fixture::Fixture::postgres()); })*
        }
    };
}

stories! {
    log::a_batch_that_comes_twice_is_kept_once,
    log::events_come_back_as_they_were,
    log::windows_and_projects,
    log::an_outline_has_the_same_sessions_and_asks,
    log::tools_that_were_offered,
    log::ingest_takes_what_can_be_read,
    many::overlapping_batches_at_once,
    many::many_digest_and_each_ask_is_heard_once,
    many::changes_at_once_lose_no_ask,
    crash::killed_in_the_middle_of_ingest,
    hearing::a_request_becomes_a_gap,
    hearing::a_failure_counts_when_its_session_is_over,
    hearing::misses_are_gaps_too,
    hearing::a_digest_that_fails_hears_later,
    hearing::a_gap_is_shown_with_its_sessions,
    hearing::the_report_is_that_of_the_contract,
    life::gaps_come_back_as_they_were,
    life::what_is_new_closes_gaps,
    pages::pages_are_what_sorting_all_would_give,
    pages::older_gaps_are_listed_too,
    people::gaps_are_closed_muted_and_reopened,
    people::a_merge_loses_no_ask,
    people::what_makes_no_sense_is_refused,
    people::proposals_are_decided_once,
    forgetting::a_user_is_forgotten,
    forgetting::a_user_of_merged_gaps_is_forgotten,
    forgetting::what_is_old_goes_and_gaps_stay,
    usage::nodes_are_counted_by_day,
}

/// Not a test by itself: [`crash`] runs it in a process of its own, and kills that.
#[test]
fn child() {
    crash::child();
}
