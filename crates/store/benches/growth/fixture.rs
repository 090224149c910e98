//! A store with the folder or server that it needs.

use std::fs;
use std::sync::Arc;

use kenning_store::{Location, Store};
use kenning_testkit::Postgres;
use tempfile::TempDir;

pub(crate) struct Fixture {
    pub(crate) store: Arc<Store>,
    backing: Backing,
}

enum Backing {
    Folder(TempDir),
    Server { server: Postgres, url: String },
}

impl Fixture {
    pub(crate) fn new(on: &str) -> Self {
        let (location, backing) = if on == "PostgreSQL" {
            // With the server's default settings, by which commits reach the disk.
            let server = Postgres::start(&[]);
            let url = server.database();
            (url.clone(), Backing::Server { server, url })
        } else {
            let folder = TempDir::new().expect("a folder");
            (folder.path().to_str().expect("a path").to_owned(), Backing::Folder(folder))
        };
        let location: Location = location.parse().expect("a location");
        Self { store: Arc::new(Store::connect(&location).expect("a store")), backing }
    }

    /// Updates the server's statistics, which autovacuum would do a minute later.
    pub(crate) fn settle(&self) {
        if let Backing::Server { server, url } = &self.backing {
            server.query(url, "VACUUM ANALYZE");
        }
    }

    /// Disk usage: the file and its log, or the tables and indexes.
    pub(crate) fn disk_mb(&self) -> f64 {
        let bytes: u64 = match &self.backing {
            Backing::Server { server, url } => {
                let size = server.query(url, "SELECT pg_database_size(current_database())");
                size.parse().expect("a number")
            }
            Backing::Folder(folder) => {
                let files = fs::read_dir(folder.path()).expect("a folder");
                files.map(|file| file.expect("a file").metadata().expect("a size").len()).sum()
            }
        };
        (bytes as f64 / 1024.0 / 102.4).round() / 10.0
    }
}
