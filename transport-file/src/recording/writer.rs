use crate::capture::format::Line;
use crate::error::{CaptureError, CaptureErrorKind, Fault};
use flate2::Compression;
use flate2::write::GzEncoder;
use listwatch_core::Instant;
use std::fmt;
use std::fs::OpenOptions;
use std::io::{BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The file of a recording, plain or compressed.
pub(crate) struct CaptureWriter {
    path: PathBuf,
    out: Out,
    /// Whether written lines have not reached the file yet.
    dirty: bool,
    /// When the last flush was.
    saved: Instant,
    /// How many flushes need not wait.
    early_flushes: u32,
}

enum Out {
    Plain(BufWriter<Sink>),
    Gzip(BufWriter<GzEncoder<Sink>>),
}

type Sink = Box<dyn Write + Send>;

/// The least time between flushes of a compressed file, which grows with each of them.
const BETWEEN_FLUSHES: Duration = Duration::from_secs(1);

/// How many first flushes do not wait, so that a recording that is killed early has its beginning.
const EARLY_FLUSHES: u32 = 16;

impl CaptureWriter {
    /// Creates a file. On Unix, only its owner may read it.
    pub(crate) fn create(path: &Path) -> Result<Self, CaptureError> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path).map_err(|error| refuse(path, why_not(path, &error)))?;
        Ok(Self::new(path, Box::new(file)))
    }

    /// Writes to `sink`. The path decides on compression, and names the file in errors.
    pub(crate) fn new(path: &Path, sink: Sink) -> Self {
        let gzip = path.extension().is_some_and(|extension| extension == "gz");
        let out = match gzip {
            true => Out::Gzip(BufWriter::new(GzEncoder::new(sink, Compression::default()))),
            false => Out::Plain(BufWriter::new(sink)),
        };
        Self { path: path.into(), out, dirty: false, saved: Instant::ZERO, early_flushes: EARLY_FLUSHES }
    }

    /// Adds a line.
    pub(crate) fn write(&mut self, line: Line<'_>) -> Result<(), CaptureError> {
        self.dirty = true;
        let out: &mut dyn Write = match &mut self.out {
            Out::Plain(out) => out,
            Out::Gzip(out) => out,
        };
        line.write(&mut *out).and_then(|()| out.write_all(b"\n")).map_err(|error| self.failed(&error))
    }

    /// Flushes the file while there is nothing to add. If a flush is not due yet, returns when to call again. A caller
    /// that wrote many lines `at_once` flushes a plain file now.
    pub(crate) fn rest(&mut self, now: Instant, at_once: bool) -> Result<Option<Instant>, CaptureError> {
        let due = match &self.out {
            Out::Plain(_) if at_once => now,
            Out::Gzip(_) if self.early_flushes > 0 => now,
            Out::Plain(_) | Out::Gzip(_) => self.saved + BETWEEN_FLUSHES,
        };
        if !self.dirty || now < due {
            return Ok(Some(due).filter(|_| self.dirty));
        }
        (self.dirty, self.saved) = (false, now);
        self.early_flushes = self.early_flushes.saturating_sub(1);
        self.flush().map(|()| None)
    }

    /// Ends the file.
    pub(crate) fn finish(&mut self) -> Result<(), CaptureError> {
        self.flush()?;
        let finished = match &mut self.out {
            Out::Plain(out) => out.flush(),
            Out::Gzip(out) => out.get_mut().try_finish(),
        };
        finished.map_err(|error| self.failed(&error))
    }

    fn flush(&mut self) -> Result<(), CaptureError> {
        let flushed = match &mut self.out {
            Out::Plain(out) => out.flush(),
            Out::Gzip(out) => out.flush(),
        };
        flushed.map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &std::io::Error) -> CaptureError {
        let advice = match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "; make room, and record on under another name",
            _ => "",
        };
        let kept = "the records before are kept, and can be played";
        refuse(&self.path, format!("cannot be written: {error}; {kept}{advice}"))
    }
}

impl fmt::Debug for CaptureWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CaptureWriter").field("path", &self.path).finish_non_exhaustive()
    }
}

/// The reason why a file cannot be created, with a remedy.
fn why_not(path: &Path, error: &std::io::Error) -> String {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    match error.kind() {
        ErrorKind::AlreadyExists if path.is_file() || path.is_symlink() => {
            "the file exists already; delete it, or give another name".into()
        }
        ErrorKind::AlreadyExists => "this is there already, and is no file; give another name".into(),
        ErrorKind::NotFound if !folder.is_dir() => {
            format!("cannot be made: there is no folder {}; make it first", folder.display())
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => format!("cannot be made: {error}; make room"),
        _ => format!("cannot be made: {error}; give a name in a folder that you may write to"),
    }
}

fn refuse(path: &Path, why: impl Into<String>) -> CaptureError {
    CaptureError::new(path, None, Fault::new(CaptureErrorKind::Io, why))
}
