use super::counted::Counted;
use super::members::{Gzip, Members, Zstd};
use crate::error::{CaptureError, CaptureErrorKind, Fault};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
const BUFFER: usize = 64 * 1024;

/// The bytes of a file, decompressed if it begins with the magic bytes of gzip or Zstandard. A gzip file may have several
/// members, and a Zstandard file several frames.
pub(crate) struct Source {
    path: Arc<Path>,
    len: u64,
    bytes: Bytes,
}

enum Bytes {
    Plain(BufReader<Counted>),
    Gzip(Box<Members<Gzip>>),
    Zstd(Box<Members<Zstd>>),
}

impl Source {
    pub(crate) fn open(path: &Arc<Path>) -> Result<Self, CaptureError> {
        let error = |message| CaptureError::new(path, None, Fault::new(CaptureErrorKind::Io, message));
        let unopened = |cause| error(format!("cannot be opened: {cause}; check the path and the permissions"));
        // Opening a pipe blocks until another process writes to it.
        let metadata = path.metadata().map_err(unopened)?;
        if !metadata.is_file() {
            return Err(error("is no regular file, which is needed to read it twice; save it to one first".into()));
        }
        let file = File::open(path).map_err(unopened)?;
        let mut file = BufReader::with_capacity(BUFFER, Counted::new(file));
        let magic = file.fill_buf().map(|bytes| [&GZIP_MAGIC[..], &ZSTD_MAGIC].map(|magic| bytes.starts_with(magic)));
        let bytes = match magic {
            Ok([true, _]) => Members::new(file, BUFFER).map(|members| Bytes::Gzip(members.into())),
            Ok([_, true]) => Members::new(file, BUFFER).map(|members| Bytes::Zstd(members.into())),
            Ok(_) => Ok(Bytes::Plain(file)),
            Err(cause) => Err(cause),
        };
        let bytes = bytes.map_err(|cause| error(unreadable(&cause)))?;
        Ok(Self { path: path.clone(), len: metadata.len(), bytes })
    }

    pub(crate) fn path(&self) -> &Arc<Path> {
        &self.path
    }

    /// The size of the file in bytes.
    pub(crate) fn file_bytes(&self) -> u64 {
        self.len
    }

    /// The number of bytes that were consumed of the file.
    pub(crate) fn position(&self) -> u64 {
        let file = self.file();
        file.get_ref().at() - file.buffer().len() as u64
    }

    /// Where reading may begin again for the bytes that come next: here, or at the newest member of a compressed file.
    ///
    /// The flag tells whether the next byte is the first one behind that place.
    pub(super) fn entry(&mut self) -> (u64, bool) {
        match &mut self.bytes {
            Bytes::Plain(_) => (self.position(), true),
            Bytes::Gzip(members) => members.entry(),
            Bytes::Zstd(frames) => frames.entry(),
        }
    }

    /// Goes to an [`entry`](Self::entry).
    pub(super) fn seek(&mut self, entry: u64) -> Result<(), CaptureError> {
        let sought = match &mut self.bytes {
            Bytes::Plain(file) => file.seek(SeekFrom::Start(entry)).map(drop),
            Bytes::Gzip(members) => members.seek(entry),
            Bytes::Zstd(frames) => frames.seek(entry),
        };
        sought.map_err(|error| self.error(None, &error))
    }

    /// Converts a failure to read.
    pub(crate) fn error(&self, line: Option<u64>, error: &io::Error) -> CaptureError {
        use io::ErrorKind::{InvalidData, InvalidInput, Other, UnexpectedEof};
        let format = match self.bytes {
            Bytes::Plain(_) => None,
            Bytes::Gzip(_) => Some("gzip"),
            Bytes::Zstd(_) => Some("zstd"),
        };
        let fault = match (error.kind(), format) {
            (UnexpectedEof, Some(format)) => Fault::new(
                CaptureErrorKind::Gzip,
                format!(
                    "the {format} data breaks off at byte {}; copy the file again, unless its recording was killed: then \
                     up to its last second may be missing",
                    self.position()
                ),
            ),
            (InvalidData | InvalidInput, Some(format)) | (Other, Some(format @ "zstd")) => Fault::new(
                CaptureErrorKind::Gzip,
                format!("the {format} data is damaged at byte {} ({error}); copy the file again", self.position()),
            ),
            _ => Fault::new(CaptureErrorKind::Io, unreadable(error)),
        };
        CaptureError::new(&self.path, line, fault)
    }

    fn file(&self) -> &BufReader<Counted> {
        match &self.bytes {
            Bytes::Plain(file) => file,
            Bytes::Gzip(members) => members.file(),
            Bytes::Zstd(frames) => frames.file(),
        }
    }

    fn buffered(&mut self) -> &mut dyn BufRead {
        match &mut self.bytes {
            Bytes::Plain(file) => file,
            Bytes::Gzip(members) => members,
            Bytes::Zstd(frames) => frames,
        }
    }
}

fn unreadable(error: &io::Error) -> String {
    format!("cannot be read: {error}; check the disk")
}

impl Read for Source {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.buffered().read(buf)
    }
}

impl BufRead for Source {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.buffered().fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.buffered().consume(amount);
    }
}
