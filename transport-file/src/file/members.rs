//! A compressed file, member by member: the members of a gzip file, or the frames of a Zstandard file.

use super::counted::Counted;
use flate2::bufread::GzDecoder;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use zstd::stream::read::Decoder as ZstdDecoder;

/// A part of a compressed file that can be read without those before it.
pub(super) trait Member: Read + Sized {
    /// Begins where the file stands.
    fn begin(file: BufReader<Counted>) -> io::Result<Self>;

    /// The compressed file.
    fn file(&self) -> &BufReader<Counted>;

    fn file_mut(&mut self) -> &mut BufReader<Counted>;

    /// Gives the file back, behind what was read of it.
    fn into_file(self) -> BufReader<Counted>;
}

/// A member of a gzip file.
pub(super) type Gzip = GzDecoder<BufReader<Counted>>;

/// A frame of a Zstandard file.
pub(super) type Zstd = ZstdDecoder<'static, BufReader<Counted>>;

impl Member for Gzip {
    fn begin(file: BufReader<Counted>) -> io::Result<Self> {
        Ok(Self::new(file))
    }

    fn file(&self) -> &BufReader<Counted> {
        self.get_ref()
    }

    fn file_mut(&mut self) -> &mut BufReader<Counted> {
        self.get_mut()
    }

    fn into_file(self) -> BufReader<Counted> {
        self.into_inner()
    }
}

impl Member for Zstd {
    fn begin(file: BufReader<Counted>) -> io::Result<Self> {
        Ok(Self::with_buffer(file)?.single_frame())
    }

    fn file(&self) -> &BufReader<Counted> {
        self.get_ref()
    }

    fn file_mut(&mut self) -> &mut BufReader<Counted> {
        self.get_mut()
    }

    fn into_file(self) -> BufReader<Counted> {
        self.finish()
    }
}

/// The least bytes between the beginnings of members that are noted.
const APART: u64 = 64 * 1024;

/// The decompressed bytes of a file.
pub(super) struct Members<M> {
    out: BufReader<Decoder<M>>,
    /// How many decompressed bytes were consumed.
    consumed: u64,
    /// The newest member that begins at or before the bytes that come next.
    entry: Entry,
}

/// The beginning of a member.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// In the file.
    at: u64,
    /// In the decompressed bytes.
    from: u64,
}

struct Decoder<M> {
    /// `None` only while a member follows another.
    member: Option<M>,
    /// How many bytes were decompressed.
    made: u64,
    /// The last members that began.
    ahead: Vec<Entry>,
}

impl<M: Member> Members<M> {
    pub(super) fn new(file: BufReader<Counted>, buffer: usize) -> io::Result<Self> {
        let decoder = Decoder { member: Some(M::begin(file)?), made: 0, ahead: Vec::new() };
        Ok(Self { out: BufReader::with_capacity(buffer, decoder), consumed: 0, entry: Entry { at: 0, from: 0 } })
    }

    /// The compressed file.
    pub(super) fn file(&self) -> &BufReader<Counted> {
        self.out.get_ref().file()
    }

    /// The beginning of the newest member before the bytes that come next, and whether they are its first.
    pub(super) fn entry(&mut self) -> (u64, bool) {
        let passed = self.out.get_ref().ahead.iter().take_while(|entry| entry.from <= self.consumed).count();
        self.entry = self.out.get_mut().ahead.drain(..passed).next_back().unwrap_or(self.entry);
        (self.entry.at, self.entry.from == self.consumed)
    }

    /// Goes to the beginning of a member.
    pub(super) fn seek(&mut self, at: u64) -> io::Result<()> {
        // What is buffered belongs to the old place.
        let left = self.out.buffer().len();
        self.out.consume(left);
        let decoder = self.out.get_mut();
        (decoder.made, self.consumed) = (0, 0);
        self.entry = Entry { at, from: 0 };
        decoder.ahead.clear();
        decoder.begin(|file| file.seek(SeekFrom::Start(at)).map(|_| true)).map(drop)
    }
}

impl<M: Member> Decoder<M> {
    fn file(&self) -> &BufReader<Counted> {
        match &self.member {
            Some(member) => member.file(),
            None => unreachable!("a member follows at once"),
        }
    }

    /// Begins a member where `find` leaves the file, if it finds one.
    fn begin(&mut self, find: impl FnOnce(&mut BufReader<Counted>) -> io::Result<bool>) -> io::Result<bool> {
        let Some(member) = &mut self.member else { unreachable!("a member follows at once") };
        if !find(member.file_mut())? {
            return Ok(false);
        }
        self.member = self.member.take().map(|member| M::begin(member.into_file())).transpose()?;
        Ok(true)
    }

    /// Begins the next member. Returns whether there is one.
    fn next_member(&mut self) -> io::Result<bool> {
        // A decoder may read the header at once.
        let at = self.file().get_ref().at() - self.file().buffer().len() as u64;
        let found = self.begin(|file| Ok(!file.fill_buf()?.is_empty()))?;
        if found {
            let (entry, last) = (Entry { at, from: self.made }, self.ahead.last());
            // Members may be tiny.
            if last.is_none_or(|last| last.from + APART <= entry.from) {
                // So many do not fit into the buffer: the first of them was passed.
                if self.ahead.len() == 4 {
                    self.ahead.remove(0);
                }
                self.ahead.push(entry);
            }
        }
        Ok(found)
    }
}

impl<M: Member> Read for Decoder<M> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let read = member.read(buf)?;
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

impl<M: Member> Read for Members<M> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let read = self.out.read(buf)?;
        self.consumed += read as u64;
        Ok(read)
    }
}

impl<M: Member> BufRead for Members<M> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.out.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.out.consume(amount);
        self.consumed += amount as u64;
    }
}
