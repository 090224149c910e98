//! A disk that is full. A small file system stands for it where one can be mounted, and everywhere a
//! limit on the size of files, at which the system reports another error (EFBIG) in the same place.

use std::process::Command;

use reqwest::StatusCode;
use serde_json::json;

use super::{check_store_is_not_ready, is_possible, pelicans};
use crate::server::monitoring::readiness_becomes;
use crate::server::support::{DEADLINE, Finished, Server, eventually, finished};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Limit {
    /// A home on a disk without room.
    SmallDisk,
    /// No file may grow past so many blocks of 512 bytes.
    ShortFiles,
}

impl Limit {
    fn available() -> Vec<Self> {
        let mut probe = Command::new("unshare");
        probe.args(["--mount", "--map-root-user", "sh", "-c", "mount -t tmpfs none /mnt"]);
        if is_possible(&mut probe) {
            vec![Self::SmallDisk, Self::ShortFiles]
        } else {
            vec![Self::ShortFiles]
        }
    }

    fn script(self) -> &'static str {
        match self {
            Self::SmallDisk => "mount -t tmpfs -o size=1000k none \"$HOME\"",
            Self::ShortFiles => "ulimit -f 1400",
        }
    }

    fn shell(self) -> Command {
        if self == Self::ShortFiles {
            return Command::new("sh");
        }
        let mut unshare = Command::new("unshare");
        unshare.args(["--mount", "--map-root-user", "sh"]);
        unshare
    }

    /// What the log says of a write that is refused.
    fn reason(self) -> &'static str {
        match self {
            Self::SmallDisk => "database or disk is full",
            Self::ShortFiles => "disk I/O error",
        }
    }
}

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

/// Fills the home until a write is refused for want of room, then runs `after`.
fn fill(limit: Limit, after: &str) -> Finished {
    let project = pelicans();
    let metadata = format!("{{\"description\": \"{}\"}}", "long ".repeat(2_000));
    let script = format!("{} || exit 8\n{REGISTER_UNTIL_FULL}\n{after}", limit.script());
    let mut command = limit.shell();
    command.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_kenning"), &metadata]);
    project.isolate(&mut command);
    let run = finished(&mut command);
    assert!(run.out.contains("done 1\n"), "{run:?}");
    let (_, refused) = run.out.split_once("refused ").expect("there is no room for all");
    assert!(refused.lines().next().unwrap().ends_with(" with 1"), "{run:?}");
    assert!(refused.contains(limit.reason()) && refused.contains("error:"), "{run:?}");
    assert!(!run.printed().contains("panicked"), "{run:?}");
    run
}

#[test]
fn writes_without_room_are_refused_and_earlier_ones_stay() {
    let after = r#"
"$kenning" --json skills list --agent 11 | tr -d ' \n' | tr '{' '\n' | grep -c '"skill_name"'
"#;
    for limit in Limit::available() {
        let run = fill(limit, after);
        let done = run.out.lines().filter(|line| line.starts_with("done ")).count();
        let stored = run.out.lines().last();
        assert_eq!(stored, Some(done.to_string().as_str()), "all that was acknowledged: {run:?}");
    }
}

#[test]
fn knowledge_is_answered_without_room() {
    let after = r#"echo "searching"; "$kenning" search --type keyword pelican || echo "not found""#;
    for limit in Limit::available() {
        let run = fill(limit, after);
        let (_, found) = run.out.split_once("searching\n").unwrap();
        assert!(found.contains("pelican.md") && !found.contains("not found"), "{run:?}");
    }
}

/// More than there are connections to the store, so that each of them is used.
const REFUSED: usize = 12;

async fn register(server: &Server, skill: &str) -> u16 {
    let metadata = json!({"description": "long ".repeat(2_000)});
    let skill = json!({"skill_name": skill, "version": "1.0.0", "metadata": metadata});
    let body = json!({"agent_id": 11, "capabilities": [skill]});
    server.post("/api/v1/register_agent_capabilities", &body).await.status.as_u16()
}

#[tokio::test]
async fn writes_succeed_at_once_when_there_is_room_again() {
    let project = pelicans();
    let mut command = Command::new("sh");
    let script = "trap '' XFSZ; ulimit -S -f 1400; exec \"$@\"";
    command.args(["-c", script, "sh", env!("CARGO_BIN_EXE_kenning")]);
    project.isolate(&mut command);
    command.args(["serve", "--http", "127.0.0.1:0"]).env("KENNING_SERVER_ATTACH", "false");
    let server = Server::start(&mut command);
    server.add_agent("bot", 11).await;
    let (mut stored, mut refused) = (0, 0);
    while refused < REFUSED {
        match register(&server, &format!("skill-{stored}-{refused}")).await {
            200 => stored += 1,
            500 => refused += 1,
            other => panic!("{other}"),
        }
        assert!(stored < 1_000, "the limit does not hold");
    }
    // The check itself may still fit into the rest, and takes some of it.
    eventually(DEADLINE, async || {
        assert_eq!(register(&server, "without room").await, 500);
        let status = server.get("/readyz").await.status;
        (status == StatusCode::SERVICE_UNAVAILABLE).then_some(())
    })
    .await;
    check_store_is_not_ready(&server, "the store fails").await;
    let pid = server.child.id().to_string();
    let mut lift = Command::new("prlimit");
    finished(lift.args(["--pid", &pid, "--fsize=unlimited"])).success();
    for n in 0..2 * REFUSED {
        assert_eq!(register(&server, &format!("after-{n}")).await, 200, "write {n}");
    }
    readiness_becomes(&server, StatusCode::OK).await;
    server.stop().await;
}
