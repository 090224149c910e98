//! A disk that is full, and has room again.

use std::process::Command;

use crate::support::{Place, ended};

/// How a disk without room was had.
const SMALL_DISK: &str = "mount -t tmpfs -o size=600k none \"$HOME\"";
/// Where nothing can be mounted, no file may grow past so many blocks of 512 bytes. That is another
/// error of the system (EFBIG), by the same way through the program.
const SHORT_FILES: &str = "ulimit -f 700";

/// Registers skills until it is refused, looks at what is there, makes room and goes on.
const STORY: &str = r#"
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

/// A command in which the home has hardly any room.
fn cramped(place: &Place, after: &str) -> Command {
    let (mut command, limit) = if can_mount() {
        let mut unshare = Command::new("unshare");
        unshare.args(["--mount", "--map-root-user", "sh"]);
        (unshare, SMALL_DISK)
    } else {
        eprintln!("nothing can be mounted here: files that may not grow stand in for a full disk");
        (Command::new("sh"), SHORT_FILES)
    };
    let metadata = format!("{{\"description\": \"{}\"}}", "long ".repeat(2_000));
    let script = format!("{limit} || exit 8\n{STORY}\n{after}");
    command.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_kenning"), &metadata]);
    command.env("HOME", place.home()).current_dir(place.base());
    for variable in ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "KENNING_STORE_URL"] {
        command.env_remove(variable);
    }
    command
}

#[test]
fn what_was_acknowledged_stays_and_what_finds_no_room_is_refused() {
    let place = Place::new();
    let after = r#"
"$kenning" --json skills list --agent 11 | tr -d ' \n' | tr '{' '\n' | grep -c '"skill_name"'
"#;
    let story = ended(&mut cramped(&place, after));
    let lines: Vec<&str> = story.out.lines().collect();
    let done = lines.iter().filter(|line| line.starts_with("done ")).count();
    assert!(done > 0, "{story:?}");
    let refused = lines.iter().position(|line| line.starts_with("refused "));
    let refused = refused.unwrap_or_else(|| panic!("there was room for all: {story:?}"));
    assert!(lines[refused].ends_with(" with 1"), "{}", lines[refused]);
    let said = lines[refused..].join("\n");
    assert!(said.contains("error:") && !said.contains("panicked"), "{said}");
    assert_eq!(lines.last(), Some(&done.to_string().as_str()), "all that was done: {story:?}");
}

/// Knowledge needs no disk.
#[test]
fn questions_about_knowledge_are_answered() {
    let place = Place::new();
    let after = r#""$kenning" search --type keyword pelican || echo "not found""#;
    let story = ended(&mut cramped(&place, after));
    let last = story.out.rsplit("refused").next().unwrap();
    assert!(last.contains("pelican"), "{story:?}");
    assert!(!last.contains("not found") && !story.err.contains("panicked"), "{story:?}");
}
