//! The registry on both databases.

mod agents;
mod concurrency;
mod contract;
mod crash;
mod find;
mod fixture;
mod hostile;
mod sync;
mod transfer;
mod watch;

on_both_databases! {
    // The contract's own checklist.
    contract::register_single_capability,
    contract::register_multiple_capabilities,
    contract::update_existing_capability,
    contract::activate_and_deactivate_capability,
    contract::query_capabilities_with_all_filters,
    contract::list_all_capabilities_grouped_by_skill,
    contract::errors_have_the_flat_form,
    contract::a_thousand_capabilities_in_one_call_are_registered_and_updated_whole,
    contract::foreign_key_cascades_when_an_agent_is_removed,
    concurrency::concurrent_registration_of_the_same_skills,
    // What predecessors got wrong.
    contract::list_all_capabilities_grouped_by_agent,
    contract::a_request_is_all_or_nothing,
    contract::versions_order_as_versions,
    contract::pages_follow_each_other,
    agents::agents_are_added_listed_renamed_and_removed,
    agents::conditional_changes_need_the_current_revision,
    concurrency::ten_processes_migrate_once,
    concurrency::concurrent_changes_to_different_agents,
    crash::killed_in_the_middle_of_a_registration,
    hostile::names_that_look_like_sql_are_names,
    hostile::refuses_what_cannot_be_stored,
    hostile::passwords_are_never_shown,
    watch::notifies_of_changes_by_other_processes,
    watch::lists_skills_that_changed_since_a_time,
    transfer::export_and_import_between_the_databases,
    transfer::an_import_is_all_or_nothing,
    transfer::an_import_keeps_existing_rows,
    sync::registers_updates_and_deactivates_folders,
    find::finds_skills_by_words,
    find::finds_skills_by_meaning,
}
