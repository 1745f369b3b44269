//! What every command needs of the system before it can do, or even say, anything.

use crate::error::CommandError;
use listwatch_runtime_smol::Clock;
use smol::future::{block_on, poll_once};
use std::any::Any;
use std::io;
use std::panic::{catch_unwind, set_hook};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

/// How many threads a command has at once before it asks a server: for the time, standard output, standard error and
/// the kubeconfig.
const THREADS: usize = 4;

/// Starts what every command uses. Without it, the crates below panic, or try for ever.
///
/// Panics are silent from here on, until a hook is set.
///
/// # Errors
/// Where the system gives too few threads or file descriptors.
pub(crate) fn check() -> Result<(), CommandError> {
    check_threads().map_err(CommandError::Threads)?;
    start_reactor().map_err(CommandError::Reactor)
}

/// Starts all of the threads before the first one ends.
fn check_threads() -> io::Result<()> {
    let end = &Mutex::new(());
    let held = end.lock();
    thread::scope(move |scope| {
        let _until_all_are_started = held;
        (0..THREADS).try_for_each(|_| thread::Builder::new().spawn_scoped(scope, || drop(end.lock())).map(drop))
    })
}

/// The reactor starts when something waits for the first time, and can only panic where it cannot.
fn start_reactor() -> Result<(), String> {
    set_hook(Box::new(|_| {}));
    let start = || block_on(poll_once(Clock::real().sleep(Duration::from_secs(60))));
    catch_unwind(start).map(drop).map_err(|panic| message(&*panic).to_owned())
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let message = panic.downcast_ref::<String>().map(String::as_str);
    message.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("the system does not say why")
}
