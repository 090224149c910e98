//! Notes which compiler builds the server: it tells its clients.

use std::process::Command;

fn main() {
    let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(compiler).arg("--version").output().map(|output| output.stdout);
    let line = output.map_or_else(|_| String::new(), |text| String::from_utf8_lossy(&text).into());
    let version = line.split_whitespace().nth(1).unwrap_or("unknown");
    println!("cargo::rustc-env=KENNING_RUSTC={version}");
    println!("cargo::rerun-if-changed=build.rs");
}
