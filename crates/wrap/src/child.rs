//! A server that is a program.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval, timeout};

use crate::front::Front;
use crate::guard::{self, Guard};
use crate::relay;
use crate::stdio::{self, Streams};
use crate::{Exit, WrapError};

/// Answers of ours that wait for the client.
const ANSWERS: usize = 64;
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// A silence of this length after its end was a server's last word.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Where a wrapped server is in its life.
#[derive(Debug, Clone, Copy)]
enum Stage {
    Serving,
    /// Its input is closed.
    Closing(Instant),
    /// It was told to end.
    Ending(Instant),
    /// It was made to.
    Killed,
}

pub(crate) async fn run(
    command: &[OsString],
    guard: &[OsString],
    streams: Streams,
    front: Arc<Front>,
    grace: Duration,
) -> Result<Exit, WrapError> {
    let mut signals = Forwarded::listen().map_err(WrapError::Signals)?;
    // Before the server, so that it is never without.
    let mut guard = Guard::start(guard)?;
    let (mut child, group) = start(command)?;
    guard.watch(group);
    let (mut to_server, mut to_client) = connect(&mut child, streams, &front);
    let mut stage = Stage::Serving;
    let mut look = interval(LOOK_EVERY);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let status = loop {
        tokio::select! {
            status = child.wait() => break status,
            signal = signals.next() => { let _ = kill_process_group(group, signal); }
            _ = &mut to_server, if matches!(stage, Stage::Serving) => {
                stage = Stage::Closing(Instant::now());
            }
            _ = look.tick() => {
                // Nothing that it still owes can reach anybody.
                let unheard = to_client.is_finished() || stdio::reader_is_gone();
                if unheard {
                    to_server.abort();
                }
                stage = advance(stage, group, &front, (unheard, grace));
            }
        }
    };
    to_server.abort();
    // Whatever the server started and left behind, which may also hold its output open.
    guard::end(group, Duration::from_millis(500));
    last_words(&mut to_client, &front).await;
    to_client.abort();
    front.server_ended();
    guard.dismiss();
    Ok(status.map_or(Exit::Code(u8::MAX), exit))
}

fn start(command: &[OsString]) -> Result<(Child, Pid), WrapError> {
    let (program, arguments) = command.split_first().ok_or(WrapError::NoCommand)?;
    let started = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn();
    let start_error = |source| {
        let program = program.to_string_lossy().into_owned();
        WrapError::Start { program, source }
    };
    let child = started.map_err(start_error)?;
    let id = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    let id = id.ok_or_else(|| start_error(std::io::Error::other("it ended at once")))?;
    Ok((child, id))
}

type Direction = JoinHandle<std::io::Result<()>>;

fn connect(child: &mut Child, streams: Streams, front: &Arc<Front>) -> (Direction, Direction) {
    let (answers, answered) = mpsc::channel(ANSWERS);
    let stdin = child.stdin.take().expect("its input was asked for as a pipe");
    let stdout = child.stdout.take().expect("its output was asked for as a pipe");
    let Streams { reader, mut writer } = streams;
    let (there, back) = (front.clone(), front.clone());
    let to_server =
        tokio::spawn(async move { relay::to_server(reader, stdin, &there, answers).await });
    let to_client =
        tokio::spawn(async move { relay::to_client(stdout, &mut writer, &back, answered).await });
    (to_server, to_client)
}

/// Waits until the client has all that the server said, however slowly it reads. Something that
/// escaped from the server's group may hold the output open; it has nothing to say.
async fn last_words(to_client: &mut Direction, front: &Front) {
    while timeout(LAST_WORDS, &mut *to_client).await.is_err() {
        if front.is_silent(LAST_WORDS) || stdio::reader_is_gone() {
            return;
        }
    }
}

/// A server whose input is closed ends by itself, as a rule. One that does not is told to: at once
/// if nobody hears its answers, otherwise when it owes none and has been silent for a while.
fn advance(stage: Stage, group: Pid, front: &Front, (unheard, grace): (bool, Duration)) -> Stage {
    match stage {
        Stage::Closing(since) => {
            let last = front.last_sign_of_life().max(since);
            if last.elapsed() < grace || !(unheard || front.is_idle()) {
                return stage;
            }
            let _ = kill_process_group(group, Signal::TERM);
            Stage::Ending(Instant::now())
        }
        Stage::Ending(since) if since.elapsed() >= grace => {
            let _ = kill_process_group(group, Signal::KILL);
            Stage::Killed
        }
        Stage::Serving | Stage::Ending(_) | Stage::Killed => stage,
    }
}

fn exit(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(u8::try_from(code).unwrap_or(u8::MAX)),
        (None, Some(signal)) => Exit::Signal(signal),
        (None, None) => Exit::Code(u8::MAX),
    }
}

/// Signals that are meant for the server as much as for us.
struct Forwarded(Vec<(Signals, Signal)>);

impl Forwarded {
    fn listen() -> std::io::Result<Self> {
        let pairs = [
            (SignalKind::terminate(), Signal::TERM),
            (SignalKind::interrupt(), Signal::INT),
            (SignalKind::hangup(), Signal::HUP),
            (SignalKind::quit(), Signal::QUIT),
            (SignalKind::user_defined1(), Signal::USR1),
            (SignalKind::user_defined2(), Signal::USR2),
        ];
        let listening = pairs.into_iter().map(|(kind, name)| Ok((signal(kind)?, name)));
        listening.collect::<std::io::Result<_>>().map(Self)
    }

    async fn next(&mut self) -> Signal {
        std::future::poll_fn(|context| {
            let arrived = self
                .0
                .iter_mut()
                .find_map(|(stream, name)| stream.poll_recv(context).is_ready().then_some(*name));
            arrived.map_or(std::task::Poll::Pending, std::task::Poll::Ready)
        })
        .await
    }
}
