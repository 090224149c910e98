//! Gaps on both databases.

mod concurrency;
mod crash;
mod decisions;
mod events;
mod extraction;
mod fixture;
mod forgetting;
mod lifecycle;
mod migration;
mod pages;
mod usage;

on_both_databases! {
    events::stores_a_repeated_batch_once,
    events::reads_events_as_they_were_written,
    events::filters_by_time_project_and_user,
    events::outlines_have_the_same_sessions_and_asks,
    events::lists_offered_tools,
    events::ingests_the_events_that_can_be_read,
    concurrency::overlapping_batches,
    concurrency::parallel_extraction_counts_each_ask_once,
    concurrency::parallel_changes_lose_no_update,
    crash::killed_in_the_middle_of_ingest,
    extraction::a_request_becomes_a_gap,
    extraction::a_failure_counts_when_its_session_is_over,
    extraction::a_miss_becomes_a_gap,
    extraction::a_failed_commit_is_repeated,
    extraction::shows_a_gap_with_its_sessions,
    extraction::reports_as_the_contract_says,
    lifecycle::reads_gaps_as_they_were_written,
    lifecycle::new_content_closes_gaps,
    migration::turns_misses_into_events,
    pages::pages_are_what_sorting_all_would_give,
    pages::fills_the_rank_columns_of_older_gaps,
    decisions::closes_mutes_and_reopens,
    decisions::a_merge_loses_no_ask,
    decisions::refuses_changes_that_make_no_sense,
    decisions::proposals_are_decided_once,
    forgetting::forgets_a_user,
    forgetting::forgets_a_user_of_merged_gaps,
    forgetting::forgets_old_calls_and_keeps_gaps,
    usage::counts_nodes_by_day,
}
