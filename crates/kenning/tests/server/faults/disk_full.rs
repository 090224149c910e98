//! A disk that is full.

use std::process::Command;

use super::pelicans;
use crate::support::{Project, finished};

/// A home on a disk without room.
const SMALL_DISK: &str = "mount -t tmpfs -o size=600k none \"$HOME\"";
/// Where nothing can be mounted, no file may grow past so many blocks of 512 bytes. The system reports
/// another error then (EFBIG), which the program handles in the same place.
const SHORT_FILES: &str = "ulimit -f 700";

/// Registers skills until one is refused.
const REGISTER_UNTIL_FULL: &str = r#"
trap '' XFSZ
kenning=$1
"$kenning" agents add bot --id 11 || exit 9
n=0
while [ $n -lt 400 ]; do
    n=$((n + 1))
    said=$("$kenning" skills register --agent 11 "skill-$n" 1.0.0 --metadata "$2" 2>&1)
    code=$?
    if [ $code -ne 0 ]; then echo "refused $n with $code"; echo "$said"; break; fi
    echo "done $n"
done
"#;

fn can_mount() -> bool {
    let mut probe = Command::new("unshare");
    probe.args(["--mount", "--map-root-user", "sh", "-c", "mount -t tmpfs none /mnt"]);
    probe.output().is_ok_and(|output| output.status.success())
}

/// Fills the home, then runs `after`.
fn fill(project: &Project, after: &str) -> Command {
    let (mut command, limit) = if can_mount() {
        let mut unshare = Command::new("unshare");
        unshare.args(["--mount", "--map-root-user", "sh"]);
        (unshare, SMALL_DISK)
    } else {
        eprintln!("nothing can be mounted here: a limit on file sizes replaces the full disk");
        (Command::new("sh"), SHORT_FILES)
    };
    let metadata = format!("{{\"description\": \"{}\"}}", "long ".repeat(2_000));
    let script = format!("{limit} || exit 8\n{REGISTER_UNTIL_FULL}\n{after}");
    command.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_kenning"), &metadata]);
    project.isolate(&mut command);
    command
}

#[test]
fn writes_without_room_are_refused_and_earlier_ones_stay() {
    let project = pelicans();
    let after = r#"
"$kenning" --json skills list --agent 11 | tr -d ' \n' | tr '{' '\n' | grep -c '"skill_name"'
"#;
    let run = finished(&mut fill(&project, after));
    let lines: Vec<&str> = run.out.lines().collect();
    let done = lines.iter().filter(|line| line.starts_with("done ")).count();
    assert!(done > 0, "{run:?}");
    let refused = lines.iter().position(|line| line.starts_with("refused "));
    let refused = refused.unwrap_or_else(|| panic!("there was room for all: {run:?}"));
    assert!(lines[refused].ends_with(" with 1"), "{}", lines[refused]);
    let said = lines[refused..].join("\n");
    assert!(said.contains("error:") && !said.contains("panicked"), "{said}");
    assert_eq!(
        lines.last(),
        Some(&done.to_string().as_str()),
        "all that was acknowledged: {run:?}"
    );
}

#[test]
fn knowledge_is_answered_without_room() {
    let project = pelicans();
    let after = r#""$kenning" search --type keyword pelican || echo "not found""#;
    let run = finished(&mut fill(&project, after));
    let last = run.out.rsplit("refused").next().unwrap();
    assert!(last.contains("pelican"), "{run:?}");
    assert!(!last.contains("not found") && !run.err.contains("panicked"), "{run:?}");
}
