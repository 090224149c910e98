//! The library over folders of files: reading, syncing, watching, and answering queries.

mod files;
mod model;
mod queries;
mod unreadable;
mod watching;
