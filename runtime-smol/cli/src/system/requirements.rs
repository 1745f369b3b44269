//! The threads and file descriptors that every command needs, checked before it starts.

use listwatch::Clock;
use smol::future::{block_on, poll_once};
use std::any::Any;
use std::fmt;
use std::io;
use std::panic::{catch_unwind, set_hook};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

/// The threads that a command has before its first request: for timers, standard output, standard error and the
/// kubeconfig.
const THREADS: usize = 4;

/// The system gives less than a command needs.
#[derive(Debug)]
pub(crate) enum Shortage {
    Threads(io::Error),
    /// The reactor does not start.
    FileDescriptors(String),
}

/// Starts the threads and the reactor. Later, the crates that use them would panic or retry for ever.
///
/// From here on panics are silent, until a hook is set.
///
/// # Errors
/// The system gives too few threads or file descriptors.
pub(crate) fn check() -> Result<(), Shortage> {
    check_threads().map_err(Shortage::Threads)?;
    start_reactor().map_err(Shortage::FileDescriptors)
}

/// Starts all threads before the first one ends.
fn check_threads() -> io::Result<()> {
    let end = &Mutex::new(());
    let held = end.lock();
    thread::scope(move |scope| {
        let _until_all_are_started = held;
        (0..THREADS).try_for_each(|_| thread::Builder::new().spawn_scoped(scope, || drop(end.lock())).map(drop))
    })
}

/// Starts the reactor by its first timer. If it cannot start, it panics.
fn start_reactor() -> Result<(), String> {
    set_hook(Box::new(|_| {}));
    let start = || block_on(poll_once(Clock::real().sleep(Duration::from_secs(60))));
    catch_unwind(start).map(drop).map_err(|panic| message(&*panic).to_owned())
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let message = panic.downcast_ref::<String>().map(String::as_str);
    message.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("the system gives no reason")
}

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Threads(error) => {
                write!(f, "no thread can be started: {error}; raise the limit on processes or memory")
            }
            Self::FileDescriptors(reason) => {
                write!(f, "too few file descriptors: {reason}; raise the limit on open files (`ulimit -n`)")
            }
        }
    }
}
