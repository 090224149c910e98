//! The registry on both databases: every story below runs on `SQLite` and on `PostgreSQL`.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]

mod agents;
mod checklist;
mod crash;
mod find;
mod fixture;
mod hostile;
mod many;
mod others;
mod sync;
mod transfer;

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
    // The contract's own checklist.
    checklist::register_single_capability,
    checklist::register_multiple_capabilities,
    checklist::update_existing_capability,
    checklist::activate_and_deactivate_capability,
    checklist::query_capabilities_with_all_filters,
    checklist::list_all_capabilities_grouped_by_skill,
    checklist::errors_have_the_flat_form,
    checklist::performance_of_a_thousand_capabilities,
    checklist::foreign_key_cascades_when_an_agent_is_removed,
    many::concurrent_registration_of_the_same_skills,
    // What predecessors got wrong.
    checklist::list_all_capabilities_grouped_by_agent,
    checklist::a_request_is_all_or_nothing,
    checklist::versions_order_as_versions,
    checklist::pages_follow_each_other,
    agents::agents_are_added_listed_renamed_and_removed,
    agents::a_change_to_what_was_seen_and_nothing_later,
    many::ten_processes_make_the_tables_once,
    many::concurrent_changes_to_different_agents,
    crash::killed_in_the_middle_of_a_registration,
    hostile::names_that_look_like_sql_are_names,
    hostile::what_cannot_be_kept_is_refused,
    hostile::passwords_are_never_shown,
    others::a_change_by_another_process_is_told_of,
    others::what_is_new_is_told_from_what_was_there,
    others::the_other_tables_work_too,
    transfer::export_and_import_between_the_databases,
    transfer::an_import_is_all_or_nothing,
    transfer::an_import_keeps_what_is_there,
    sync::folders_are_registered_updated_and_deactivated,
    find::a_question_finds_who_can,
    find::meaning_finds_what_words_do_not,
}

/// Not a test by itself: [`crash`] runs it in a process of its own, and kills that.
#[test]
fn child() {
    crash::child();
}
