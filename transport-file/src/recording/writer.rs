use crate::capture::format::Line;
use crate::error::{CaptureError, CaptureErrorKind, Fault};
use crate::packed::LEVEL;
use flate2::Compression;
use flate2::write::GzEncoder;
use listwatch_core::Instant;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use zstd::stream::write::Encoder;

/// The file of a recording, plain or compressed. It ends in a whole line, unless a kill came within a write.
pub(crate) struct CaptureWriter {
    path: PathBuf,
    file: Sink,
    compression: Option<Compressor>,
    /// How many lines were written.
    written: u64,
    /// Whole lines that are neither compressed nor in the file yet.
    lines: Vec<u8>,
    /// How many bytes of lines were written since the last flush.
    unsaved: usize,
    /// When the last flush was.
    saved: Instant,
    /// How many flushes need not wait.
    early_flushes: u32,
}

/// Compresses lines into members, each of which can be read without those before it.
struct Compressor {
    member: Member,
    /// How many bytes of lines the open member has.
    len: usize,
}

/// A member of a gzip file, or a frame of a Zstandard file.
enum Member {
    Gzip(GzEncoder<Vec<u8>>),
    Zstd(Encoder<'static, Vec<u8>>),
}

type Sink = Box<dyn Write + Send>;

/// The least time between flushes. Each takes a call of the system, and a compressed file grows with each of them.
const BETWEEN_FLUSHES: Duration = Duration::from_secs(1);

/// How many first flushes do not wait, so that a recording that is killed early has its beginning.
const EARLY_FLUSHES: u32 = 16;

/// How many files of a name are made.
const MOST_FILES: u32 = 1_000;

/// How many bytes of lines a member has. A reader that goes back reads one member again.
const MEMBER: usize = 4 * 1024 * 1024;

/// How many bytes of lines are written together. The system takes a fifth less for them than for a quarter of them.
const BLOCK: usize = 256 * 1024;

impl CaptureWriter {
    /// Creates a file. On Unix, only its owner may read it.
    pub(crate) fn create(path: &Path) -> Result<Self, CaptureError> {
        let file = new_file(path).map_err(|error| refuse(path, why_not(path, &error)))?;
        Self::new(path, Box::new(file))
    }

    /// Creates a file or, where it exists, the next that does not.
    pub(crate) fn create_next(path: &Path) -> Result<Self, CaptureError> {
        let mut next = path.to_path_buf();
        for number in 2..=MOST_FILES {
            match new_file(&next) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists && next.is_file() => {}
                Err(error) => return Err(refuse(&next, why_not(&next, &error))),
                Ok(file) => return Self::new(&next, Box::new(file)),
            }
            next = numbered(path, number);
        }
        Err(refuse(path, format!("{MOST_FILES} files of this name exist already; delete some, or give another name")))
    }

    /// Creates the file that is to be [published](Self::publish) under this name.
    pub(crate) fn create_unfinished(path: &Path) -> Result<Self, CaptureError> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Self::create_next(&path.with_file_name(format!("unfinished-{}-{name}", std::process::id())))
    }

    /// Gives the file its name or, where that exists, the next one. Returns it.
    pub(crate) fn publish(&self, path: &Path) -> Result<PathBuf, CaptureError> {
        // An empty file holds the place until the whole one replaces it.
        let free = Self::create_next(path)?.path;
        let named = std::fs::rename(&self.path, &free);
        named.map_err(|error| refuse(path, format!("cannot be named: {error}")))?;
        Ok(free)
    }

    /// Removes a file that could not be written.
    pub(crate) fn discard(self) {
        drop(self.file);
        let _gone = std::fs::remove_file(&self.path);
    }

    /// The file that it writes.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes to `file`. The path decides on compression, and names the file in errors.
    pub(crate) fn new(path: &Path, file: Sink) -> Result<Self, CaptureError> {
        let member = match path.extension() {
            Some(extension) if extension == "gz" => Some(Ok(Member::gzip())),
            Some(extension) if extension == "zst" => Some(Member::zstd()),
            _ => None,
        };
        let member = member.transpose().map_err(|error| refuse(path, why_not(path, &error)))?;
        let compression = member.map(|member| Compressor { member, len: 0 });
        let (path, lines, saved) = (path.into(), Vec::new(), Instant::ZERO);
        Ok(Self { path, file, compression, written: 0, lines, unsaved: 0, saved, early_flushes: EARLY_FLUSHES })
    }

    /// Adds a line, or those of a chunk of a body.
    pub(crate) fn write(&mut self, line: Line<'_>) -> Result<(), CaptureError> {
        let before = self.lines.len();
        line.write(&mut self.written, &mut self.lines).map_err(|error| self.failed(&error))?;
        self.unsaved += self.lines.len() - before;
        if let Some(compressor) = &mut self.compression {
            // At once, while they are in the processor's cache.
            let compressed = compressor.add(&self.lines);
            self.lines.clear();
            compressed.map_err(|error| self.failed(&error))?;
        }
        if self.unsaved < BLOCK { Ok(()) } else { self.flush() }
    }

    /// Flushes the file while there is nothing to add. If a flush is not due yet, returns when to call again.
    pub(crate) fn rest(&mut self, now: Instant) -> Result<Option<Instant>, CaptureError> {
        let due = if self.early_flushes > 0 { now } else { self.saved + BETWEEN_FLUSHES };
        let is_saved = self.unsaved == 0;
        if is_saved || now < due {
            return Ok(Some(due).filter(|_| !is_saved));
        }
        self.saved = now;
        self.early_flushes = self.early_flushes.saturating_sub(1);
        self.flush().map(|()| None)
    }

    /// Ends the file.
    pub(crate) fn finish(&mut self) -> Result<(), CaptureError> {
        self.flush()?;
        let Some(compressor) = &mut self.compression else { return Ok(()) };
        let finished = compressor.finish().and_then(|rest| self.file.write_all(&rest));
        finished.map_err(|error| self.failed(&error))
    }

    /// Writes the lines, so that a reader gets them all.
    fn flush(&mut self) -> Result<(), CaptureError> {
        let written = match &mut self.compression {
            None => self.file.write_all(&self.lines),
            Some(compressor) => compressor.flushed().and_then(|bytes| self.file.write_all(&bytes)),
        };
        self.lines.clear();
        self.unsaved = 0;
        written.and_then(|()| self.file.flush()).map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &io::Error) -> CaptureError {
        let advice = match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "; make room, and record on under another name",
            _ => "",
        };
        let kept = "the records before are kept, and can be played";
        refuse(&self.path, format!("cannot be written: {error}; {kept}{advice}"))
    }
}

impl Compressor {
    fn add(&mut self, lines: &[u8]) -> io::Result<()> {
        self.len += lines.len();
        self.member.encoder().write_all(lines)
    }

    /// The bytes of the added lines, from which they can be read without those that follow.
    fn flushed(&mut self) -> io::Result<Vec<u8>> {
        if self.len < MEMBER {
            self.member.encoder().flush()?;
            return Ok(core::mem::take(self.member.out()));
        }
        let bytes = self.finish()?;
        (self.member, self.len) = (self.member.next()?, 0);
        Ok(bytes)
    }

    /// The bytes that end the member.
    fn finish(&mut self) -> io::Result<Vec<u8>> {
        match &mut self.member {
            Member::Gzip(out) => out.try_finish(),
            Member::Zstd(out) => out.do_finish(),
        }?;
        Ok(core::mem::take(self.member.out()))
    }
}

impl Member {
    fn gzip() -> Self {
        Self::Gzip(GzEncoder::new(Vec::new(), Compression::default()))
    }

    /// The lines have checksums, so that the frame has none.
    fn zstd() -> io::Result<Self> {
        Encoder::new(Vec::new(), LEVEL).map(Self::Zstd)
    }

    /// Another one of the same format.
    fn next(&self) -> io::Result<Self> {
        if let Self::Gzip(_) = self { Ok(Self::gzip()) } else { Self::zstd() }
    }

    fn encoder(&mut self) -> &mut dyn Write {
        match self {
            Self::Gzip(out) => out,
            Self::Zstd(out) => out,
        }
    }

    fn out(&mut self) -> &mut Vec<u8> {
        match self {
            Self::Gzip(out) => out.get_mut(),
            Self::Zstd(out) => out.get_mut(),
        }
    }
}

listwatch_core::summary!("CaptureWriter" for CaptureWriter, |it| { path: it.path });

/// A new file, which only its owner may read.
pub(crate) fn new_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// A path with a number before the extensions of its file: `tonight-2.jsonl.zst`.
fn numbered(path: &Path, number: u32) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.find('.').filter(|place| *place > 0).unwrap_or(name.len());
    let (stem, extensions) = name.split_at(stem);
    path.with_file_name(format!("{stem}-{number}{extensions}"))
}

/// The reason why a file cannot be created, with a remedy.
fn why_not(path: &Path, error: &io::Error) -> String {
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
