//! The real binary installs itself into the files of clients, in a home of its own.

mod broken;
mod golden;
mod home;
mod options;
mod setup;
