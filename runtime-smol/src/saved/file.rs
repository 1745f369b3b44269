use listwatch_core::saved::Flash;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::ErrorKind::{InvalidInput, PermissionDenied, Unsupported};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

/// A file as a [`Flash`]. The next state is written to a file beside it, which replaces it when its bytes are on the disk.
///
/// Only its owner may read it. One process at a time may use it. The file beside it has `.new` behind its name; one that
/// a killed process left is written anew.
#[derive(Debug)]
pub struct SavedFile {
    path: PathBuf,
    next: PathBuf,
    read: Option<File>,
    written: Option<File>,
}

impl SavedFile {
    /// The file at `path`, which need not be there. Its folder has to be.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        let mut next = OsString::from(&path);
        next.push(".new");
        Self { path, next: next.into(), read: None, written: None }
    }

    /// The path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
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
        self.written.as_mut().ok_or_else(no_state)?.write_all(bytes)
    }

    fn commit(&mut self) -> io::Result<()> {
        self.written.take().ok_or_else(no_state)?.sync_all()?;
        fs::rename(&self.next, &self.path)?;
        match self.sync_folder() {
            // The state is there. The next save would not be synced either.
            Err(error) if matches!(error.kind(), PermissionDenied | Unsupported | InvalidInput) => Ok(()),
            synced => synced,
        }
    }
}
