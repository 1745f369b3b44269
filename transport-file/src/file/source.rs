//! The bytes of a file, member by member: the members of a gzip file, or the frames of a Zstandard file.

use crate::error::{CaptureError, CaptureErrorKind, Fault};
use flate2::bufread::GzDecoder;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use zstd::stream::read::Decoder as ZstdDecoder;

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
const BUFFER: usize = 64 * 1024;
/// The least bytes between the beginnings of members that are noted.
const APART: u64 = 64 * 1024;

/// The bytes of a file, decompressed if it begins with the magic bytes of gzip or Zstandard. A gzip file may have several
/// members, and a Zstandard file several frames.
pub(crate) struct Source {
    path: Arc<Path>,
    len: u64,
    out: BufReader<Members>,
    /// How many bytes were consumed since the member that was sought last; of a plain file, since its beginning.
    consumed: u64,
    /// The newest member that begins at or before the bytes that come next.
    entry: Begin,
}

/// The beginning of a member.
#[derive(Clone, Copy, Debug)]
struct Begin {
    /// In the file.
    at: u64,
    /// In the decompressed bytes.
    from: u64,
}

/// The decompressed bytes.
struct Members {
    /// `None` only while a member follows another.
    member: Option<Member>,
    /// How many bytes were decompressed.
    made: u64,
    /// The last members that began.
    ahead: Vec<Begin>,
}

/// A part of a file that can be read without those before it.
enum Member {
    Plain(File),
    Gzip(Box<GzDecoder<File>>),
    Zstd(ZstdDecoder<'static, File>),
}

type File = BufReader<Counted>;

/// A file that counts the bytes read from it.
struct Counted {
    file: std::fs::File,
    /// The position in the file.
    at: u64,
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
        let file = std::fs::File::open(path).map_err(unopened)?;
        let member = Member::first_of(Counted { file, at: 0 });
        let member = member.map_err(|cause| error(unreadable(&cause)))?;
        let out = BufReader::with_capacity(BUFFER, Members { member: Some(member), made: 0, ahead: Vec::new() });
        Ok(Self { path: path.clone(), len: metadata.len(), out, consumed: 0, entry: Begin { at: 0, from: 0 } })
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
        if self.out.get_ref().format().is_some() { self.out.get_ref().position() } else { self.consumed }
    }

    /// Where reading may begin again for the bytes that come next: here, or at the newest member of a compressed file.
    ///
    /// The flag tells whether the next byte is the first one behind that place.
    pub(super) fn entry(&mut self) -> (u64, bool) {
        let members = self.out.get_mut();
        if members.format().is_none() {
            return (self.consumed, true);
        }
        let passed = members.ahead.iter().take_while(|begin| begin.from <= self.consumed).count();
        self.entry = members.ahead.drain(..passed).next_back().unwrap_or(self.entry);
        (self.entry.at, self.entry.from == self.consumed)
    }

    /// Goes to an [`entry`](Self::entry).
    pub(super) fn seek(&mut self, at: u64) -> Result<(), CaptureError> {
        // What is buffered belongs to the old place.
        let left = self.out.buffer().len();
        self.out.consume(left);
        let members = self.out.get_mut();
        (members.made, self.entry) = (0, Begin { at, from: 0 });
        self.consumed = if members.format().is_some() { 0 } else { at };
        members.ahead.clear();
        let sought = members.begin(|file| file.seek(SeekFrom::Start(at)).map(|_| true));
        sought.map(drop).map_err(|error| self.error(None, &error))
    }

    /// Converts a failure to read.
    pub(crate) fn error(&self, line: Option<u64>, error: &io::Error) -> CaptureError {
        use io::ErrorKind::{InvalidData, InvalidInput, Other, UnexpectedEof};
        let position = self.position();
        let fault = match (error.kind(), self.out.get_ref().format()) {
            (UnexpectedEof, Some(format)) => Fault::new(
                CaptureErrorKind::Gzip,
                format!(
                    "the {format} data breaks off at byte {position}; copy the file again, unless its recording was \
                     killed: then up to its last second may be missing"
                ),
            ),
            (InvalidData | InvalidInput, Some(format)) | (Other, Some(format @ "zstd")) => Fault::new(
                CaptureErrorKind::Gzip,
                format!("the {format} data is damaged at byte {position} ({error}); copy the file again"),
            ),
            _ => Fault::new(CaptureErrorKind::Io, unreadable(error)),
        };
        CaptureError::new(&self.path, line, fault)
    }
}

fn unreadable(error: &io::Error) -> String {
    format!("cannot be read: {error}; check the disk")
}

impl Read for Source {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let read = self.out.read(buf)?;
        self.consumed += read as u64;
        Ok(read)
    }
}

impl BufRead for Source {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.out.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.out.consume(amount);
        self.consumed += amount as u64;
    }
}

impl Members {
    /// The format of a compressed file.
    fn format(&self) -> Option<&'static str> {
        match &self.member {
            Some(Member::Gzip(_)) => Some("gzip"),
            Some(Member::Zstd(_)) => Some("zstd"),
            Some(Member::Plain(_)) | None => None,
        }
    }

    /// The number of bytes that were taken of the file.
    fn position(&self) -> u64 {
        let file = self.member.as_ref().map(Member::file);
        file.map_or(0, |file| file.get_ref().at - file.buffer().len() as u64)
    }

    /// Begins a member where `find` leaves the file, if it finds one.
    fn begin(&mut self, find: impl FnOnce(&mut File) -> io::Result<bool>) -> io::Result<bool> {
        let Some(member) = &mut self.member else { return Ok(false) };
        if !find(member.file_mut())? {
            return Ok(false);
        }
        self.member = self.member.take().map(Member::next).transpose()?;
        Ok(true)
    }

    /// Begins the next member. Returns whether there is one.
    fn next_member(&mut self) -> io::Result<bool> {
        // A decoder may read the header at once.
        let at = self.position();
        let found = self.begin(|file| Ok(!file.fill_buf()?.is_empty()))?;
        let (begin, last) = (Begin { at, from: self.made }, self.ahead.last());
        // Members may be tiny.
        if found && last.is_none_or(|last| last.from + APART <= begin.from) {
            // So many do not fit into the buffer: the first of them was passed.
            if self.ahead.len() == 4 {
                self.ahead.remove(0);
            }
            self.ahead.push(begin);
        }
        Ok(found)
    }
}

impl Read for Members {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let read = match member {
                Member::Plain(file) => file.read(buf),
                Member::Gzip(member) => member.read(buf),
                Member::Zstd(frame) => frame.read(buf),
            }?;
            if read > 0 || buf.is_empty() {
                self.made += read as u64;
                return Ok(read);
            }
            if !self.next_member()? {
                break;
            }
        }
        Ok(0)
    }
}

impl Member {
    /// The first one of a file, whose format is that of the file.
    fn first_of(mut file: Counted) -> io::Result<Self> {
        let mut magic = Vec::with_capacity(ZSTD_MAGIC.len());
        file.by_ref().take(ZSTD_MAGIC.len() as u64).read_to_end(&mut magic)?;
        file.seek(SeekFrom::Start(0))?;
        match [&GZIP_MAGIC[..], &ZSTD_MAGIC].map(|format| magic.starts_with(format)) {
            [true, _] => Ok(Self::gzip(BufReader::with_capacity(BUFFER, file))),
            [_, true] => Self::zstd(BufReader::with_capacity(BUFFER, file)),
            // Its bytes go to the reader's buffer at once.
            _ => Ok(Self::Plain(BufReader::with_capacity(0, file))),
        }
    }

    fn gzip(file: File) -> Self {
        Self::Gzip(Box::new(GzDecoder::new(file)))
    }

    fn zstd(file: File) -> io::Result<Self> {
        Ok(Self::Zstd(ZstdDecoder::with_buffer(file)?.single_frame()))
    }

    /// One that begins where this one has left the file.
    fn next(self) -> io::Result<Self> {
        match self {
            Self::Plain(file) => Ok(Self::Plain(file)),
            Self::Gzip(member) => Ok(Self::gzip(member.into_inner())),
            Self::Zstd(frame) => Self::zstd(frame.finish()),
        }
    }

    fn file(&self) -> &File {
        match self {
            Self::Plain(file) => file,
            Self::Gzip(member) => member.get_ref(),
            Self::Zstd(frame) => frame.get_ref(),
        }
    }

    fn file_mut(&mut self) -> &mut File {
        match self {
            Self::Plain(file) => file,
            Self::Gzip(member) => member.get_mut(),
            Self::Zstd(frame) => frame.get_mut(),
        }
    }
}

impl Read for Counted {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buf)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl Seek for Counted {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.at = self.file.seek(to)?;
        Ok(self.at)
    }
}
