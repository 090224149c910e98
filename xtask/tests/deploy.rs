//! The files in `deploy/` fit this version of Kenning: its settings, sources and endpoints.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

/// Fails for a setting that the reference does not list.
fn check_variable(name: &str) {
    if name.starts_with("KENNING_") {
        assert!(read("docs/settings.md").contains(&format!("`{name}`")), "{name} is no setting");
    }
}

#[test]
fn replicas_in_compose_are_alike_and_hardened() {
    let compose: Value = serde_saphyr::from_str(&read("deploy/compose.yaml")).unwrap();
    let services = &compose["services"];
    assert_eq!(services["one"], services["two"]);
    let replica = services["one"].as_object().unwrap();
    for name in replica["environment"].as_object().unwrap().keys() {
        check_variable(name);
    }
    assert_eq!(replica["read_only"], true);
    assert_eq!(replica["cap_drop"][0], "ALL");
    let dockerfile = root().join("deploy").join(replica["build"]["context"].as_str().unwrap());
    assert!(dockerfile.join(replica["build"]["dockerfile"].as_str().unwrap()).is_file());
    let seconds =
        |text: &Value| -> u64 { text.as_str().unwrap().trim_end_matches('s').parse().unwrap() };
    let environment = &replica["environment"];
    let stopping = seconds(&environment["KENNING_SERVER_DRAIN_SECONDS"])
        + seconds(&environment["KENNING_SERVER_GRACE_SECONDS"]);
    assert!(
        seconds(&replica["stop_grace_period"]) > stopping,
        "it would be killed before it has stopped"
    );
    let balancer = services["balancer"]["volumes"][0].as_str().unwrap();
    assert!(balancer.starts_with("./haproxy.cfg:"), "{balancer}");
    for name in ["one", "two"] {
        assert!(read("deploy/haproxy.cfg").contains(&format!("-{name}:8765}}")), "{name}");
    }
}

#[test]
fn the_image_runs_unprivileged_and_has_a_health_check() {
    let text = read("deploy/Dockerfile").replace("\\\n", " ");
    let last = text.rsplit("\nFROM ").next().unwrap();
    let mut instructions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for line in last.lines().filter(|line| !line.starts_with('#')) {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        instructions.entry(word).or_default().push(rest);
    }
    assert_eq!(instructions["USER"], ["10001:10001"]);
    let check = instructions["HEALTHCHECK"][0];
    assert!(check.contains("/healthz"), "{check}");
    for word in instructions["ENV"][0].split_whitespace() {
        check_variable(word.split('=').next().unwrap());
    }
    let ignored = read(".dockerignore");
    let taken: Vec<&str> = ignored.lines().filter_map(|line| line.strip_prefix('!')).collect();
    for place in &taken {
        assert!(root().join(place).exists(), "{place}");
    }
    for place in compiled_in() {
        assert!(taken.contains(&place.as_str()), "`{place}` is compiled in and not in the image");
    }
    let manifest = read("Cargo.toml");
    let toolchain = manifest.split("rust-version = \"").nth(1).unwrap().split('"').next().unwrap();
    let image = text.split("FROM rust:").nth(1).unwrap().split('-').next().unwrap();
    let minor = |version: &str| -> u32 { version.split('.').nth(1).unwrap().parse().unwrap() };
    assert!(minor(image) >= minor(toolchain), "{image} cannot build {toolchain}");
}

/// Folders and files outside of `crates` that sources include.
fn compiled_in() -> std::collections::BTreeSet<String> {
    let mut found = std::collections::BTreeSet::new();
    let mut folders = vec![root().join("crates")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") && is_source(&path) {
                let text = std::fs::read_to_string(&path).unwrap();
                for word in text.split("include_").skip(1).filter_map(|rest| rest.split('"').nth(1))
                {
                    let place = path.parent().unwrap().join(word);
                    let Ok(place) = place.canonicalize() else { continue };
                    let Ok(inside) = place.strip_prefix(root()) else { continue };
                    let first = inside.components().next().unwrap().as_os_str();
                    found.insert(first.to_string_lossy().into_owned());
                }
            }
        }
    }
    assert!(found.contains("data"), "the search finds nothing: {found:?}");
    found
}

fn is_source(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == "src")
}

/// Runs the image's health check against a server that answers with a given status.
#[test]
fn the_health_check_tells_a_healthy_server_from_a_failing_one() {
    let text = read("deploy/Dockerfile").replace("\\\n", " ");
    let line = text.lines().find(|line| line.starts_with("HEALTHCHECK")).unwrap();
    let words: Vec<String> = serde_json::from_str(line.split("CMD ").nth(1).unwrap()).unwrap();
    for (status, well) in [("200 OK", true), ("503 Service Unavailable", false)] {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = std::thread::spawn(move || {
            use std::io::{Read, Write};
            let (mut stream, _) = listener.accept().unwrap();
            // A shell may send the request in pieces.
            let (mut request, mut byte) = (Vec::new(), [0]);
            while !request.ends_with(b"\r\n\r\n") {
                stream.read_exact(&mut byte).unwrap();
                request.push(byte[0]);
            }
            write!(stream, "HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n").unwrap();
            String::from_utf8(request).unwrap()
        });
        let mut check = Command::new(&words[0]);
        check.args(&words[1..]).env("KENNING_SERVER_PORT", port.to_string());
        assert_eq!(check.status().unwrap().success(), well, "{status}");
        assert_eq!(server.join().unwrap(), "GET /healthz HTTP/1.0\r\n\r\n");
    }
}

#[test]
fn systemd_accepts_the_unit_and_rates_it_as_safe() {
    let text = read("deploy/kenning.service");
    assert!(text.contains("\nExecStart=/usr/local/bin/kenning "));
    if Command::new("systemd-analyze").arg("--version").output().is_err() {
        // Without systemd, only the syntax can be checked.
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            assert!(line.starts_with('[') || line.contains('='), "{line}");
        }
        return;
    }
    // It checks that the program exists, and Kenning is not installed here.
    let folder = tempfile::tempdir().unwrap();
    let unit = folder.path().join("kenning.service");
    std::fs::write(&unit, text.replace("/usr/local/bin/kenning", "/bin/true")).unwrap();
    for words in [&["verify"][..], &["security", "--offline=yes", "--threshold=20"]] {
        let output = Command::new("systemd-analyze").args(words).arg(&unit).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{words:?}: {said}");
        assert!(!said.contains("kenning.service"), "{words:?}: {said}");
    }
}
