//! A lock that ends with its process.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::Duration;

/// A lock that is held until the drop.
#[derive(Debug)]
pub(super) struct Locked {
    _file: File,
}

/// How often a lock that another one holds is tried again, and after which time each.
const ATTEMPTS: u32 = 10;
const PAUSE: Duration = Duration::from_millis(10);

/// Locks the file at `path`, which is made if it is not there. `None` if there are no locks, or none can be made now.
pub(super) fn lock(path: &Path) -> io::Result<Option<Locked>> {
    match locked(path) {
        Ok(file) => Ok(Some(Locked { _file: file })),
        Err(error) if error.kind() == ErrorKind::ResourceBusy => Err(error),
        // The folder may come later. If the save fails too, it says why.
        Err(_) => Ok(None),
    }
}

/// As [`lock`], and tries again for a moment: a process that another thread is about to start holds each lock of this one.
#[expect(
    clippy::disallowed_methods,
    reason = "on a thread of its own, or before the informer begins and after its end"
)]
pub(super) fn lock_patiently(path: &Path) -> io::Result<Option<Locked>> {
    for _ in 0..ATTEMPTS {
        match lock(path) {
            Err(_) => std::thread::sleep(PAUSE),
            locked => return locked,
        }
    }
    lock(path)
}

fn busy() -> io::Error {
    io::Error::new(ErrorKind::ResourceBusy, "another informer or process saves to it; give each one a path of its own")
}

/// The kernel forgets a lock with the last descriptor of the file, so a killed process leaves none.
#[cfg(unix)]
fn locked(path: &Path) -> io::Result<File> {
    use rustix::fs::{FlockOperation, flock};
    let mut options = OpenOptions::new();
    // With both rights, the open of a pipe does not wait.
    options.read(true).write(true).create(true).truncate(false);
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Err(rustix::io::Errno::WOULDBLOCK) => Err(busy()),
        locked => Ok(locked.map(|()| file)?),
    }
}

/// A file that nobody else may open.
#[cfg(windows)]
fn locked(path: &Path) -> io::Result<File> {
    const SHARING_VIOLATION: i32 = 32;
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    std::os::windows::fs::OpenOptionsExt::share_mode(&mut options, 0);
    options.open(path).map_err(|error| if error.raw_os_error() == Some(SHARING_VIOLATION) { busy() } else { error })
}

/// There are no locks here.
#[cfg(not(any(unix, windows)))]
fn locked(_: &Path) -> io::Result<File> {
    Err(ErrorKind::Unsupported.into())
}
