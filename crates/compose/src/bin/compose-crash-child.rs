//! Generates and assembles contents repeatedly until it is killed, which the tests do to check what
//! is left. It prints `generated N` and `assembled` after each write.
//!
//! `compose-crash-child ROOT STATE CONTENTS`, for a workspace with contents `c0`, `c1`, … and an
//! artifact `all`. It is a program of its own because an integration test can start only binaries
//! of its crate.

#![expect(clippy::unwrap_used, reason = "only the tests run this")]

use kenning_compose::assemble::AssembleRequest;
use kenning_compose::generate::GenerateRequest;
use kenning_compose::{Compose, Limits, Parts};
use serde_json::json;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [root, state, contents] = &arguments[..] else { panic!("not {arguments:?}") };
    let contents: usize = contents.parse().unwrap();
    let limits = Limits { max_artifact_components: contents, ..Limits::default() };
    let compose = Compose::open(Parts { limits, ..Parts::new(root, state) }).unwrap();
    for round in 0.. {
        let context = json!({"round": round}).as_object().cloned();
        for n in 0..contents {
            let content_config_id = format!("c{n}");
            let request =
                GenerateRequest { content_config_id, context: context.clone(), force: true };
            compose.generate_content(&request).unwrap();
            println!("generated {n}");
        }
        let artifact_config_id = "all".to_owned();
        let request = AssembleRequest { artifact_config_id, context, ..AssembleRequest::default() };
        compose.assemble_artifact(&request).unwrap();
        println!("assembled");
    }
}
