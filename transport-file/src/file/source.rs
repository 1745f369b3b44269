//! The bytes of a file, member by member: the members of a gzip file, or the frames of a Zstandard file. A text in UTF-16,
//! as PowerShell writes it, is converted to UTF-8 when it is opened.

use crate::error::{CaptureError, CaptureErrorKind, Fault};
use flate2::bufread::GzDecoder;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use zstd::stream::read::Decoder as ZstdDecoder;

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// The byte order marks of UTF-16, little-endian and big-endian.
const UTF16_MARKS: [[u8; 2]; 2] = [[0xff, 0xfe], [0xfe, 0xff]];
/// The most bytes of a text in UTF-16, which is in memory.
const MOST_UTF16: u64 = 1 << 30;
const BUFFER: usize = 64 * 1024;
/// The least bytes between the beginnings of members that are noted.
const APART: u64 = 64 * 1024;

/// The bytes of a file, decompressed if it begins with the magic bytes of gzip or Zstandard. A gzip file may have several
/// members, and a Zstandard file several frames.
pub(crate) struct Source {
    path: Arc<Path>,
    len: u64,
    /// `None` only while a member follows another.
    member: Option<Member>,
    /// Decompressed bytes of one member, and which of them are left.
    buffer: Box<[u8]>,
    left: Range<usize>,
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

/// A part of a file that can be read without those before it.
enum Member {
    Plain(File),
    Gzip(Box<GzDecoder<File>>),
    Zstd(ZstdDecoder<'static, File>),
}

type File = BufReader<Counted>;

/// A file that counts the bytes read from it.
struct Counted {
    file: Box<dyn ReadSeek>,
    /// The position in the file.
    at: u64,
}

trait ReadSeek: Read + Seek + Send + Sync {}

impl<F: Read + Seek + Send + Sync> ReadSeek for F {}

impl Source {
    pub(crate) fn open(path: &Arc<Path>) -> Result<Self, CaptureError> {
        let error = |message| CaptureError::new(path, None, Fault::new(CaptureErrorKind::Io, message));
        let unopened = |cause| error(format!("cannot be opened: {cause}; check the path and the permissions"));
        // Opening a pipe blocks until another process writes to it.
        let metadata = path.metadata().map_err(unopened)?;
        if metadata.is_dir() {
            return Err(error("is a folder; give a file".into()));
        }
        if !metadata.is_file() {
            return Err(error("is no regular file, which is needed to read it twice; save it to one first".into()));
        }
        let file = std::fs::File::open(path).map_err(unopened)?;
        let member = Member::first_of(Counted { file: Box::new(file), at: 0 });
        let member = Some(member.map_err(|cause| error(unreadable(&cause)))?);
        let (path, len, entry) = (Arc::clone(path), metadata.len(), Begin { at: 0, from: 0 });
        Ok(Self { path, len, member, buffer: vec![0; BUFFER].into(), left: 0..0, consumed: 0, entry })
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
        let file = self.member.as_ref().filter(|member| member.format().is_some()).map(Member::file);
        file.map_or(self.consumed, |file| file.get_ref().at - file.buffer().len() as u64)
    }

    /// The format of a compressed file.
    fn format(&self) -> Option<&'static str> {
        self.member.as_ref().and_then(Member::format)
    }

    /// Where reading may begin again for the bytes that come next: here, or at the newest member of a compressed file.
    ///
    /// The flag tells whether the next byte is the first one behind that place.
    pub(super) fn entry(&self) -> (u64, bool) {
        match self.format() {
            Some(_) => (self.entry.at, self.entry.from == self.consumed),
            None => (self.consumed, true),
        }
    }

    /// Goes to an [`entry`](Self::entry).
    pub(super) fn seek(&mut self, at: u64) -> Result<(), CaptureError> {
        // What is buffered belongs to the old place.
        (self.left, self.entry) = (0..0, Begin { at, from: 0 });
        self.consumed = if self.format().is_some() { 0 } else { at };
        let sought = self.begin(|file| file.seek(SeekFrom::Start(at)).map(|_| true));
        sought.map(drop).map_err(|error| self.error(None, &error))
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
        let begin = Begin { at: self.position(), from: self.consumed };
        let found = self.begin(|file| Ok(!file.fill_buf()?.is_empty()))?;
        // Members may be tiny.
        if found && self.entry.from + APART <= begin.from {
            self.entry = begin;
        }
        Ok(found)
    }

    /// Converts a failure to read.
    pub(crate) fn error(&self, line: Option<u64>, error: &io::Error) -> CaptureError {
        use io::ErrorKind::{InvalidData, InvalidInput, Other, UnexpectedEof};
        let position = self.position();
        let fault = match (error.kind(), self.format()) {
            (UnexpectedEof, Some(format)) => Fault::new(
                CaptureErrorKind::Compression,
                format!(
                    "the {format} data breaks off at byte {position}; copy the file again, unless its recording was \
                     killed: then up to its last second may be missing"
                ),
            ),
            (InvalidData | InvalidInput, Some(format)) | (Other, Some(format @ "zstd")) => Fault::new(
                CaptureErrorKind::Compression,
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
        let read = self.fill_buf()?.read(buf)?;
        self.consume(read);
        Ok(read)
    }
}

impl BufRead for Source {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.left.is_empty()
            && let Some(member) = &mut self.member
        {
            self.left = 0..member.read(&mut self.buffer)?;
            if self.left.is_empty() && !self.next_member()? {
                break;
            }
        }
        Ok(&self.buffer[self.left.clone()])
    }

    fn consume(&mut self, amount: usize) {
        self.left.start += amount;
        self.consumed += amount as u64;
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
            _ => Ok(Self::Plain(BufReader::with_capacity(0, converted(file, &magic)?))),
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

    /// The format, if it is compressed.
    fn format(&self) -> Option<&'static str> {
        match self {
            Self::Plain(_) => None,
            Self::Gzip(_) => Some("gzip"),
            Self::Zstd(_) => Some("zstd"),
        }
    }

    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(file) => file.read(buf),
            Self::Gzip(member) => member.read(buf),
            Self::Zstd(frame) => frame.read(buf),
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

/// The same file or, if that is in UTF-16, its text in UTF-8.
fn converted(mut file: Counted, magic: &[u8]) -> io::Result<Counted> {
    let Some(mark) = UTF16_MARKS.iter().position(|mark| magic.starts_with(mark)) else { return Ok(file) };
    let mut bytes = Vec::new();
    if file.by_ref().take(MOST_UTF16 + 1).read_to_end(&mut bytes)? as u64 > MOST_UTF16 {
        return Err(io::Error::other("a text in UTF-16 is longer than 1 GiB; convert it to UTF-8"));
    }
    let unit = [u16::from_le_bytes, u16::from_be_bytes][mark];
    let units = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    let text: String = char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
    Ok(Counted { file: Box::new(io::Cursor::new(text.into_bytes())), at: 0 })
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
