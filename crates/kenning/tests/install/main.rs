//! The real binary installs itself into the files of clients, in a home of its own.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]

mod broken;
mod golden;
mod home;
mod options;
mod setup;
