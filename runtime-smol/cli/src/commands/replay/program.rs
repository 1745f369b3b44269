//! A program that replays a tape, as a child process.

use crate::arguments::Program;
use crate::error::CommandError;
use crate::system::stop::Stop;
use listwatch::Clock;
use listwatch::controller::{REPLAY_KEY, REPLAY_WRITES, Writes};
use smol::future::or;
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Stands for the tape in the arguments.
const TAPE: &str = "{}";
/// What a program has to do that replays a tape.
const WANTED: &str = "; give a program whose controllers run in `World::from(Playback::from_file(tape)?)`, of the tape that \
                      is its last argument, or stands for {}";
/// The end of standard error that is kept, in bytes.
const TAIL: usize = 4096;
/// The pauses between two looks at the child, and the time that standard error has after its end.
const SHORT: Duration = Duration::from_millis(1);
const LONG: Duration = Duration::from_millis(50);
const REST: Duration = Duration::from_millis(200);

/// A program, and how messages call it.
pub(super) struct Build<'p> {
    pub(super) name: String,
    pub(super) program: &'p Program,
}

/// The writes of a program, and how it ended.
pub(super) struct Replayed {
    pub(super) writes: Writes,
    pub(super) ended: String,
}

/// What ends the wait for a program.
enum End {
    Exited(std::io::Result<ExitStatus>),
    Late,
    Stopped,
}

/// A child process, which ends with this at the latest.
struct Running {
    child: Child,
    tail: Tail,
}

/// The end of what a program writes to standard error.
#[derive(Clone, Default)]
struct Tail {
    bytes: Arc<Mutex<Vec<u8>>>,
    is_over: Arc<AtomicBool>,
}

impl Build<'_> {
    /// Lets the program replay the tape, with a file for its writes and the key of the hashes in it.
    ///
    /// # Errors
    /// It does not start, is ended by a signal, or does not end within the time.
    pub(super) async fn replay(
        &self,
        tape: &Path,
        (writes, key): (&Path, &str),
        within: Duration,
        stop: &mut Stop,
    ) -> Result<Replayed, CommandError> {
        let mut running = self.start(tape, writes, key)?;
        let clock = Clock::real();
        let ended = running.wait(&clock, within, stop).await;
        let (why, is_whole) = match &ended {
            End::Exited(Ok(status)) => (format!("it ended ({status})"), status.code().is_some()),
            End::Exited(Err(error)) => (format!("its end was not told: {error}"), false),
            End::Late => {
                (format!("it still ran after {within:?} and was stopped; --within TIME gives it longer"), false)
            }
            End::Stopped => ("the end was requested while it ran".to_owned(), false),
        };
        let hint = if matches!(&ended, End::Exited(Ok(status)) if status.success()) { WANTED } else { "" };
        let why = why + &running.last_words(&clock).await;
        if !is_whole {
            return Err(self.error(why));
        }
        if !writes.exists() {
            return Err(self.error(format!("it did not replay the tape: it wrote no writes; {why}{hint}")));
        }
        let writes = Writes::from_file(&*self.name, writes);
        let writes = writes.map_err(|error| self.error(format!("{}; {why}", error.why())))?;
        Ok(Replayed { writes, ended: why })
    }

    fn start(&self, tape: &Path, writes: &Path, key: &str) -> Result<Running, CommandError> {
        let Program(words) = self.program;
        let mut arguments = words.iter().skip(1).map(|word| with_tape(word, tape)).collect::<Vec<OsString>>();
        if !words.iter().skip(1).any(|word| word.contains(TAPE)) {
            arguments.push(tape.into());
        }
        let mut command = Command::new(&words[0]);
        command.args(arguments).env(REPLAY_WRITES, writes).env(REPLAY_KEY, key);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| self.error(format!("it cannot be started: {error}")))?;
        let tail = Tail::default();
        child.stderr.take().into_iter().for_each(|stderr| tail.clone().follow(stderr));
        Ok(Running { child, tail })
    }

    fn error(&self, why: String) -> CommandError {
        CommandError::Program(self.name.clone(), why)
    }
}

/// An argument with the tape in its place.
fn with_tape(word: &str, tape: &Path) -> OsString {
    let mut parts = word.split(TAPE);
    let mut argument: OsString = parts.next().unwrap_or_default().into();
    parts.for_each(|part| [tape.as_os_str(), OsStr::new(part)].into_iter().for_each(|part| argument.push(part)));
    argument
}

impl Running {
    async fn wait(&mut self, clock: &Clock, within: Duration, stop: &mut Stop) -> End {
        let late = async {
            clock.sleep(within).await;
            End::Late
        };
        let stopped = async {
            stop.await;
            End::Stopped
        };
        let exited = async {
            let mut pause = SHORT;
            loop {
                match self.child.try_wait() {
                    Ok(None) => {}
                    Ok(Some(status)) => return End::Exited(Ok(status)),
                    Err(error) => return End::Exited(Err(error)),
                }
                clock.sleep(pause).await;
                pause = LONG.min(pause * 2);
            }
        };
        let end = or(exited, or(stopped, late)).await;
        if !matches!(end, End::Exited(Ok(_))) {
            self.end();
        }
        end
    }

    /// The last line on standard error. A process that the program started may have it open still.
    async fn last_words(&self, clock: &Clock) -> String {
        let rest = clock.now() + REST;
        while !self.tail.is_over.load(Ordering::Acquire) && clock.now() < rest {
            clock.sleep(SHORT).await;
        }
        let bytes = self.tail.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&bytes);
        let last = text.lines().rfind(|line| !line.trim().is_empty());
        last.map(|line| format!("; its last message: {line}")).unwrap_or_default()
    }

    /// Ends this process, and no other.
    fn end(&mut self) {
        let _has_ended = self.child.kill();
        let _status = self.child.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

impl Tail {
    /// Reads until the last process that writes there has ended.
    fn follow(self, mut stderr: ChildStderr) {
        std::thread::spawn(move || {
            let mut buffer = [0; TAIL];
            while let Ok(read @ 1..) = stderr.read(&mut buffer) {
                let mut bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
                bytes.extend_from_slice(&buffer[..read]);
                let before = bytes.len().saturating_sub(TAIL);
                bytes.drain(..before);
            }
            self.is_over.store(true, Ordering::Release);
        });
    }
}
