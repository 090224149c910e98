//! No server outlives its wrapper, whichever ends first and however.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use kenning_testkit::{DeadlineReader, wait};

use crate::support::{self, Process, is_alive, wait_until_gone};

/// A server that prints its process id and ignores signals.
const STUBBORN: &str = "trap '' TERM INT HUP; echo $$; while :; do sleep 0.1; done";
/// A server whose child ignores signals; prints the child's process id.
const PARENT: &str =
    "sh -c \"trap '' TERM; while :; do sleep 0.1; done\" </dev/null >/dev/null & echo $!; exec cat";

/// A grace period of half a second.
const GRACE: (&str, &str) = ("WRAP_GRACE_MS", "500");

/// A wrapper with a short grace period.
fn wrapped(command: &[&str]) -> Command {
    let mut wrapper = support::wrapped(command);
    wrapper.env(GRACE.0, GRACE.1);
    wrapper
}

fn start(script: &str) -> (Process, u32) {
    let mut process = Process::start(&mut wrapped(&["sh", "-c", script]));
    let pid = process.line().trim().parse().unwrap();
    assert!(is_alive(pid));
    (process, pid)
}

fn kill(signal: &str, pid: u32) {
    let killed = Command::new("kill").args([signal, &pid.to_string()]).status().unwrap();
    assert!(killed.success());
}

#[test]
fn a_stubborn_server_ends_when_the_wrapper_is_killed() {
    let (mut process, server) = start(STUBBORN);
    process.child.kill().unwrap();
    wait(&mut process.child);
    wait_until_gone(server);
}

#[test]
fn a_stubborn_server_ends_when_the_wrappers_group_is_killed() {
    use std::os::unix::process::CommandExt;
    let mut process = Process::start(wrapped(&["sh", "-c", STUBBORN]).process_group(0));
    let server = process.line().trim().parse().unwrap();
    kill("-KILL", process.child.id());
    let group = format!("-{}", process.child.id());
    let _ = Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
    wait(&mut process.child);
    wait_until_gone(server);
}

#[test]
fn a_stubborn_server_ends_when_the_client_closes_its_side() {
    let (process, server) = start(STUBBORN);
    assert_eq!(process.close().code(), Some(128 + 9));
    assert!(!is_alive(server));
}

#[test]
fn a_stubborn_server_ends_when_the_client_stops_reading() {
    let mut wrapper = wrapped(&["sh", "-c", STUBBORN]);
    let mut child = wrapper.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut output = BufReader::new(DeadlineReader::new(child.stdout.take().unwrap()));
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    drop(output);
    // The input stays open: another process may hold it.
    assert!(child.stdin.is_some());
    wait(&mut child);
    wait_until_gone(line.trim().parse().unwrap());
}

#[test]
fn a_client_that_is_killed_ends_wrapper_and_server() {
    // The client is a shell that holds both pipes of a wrapper and prints the server's id.
    let folder = tempfile::tempdir().unwrap();
    let script = "mkfifo $2/in $2/out; \"$0\" -- sh -c \"$1\" <$2/in >$2/out & \
                  exec 5>$2/in 6<$2/out; read -r pid <&6; echo $pid; read -r nothing";
    let mut client = Command::new("sh");
    client.args(["-c", script]).arg(support::program()).arg(STUBBORN).arg(folder.path());
    client.env(GRACE.0, GRACE.1);
    let mut process = Process::start(&mut client);
    let server: u32 = process.line().trim().parse().unwrap();
    process.child.kill().unwrap();
    wait(&mut process.child);
    wait_until_gone(server);
}

#[test]
fn the_wrapper_ends_when_the_server_is_killed() {
    let (mut process, server) = start("echo $$; exec cat");
    kill("-KILL", server);
    assert_eq!(wait(&mut process.child).code(), Some(128 + 9));
}

#[test]
fn children_of_the_server_are_ended() {
    let (process, grandchild) = start(PARENT);
    assert!(process.close().success());
    wait_until_gone(grandchild);

    let (mut process, grandchild) = start(PARENT);
    process.child.kill().unwrap();
    wait(&mut process.child);
    wait_until_gone(grandchild);
}

#[test]
fn signals_are_forwarded_to_the_server() {
    let script = "trap 'echo told; exit 5' TERM; echo $$; while :; do sleep 0.05; done";
    let (mut process, _) = start(script);
    kill("-TERM", process.child.id());
    assert_eq!(process.line(), "told\n");
    assert_eq!(wait(&mut process.child).code(), Some(5));
}

#[test]
fn a_server_may_outlast_the_grace_period_to_answer_a_call() {
    // Longer than the grace period, with a call under way.
    let script = "read -r line; sleep 1.5; echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}'";
    let mut process = Process::start(&mut wrapped(&["sh", "-c", script]));
    process.send(&support::call(1, "slow", &serde_json::json!({})).to_string());
    drop(process.input.take());
    assert_eq!(process.line(), "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
    assert!(wait(&mut process.child).success());
}

#[test]
fn the_watchdog_exits_with_the_wrapper() {
    let (process, _) = start("echo $$; exec cat");
    let children = format!("/proc/{0}/task/{0}/children", process.child.id());
    let children = std::fs::read_to_string(children).unwrap_or_default();
    let children: Vec<u32> = children.split_whitespace().map(|id| id.parse().unwrap()).collect();
    assert!(children.len() <= 2);
    assert!(process.close().success());
    children.into_iter().for_each(wait_until_gone);
}
