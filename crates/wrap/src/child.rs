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

use crate::interceptor::Interceptor;
use crate::relay;
use crate::stdio::{self, Streams};
use crate::watchdog::{self, Watchdog};
use crate::{Exit, WrapError};

/// Our own answers that wait to be written.
const MAX_ANSWERS: usize = 64;
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// Once a server has ended, its output is over after a silence of this length.
const FINAL_SILENCE: Duration = Duration::from_millis(500);

/// Where a wrapped server is in its life.
#[derive(Debug, Clone, Copy)]
enum Stage {
    Serving,
    /// Its input is closed.
    Closing(Instant),
    /// It was sent SIGTERM.
    Terminating(Instant),
    /// It was sent SIGKILL.
    Killed,
}

pub(crate) async fn run(
    command: &[OsString],
    watchdog: &[OsString],
    streams: Streams,
    interceptor: Arc<Interceptor>,
    grace: Duration,
) -> Result<Exit, WrapError> {
    let mut signals = ForwardedSignals::listen().map_err(WrapError::Signals)?;
    // Started before the server, so that the server never runs without it.
    let mut watchdog = Watchdog::start(watchdog)?;
    let (mut child, group) = start(command)?;
    watchdog.watch(group);
    let (mut to_server, mut to_client) = connect(&mut child, streams, &interceptor);
    let mut stage = Stage::Serving;
    let mut poll = interval(POLL_INTERVAL);
    poll.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let status = loop {
        tokio::select! {
            status = child.wait() => break status,
            signal = signals.next() => { let _ = kill_process_group(group, signal); }
            _ = &mut to_server, if matches!(stage, Stage::Serving) => {
                stage = Stage::Closing(Instant::now());
            }
            _ = poll.tick() => {
                let client_gone = to_client.is_finished() || stdio::reader_is_gone();
                if client_gone {
                    to_server.abort();
                }
                stage = advance(stage, group, &interceptor, (client_gone, grace));
            }
        }
    };
    to_server.abort();
    // Ends what the server started and left behind, which may also hold its output open.
    watchdog::end(group, Duration::from_millis(500));
    drain_output(&mut to_client, &interceptor).await;
    to_client.abort();
    interceptor.server_ended();
    watchdog.dismiss();
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

fn connect(
    child: &mut Child,
    streams: Streams,
    interceptor: &Arc<Interceptor>,
) -> (Direction, Direction) {
    let (answers, answered) = mpsc::channel(MAX_ANSWERS);
    let stdin = child.stdin.take().expect("its input was asked for as a pipe");
    let stdout = child.stdout.take().expect("its output was asked for as a pipe");
    let Streams { reader, mut writer } = streams;
    let (outbound, inbound) = (interceptor.clone(), interceptor.clone());
    let to_server =
        tokio::spawn(async move { relay::to_server(reader, stdin, &outbound, answers).await });
    let to_client =
        tokio::spawn(
            async move { relay::to_client(stdout, &mut writer, &inbound, answered).await },
        );
    (to_server, to_client)
}

/// Waits until the client has all of the server's output, however slowly it reads. A process that
/// left the server's group may hold the output open, so that silence has to count as its end.
async fn drain_output(to_client: &mut Direction, interceptor: &Interceptor) {
    while timeout(FINAL_SILENCE, &mut *to_client).await.is_err() {
        if interceptor.is_silent(FINAL_SILENCE) || stdio::reader_is_gone() {
            return;
        }
    }
}

/// A server whose input is closed usually exits by itself. One that does not is terminated once it
/// has been silent for the grace period, and owes no answer to a client that is still there.
fn advance(
    stage: Stage,
    group: Pid,
    interceptor: &Interceptor,
    (client_gone, grace): (bool, Duration),
) -> Stage {
    match stage {
        Stage::Closing(since) => {
            let last = interceptor.last_output().max(since);
            if last.elapsed() < grace || !(client_gone || interceptor.is_idle()) {
                return stage;
            }
            let _ = kill_process_group(group, Signal::TERM);
            Stage::Terminating(Instant::now())
        }
        Stage::Terminating(since) if since.elapsed() >= grace => {
            let _ = kill_process_group(group, Signal::KILL);
            Stage::Killed
        }
        Stage::Serving | Stage::Terminating(_) | Stage::Killed => stage,
    }
}

fn exit(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(u8::try_from(code).unwrap_or(u8::MAX)),
        (None, Some(signal)) => Exit::Signal(signal),
        (None, None) => Exit::Code(u8::MAX),
    }
}

/// Signals that are passed on to the server.
struct ForwardedSignals(Vec<(Signals, Signal)>);

impl ForwardedSignals {
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
