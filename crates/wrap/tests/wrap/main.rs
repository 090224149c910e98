//! The proxy as a program, and the recorder and its layer as a library.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]

mod layer;
mod lifetime;
mod mcpeye;
mod proxy;
mod real;
mod recorder;
mod redirects;
mod remote;
mod sink;
mod support;
