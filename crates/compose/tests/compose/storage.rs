//! Stored versions: queries, cleanup, expiry, deletion; and the lists of configs.

use std::collections::BTreeSet;

use kenning_compose::config::{Origin, Retrieval};
use kenning_compose::delete::DeleteRequest;
use kenning_compose::list::{ListFilter, ListRequest, Sort};
use kenning_compose::storage::{CleanupFilter, CleanupRequest, QueryRequest, Retention, kept};
use kenning_compose::{Limits, Timestamp};
use proptest::prelude::*;
use serde_json::json;

use crate::fixture::{Fixture, artifact, code, fixture, limited};

/// Generates one version of a content for each day.
fn with_days(fixture: &Fixture, id: &str, days: usize) -> Vec<String> {
    let mut versions = Vec::new();
    for day in 0..days {
        fixture.template(id, &format!("day {day}"));
        versions.push(fixture.generate(id, json!({})).unwrap().version);
        fixture.clock.pass_days(1);
    }
    versions
}

fn query(fixture: &Fixture, id: Option<&str>, retrieval: &str) -> Vec<String> {
    let request = QueryRequest {
        content_id: id.map(str::to_owned),
        retrieval: Retrieval::parse(retrieval).unwrap(),
        include_content: true,
        ..QueryRequest::default()
    };
    let found = fixture.compose.query_ephemeral_storage(&request).unwrap();
    found.versions.into_iter().map(|version| version.shown.unwrap().content).collect()
}

#[test]
fn finds_versions_by_name_and_time() {
    let fixture = fixture();
    let versions = with_days(&fixture, "c", 3);
    fixture.template("d", "other");
    fixture.generate("d", json!({})).unwrap();
    assert_eq!(query(&fixture, Some("c"), "latest"), ["day 2"]);
    assert_eq!(query(&fixture, Some("c"), "all"), ["day 2", "day 1", "day 0"]);
    assert_eq!(query(&fixture, Some("c"), &format!("version:{}", versions[1])), ["day 1"]);
    assert_eq!(query(&fixture, Some("c"), "timestamp:2025-12-28"), ["day 1"]);
    assert_eq!(query(&fixture, Some("c"), "timestamp:2025-12-2"), ["day 2", "day 1", "day 0"]);
    assert_eq!(query(&fixture, None, "latest"), ["day 2", "other"]);
    let query_with = |request: QueryRequest| fixture.compose.query_ephemeral_storage(&request);
    let some =
        query_with(QueryRequest { retrieval: Retrieval::All, limit: 2, ..QueryRequest::default() });
    let some = some.unwrap();
    assert_eq!((some.versions.len(), some.total, some.contents), (2, 4, 2));
    let of = |id: &str| QueryRequest { content_id: Some(id.to_owned()), ..QueryRequest::default() };
    assert_eq!(code(query_with(of("unknown"))), "CONFIG_NOT_FOUND");
    assert_eq!(code(query_with(of("../c"))), "INVALID_ID");
    for limit in [0, 501] {
        let request = QueryRequest { limit, ..QueryRequest::default() };
        assert_eq!(code(query_with(request)), "INVALID_ARGUMENT");
    }
    for version in ["../../x", "a/b", ""] {
        let retrieval = Retrieval::Version(version.to_owned());
        assert_eq!(code(query_with(QueryRequest { retrieval, ..of("c") })), "INVALID_ARGUMENT");
    }
}

#[test]
fn cleanup_keeps_what_any_rule_keeps() {
    let fixture = fixture();
    let versions = with_days(&fixture, "c", 20);
    with_days(&fixture, "d-other", 2);
    let request = |keep_versions, keep_days, keep_latest, dry_run| CleanupRequest {
        retention: Retention { keep_versions, keep_days, keep_latest },
        filter: CleanupFilter { prefix: Some("c".to_owned()), content_id: None },
        dry_run,
    };
    let pinned = json!([{"id": "c", "retrievalStrategy": format!("version:{}", versions[4])}]);
    fixture.put(&artifact("a", "concat", pinned));
    let dry = fixture.compose.cleanup_ephemeral(&request(3, 7, true, true)).unwrap();
    assert_eq!(fixture.versions("c").len(), 20);
    let real = fixture.compose.cleanup_ephemeral(&request(3, 7, true, false)).unwrap();
    assert_eq!(dry.removed, real.removed);
    let left = fixture.versions("c");
    assert!(left.contains(&versions[4]), "an artifact names it");
    assert!(left.len() == real.kept_count && left.len() > 3 && left.len() < 20);
    assert_eq!(fixture.versions("d-other").len(), 2);
    fixture.compose.cleanup_ephemeral(&request(0, 0, true, false)).unwrap();
    assert_eq!(fixture.versions("c"), [versions[4].clone(), versions[19].clone()]);
    fixture.compose.cleanup_ephemeral(&request(0, 0, false, false)).unwrap();
    assert_eq!(fixture.versions("c"), [versions[4].clone()]);
}

proptest! {
    #[test]
    fn keeps_a_version_exactly_if_a_rule_keeps_it(
        ages in proptest::collection::vec(0i64..40 * 24, 0..30),
        keep_versions in 0usize..10,
        keep_days in 0u32..40,
        keep_latest in any::<bool>(),
        pins in proptest::collection::vec(any::<prop::sample::Index>(), 0..3),
    ) {
        let now = Timestamp(1_766_829_600_000);
        let mut times: Vec<i64> = ages.iter().map(|hours| now.0 - hours * 3_600_000).collect();
        times.sort_unstable();
        let name = |(n, time): (usize, &i64)| {
            format!("{}-{n:06}", Timestamp(*time).to_string().replace([':', '.'], "-"))
        };
        let versions: Vec<String> = times.iter().enumerate().map(name).collect();
        let pins = pins.iter().filter(|_| !versions.is_empty());
        let pinned: BTreeSet<String> = pins.map(|pin| pin.get(&versions).clone()).collect();
        let retention = Retention { keep_versions, keep_days, keep_latest };
        let found = kept(&versions, &retention, now, &|version| pinned.contains(version));
        for (n, version) in versions.iter().enumerate() {
            let newer = versions.len() - 1 - n;
            let young = now.0 - times[n] <= i64::from(keep_days) * 86_400_000;
            let expected = newer < keep_versions
                || (keep_latest && newer == 0)
                || (keep_days > 0 && young)
                || pinned.contains(version);
            prop_assert_eq!(found.contains(version), expected, "{}", version);
        }
    }
}

#[test]
fn saving_a_version_removes_expired_ones() {
    let fixture = limited(Limits { ephemeral_retention_days: 5, ..Limits::default() });
    let versions = with_days(&fixture, "c", 10);
    // The last was saved on day 9, which removed versions older than five days.
    assert_eq!(fixture.versions("c"), versions[4..]);
    fixture.clock.pass_days(100);
    fixture.generate("c", json!({"new": 1})).unwrap();
    assert_eq!(fixture.versions("c").len(), 1);
}

#[test]
fn expiry_keeps_versions_that_artifacts_name() {
    let fixture = limited(Limits { ephemeral_retention_days: 5, ..Limits::default() });
    let versions = with_days(&fixture, "c", 3);
    let day = fixture.compose.content("c", Some(&versions[1])).unwrap().created_at.to_string();
    let by_time = format!("timestamp:{}", &day[..10]);
    let named = json!([{"id": "c", "retrievalStrategy": format!("version:{}", versions[0])}]);
    fixture.put(&artifact("a", "concat", named));
    fixture.put(&artifact("b", "concat", json!([{"id": "c", "retrievalStrategy": by_time}])));
    fixture.clock.pass_days(100);
    fixture.generate("c", json!({"new": 1})).unwrap();
    let kept = fixture.versions("c");
    assert_eq!(kept[..2], versions[..2], "no artifact names the third");
    assert_eq!(kept.len(), 3);
    fixture.assemble("a").unwrap();
}

#[test]
fn deletes_contents_of_artifacts_only_when_forced() {
    let fixture = fixture();
    with_days(&fixture, "c", 2);
    fixture.put(&artifact("a", "concat", json!([{"id": "c"}])));
    let delete = |id: &str, preserve_metadata: bool, force: bool| {
        let content_id = id.to_owned();
        fixture.compose.delete_content(&DeleteRequest { content_id, preserve_metadata, force })
    };
    let error = delete("c", false, false).unwrap_err();
    assert_eq!(error.code().as_str(), "CONTENT_REFERENCED");
    assert_eq!(error.details()["referenced_by"], json!(["a"]));
    let kept = delete("c", true, true).unwrap();
    assert_eq!((kept.versions_deleted, kept.referenced_by.as_slice()), (2, &["a".to_owned()][..]));
    let found = fixture.compose.query_ephemeral_storage(&QueryRequest::default()).unwrap();
    assert!(found.versions[0].deleted);
    assert!(fixture.compose.content("c", None).unwrap().content.is_none());
    // A version without content is generated again.
    assert_eq!(fixture.text("c", json!({})), "day 1");
    assert_eq!(delete("c", false, true).unwrap().versions_deleted, 3);
    assert_eq!(code(delete("c", false, true)), "CONTENT_NOT_FOUND");
    assert_eq!(code(delete("unknown", false, false)), "CONFIG_NOT_FOUND");
    assert_eq!(code(delete("..", false, false)), "INVALID_ID");
    assert!(fixture.exists(".kenning/compose/content/c.json"), "its config stays");
}

#[test]
fn lists_filter_sort_and_limit() {
    let fixture = fixture();
    for id in ["zebra", "apple", "mango"] {
        fixture.template(id, id);
    }
    for id in ["mango", "zebra"] {
        fixture.generate(id, json!({})).unwrap();
        fixture.clock.pass_days(1);
    }
    let list = |filter: ListFilter, sort: Sort, limit: usize| {
        let listed = fixture.compose.list_content(&ListRequest { filter, sort, limit });
        listed.map(|listed| {
            let ids: Vec<String> = listed.content.into_iter().map(|one| one.id).collect();
            (ids.join(" "), listed.total)
        })
    };
    let own = || ListFilter { origin: Some(Origin::Workspace), ..ListFilter::default() };
    let not_generated = ListFilter { made: Some(false), ..own() };
    let text = ListFilter { text: Some("MANG".to_owned()), ..own() };
    for (filter, sort, limit, ids, total) in [
        (own(), Sort::Id, 100, "apple mango zebra", 3),
        (own(), Sort::Newest, 100, "zebra mango apple", 3),
        (own(), Sort::Oldest, 100, "mango zebra apple", 3),
        (own(), Sort::Id, 2, "apple mango", 3),
        (not_generated, Sort::Id, 100, "apple", 1),
        (text, Sort::Id, 100, "mango", 1),
    ] {
        assert_eq!(list(filter, sort, limit).unwrap(), (ids.to_owned(), total));
    }
    for limit in [0, 501] {
        assert_eq!(code(list(own(), Sort::Id, limit)), "INVALID_ARGUMENT");
    }
    fixture.put(&artifact("fruit", "concat", json!([{"id": "apple"}])));
    let request = ListRequest { filter: own(), ..ListRequest::default() };
    let listed = fixture.compose.list_artifacts(&request).unwrap();
    assert_eq!((listed.total, listed.artifacts[0].outputs.join(" ")), (1, "OUT.md".to_owned()));
    assert!(listed.artifacts[0].assembled_at.is_none());
    fixture.assemble("fruit").unwrap();
    let listed = fixture.compose.list_artifacts(&request).unwrap();
    assert!(listed.artifacts[0].assembled_at.is_some());
}
