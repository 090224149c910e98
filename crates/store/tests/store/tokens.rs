//! Access tokens.

use kenning_store::TokenRecord;

use crate::fixture::Fixture;

fn token(id: &str, name: &str, project: Option<&str>) -> TokenRecord {
    TokenRecord {
        id: id.to_owned(),
        name: name.to_owned(),
        scope: "ingest".to_owned(),
        project: project.map(str::to_owned),
        hash: format!("hash of {id}"),
        created_at: 1_800_000_000_000,
    }
}

pub(crate) fn are_found_listed_and_removed(fixture: &Fixture) {
    let store = fixture.store();
    let (laptop, server) = (token("1a", "laptop", None), token("2b", "server", Some("shop")));
    for one in [&laptop, &server] {
        assert!(store.add_token(one).unwrap());
        assert_eq!(store.token(&one.id).unwrap().as_ref(), Some(one));
    }
    assert!(!store.add_token(&token("3c", "laptop", None)).unwrap(), "the name is taken");
    assert_eq!(store.tokens().unwrap(), [laptop, server.clone()]);
    assert!(store.revoke_token("laptop").unwrap());
    assert_eq!(store.tokens().unwrap(), [server]);
}
