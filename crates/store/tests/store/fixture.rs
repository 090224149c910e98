//! A database for one test.

use std::sync::Arc;

use kenning_store::{Location, Store};
use kenning_testkit::Postgres;
use tempfile::TempDir;

pub(crate) struct Fixture {
    pub(crate) location: String,
    /// Removed with the fixture.
    _folder: Option<TempDir>,
}

impl Fixture {
    pub(crate) fn sqlite() -> Self {
        let folder = TempDir::new().unwrap();
        Self { location: folder.path().to_str().unwrap().to_owned(), _folder: Some(folder) }
    }

    pub(crate) fn postgres() -> Self {
        Self { location: Postgres::shared().database(), _folder: None }
    }

    /// A fixture on the other database.
    pub(crate) fn other(&self) -> Self {
        if self.is_postgres() { Self::sqlite() } else { Self::postgres() }
    }

    /// A second fixture on the same database.
    pub(crate) fn another(&self) -> Self {
        if self.is_postgres() { Self::postgres() } else { Self::sqlite() }
    }

    pub(crate) fn is_postgres(&self) -> bool {
        self.location.starts_with("postgres:")
    }

    pub(crate) fn store(&self) -> Arc<Store> {
        open(&self.location)
    }
}

pub(crate) fn open(location: &str) -> Arc<Store> {
    Arc::new(Store::connect(&location.parse::<Location>().unwrap()).unwrap())
}
