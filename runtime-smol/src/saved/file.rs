use core::fmt;
use listwatch_core::saved::{Flash, SavedError};
use listwatch_core::text::Printable;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::ErrorKind::{InvalidInput, PermissionDenied, Unsupported};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A file as a [`Flash`]. The next state is written to a file beside it, which replaces it when its bytes are on the disk.
///
/// Only its owner may read it. The file beside it has `.new` behind its name. One that a killed process left is removed.
///
/// One `SavedFile` at a time writes: it holds a lock on a third file, with `.lock` behind its name. That file is empty and
/// stays. The system releases the lock of a process that ends, however it ends.
#[derive(Debug)]
pub struct SavedFile {
    path: PathBuf,
    next: PathBuf,
    lock: Option<File>,
    read: Option<File>,
    written: Option<File>,
}

impl SavedFile {
    /// The file at `path`, which need not be there. Its folder has to be.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Self { next: beside(&path, ".new"), path, lock: None, read: None, written: None }
    }

    /// Takes the lock, until this is dropped. [`create`](Flash::create) does so too. Where no lock can be made, as on a file
    /// system without locks, nothing tells two writers from each other.
    ///
    /// # Errors
    /// [`ErrorKind::ResourceBusy`] if another `SavedFile` has it, in this process or another one. Then try again later.
    pub fn lock(&mut self) -> io::Result<()> {
        if self.lock.is_some() {
            return Ok(());
        }
        self.lock = match locked(&beside(&self.path, ".lock")) {
            Err(error) if error.kind() == ErrorKind::ResourceBusy => return Err(error),
            // The folder may come later. If the save fails too, it says why.
            locked => locked.ok(),
        };
        // Without a lock, another one may be writing it.
        if self.lock.is_some() {
            self.discard();
        }
        Ok(())
    }

    /// The path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// As [`lock`](SavedFile::lock), and tries again for a moment if another one has it: a process that another thread is
    /// about to start holds each lock of this one.
    #[expect(
        clippy::disallowed_methods,
        reason = "on a thread of its own, or before the informer begins and after its end"
    )]
    pub(super) fn lock_patiently(&mut self) -> io::Result<()> {
        for _ in 0..ATTEMPTS {
            if self.lock().is_ok() {
                return Ok(());
            }
            std::thread::sleep(PAUSE);
        }
        self.lock()
    }

    /// Whether a state is there, or the beginning of one.
    pub(super) fn is_there(&self) -> bool {
        [&self.path, &self.next].into_iter().any(|path| path.symlink_metadata().is_ok())
    }

    /// Removes the next state, which was not committed.
    pub(super) fn discard(&mut self) {
        self.written = None;
        // What cannot be removed cannot be replaced either: the next save tells.
        let _ = fs::remove_file(&self.next);
    }

    /// Writes the new name to the disk.
    #[cfg(unix)]
    fn sync_folder(&self) -> io::Result<()> {
        let folder =
            self.path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
        File::open(folder)?.sync_all()
    }

    /// Folders cannot be opened here.
    #[cfg(not(unix))]
    fn sync_folder(&self) -> io::Result<()> {
        Ok(())
    }
}

fn beside(path: &Path, extension: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(extension);
    name.into()
}

/// Whether a folder was synced, if it can be. The state is there, and the next save would not be synced either.
fn where_possible(synced: io::Result<()>) -> io::Result<()> {
    match synced {
        Err(error) if matches!(error.kind(), PermissionDenied | Unsupported | InvalidInput) => Ok(()),
        synced => synced,
    }
}

fn no_state() -> io::Error {
    io::Error::other("no new state was begun")
}

impl Flash for SavedFile {
    type Error = io::Error;

    fn open(&mut self) -> io::Result<bool> {
        self.read = None;
        let found = match fs::metadata(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            found => found?,
        };
        if !found.is_file() {
            return Err(io::Error::other("this is no file; delete it, or name another path"));
        }
        self.read = Some(File::open(&self.path)?);
        Ok(true)
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(file) = &mut self.read else { return Ok(0) };
        loop {
            match file.read(buffer) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                read => return read,
            }
        }
    }

    fn create(&mut self) -> io::Result<()> {
        self.lock()?;
        (self.read, self.written) = (None, None);
        match fs::remove_file(&self.next) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        self.written = Some(options.open(&self.next)?);
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let written = self.written.as_mut().ok_or_else(no_state)?.write_all(bytes);
        written.inspect_err(|_| self.discard())
    }

    fn commit(&mut self) -> io::Result<()> {
        let synced = self.written.take().ok_or_else(no_state)?.sync_all();
        synced.and_then(|()| fs::rename(&self.next, &self.path)).inspect_err(|_| self.discard())?;
        where_possible(self.sync_folder())
    }
}

/// A state that was not committed takes no room.
impl Drop for SavedFile {
    fn drop(&mut self) {
        if self.written.is_some() {
            self.discard();
        }
    }
}

/// How often a lock that another one holds is tried again, and after which time each.
const ATTEMPTS: u32 = 10;
const PAUSE: Duration = Duration::from_millis(10);

fn busy() -> io::Error {
    io::Error::new(ErrorKind::ResourceBusy, "another informer or process saves to it; give each one a path of its own")
}

/// Locks the file at `path`, which is made if it is not there. The kernel forgets a lock with the last descriptor of the
/// file, so a killed process leaves none.
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

/// Why a saved cache was not restored, or the cache is not saved. The informer goes on without.
///
/// [`Display`](fmt::Display) says it in one line:
/// `/var/lib/agent/pods.json: it is of another server: https://a, and this is https://b; the cache begins with a list`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SaveProblem {
    /// What follows.
    pub kind: SaveProblemKind,
    /// The file.
    pub path: PathBuf,
    /// The cause.
    pub error: SavedError,
}

/// What follows from a [`SaveProblem`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SaveProblemKind {
    /// The cache begins with a list.
    NotRestored,
    /// The resource may have secrets, which are saved only on [request](super::SaveTo::include_secrets), but a file is there.
    /// It may have those of an earlier run.
    SecretsLeft,
    /// Another informer saves to the file, in this process or another one. The cache begins with a list. It is saved once
    /// the other one has ended, which is tried at each save.
    InUse,
    /// The last whole state stays, and the next save is due after the usual time.
    NotSaved,
}

impl fmt::Display for SaveProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, path, error } = self;
        let result = match kind {
            SaveProblemKind::NotRestored => "the cache begins with a list",
            SaveProblemKind::InUse => "the cache begins with a list, and is not saved until the other one has ended",
            SaveProblemKind::SecretsLeft => {
                "the cache is not saved, but this file is there, perhaps with those of an earlier run: delete it"
            }
            SaveProblemKind::NotSaved => "the cache is not saved",
        };
        write!(f, "{}: {error}; {result}", Printable::new(path.display()))
    }
}

impl core::error::Error for SaveProblem {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_cannot_be_synced_does_not_fail_a_save() {
        for kind in [PermissionDenied, Unsupported, InvalidInput] {
            assert!(where_possible(Err(kind.into())).is_ok(), "{kind}");
        }
        assert!(where_possible(Err(ErrorKind::StorageFull.into())).is_err());
    }
}
