//! A gzip file, member by member.

use super::counted::Counted;
use flate2::bufread::GzDecoder;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};

/// The least bytes between the beginnings of members that are noted.
const APART: u64 = 64 * 1024;

/// The decompressed bytes of a gzip file. Each of its members can be read without those before it.
pub(super) struct Members {
    out: BufReader<Decoder>,
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

struct Decoder {
    /// `None` only while a member follows another.
    member: Option<GzDecoder<BufReader<Counted>>>,
    /// How many bytes were decompressed.
    made: u64,
    /// The last members that began.
    ahead: Vec<Entry>,
}

impl Members {
    pub(super) fn new(file: BufReader<Counted>, buffer: usize) -> Self {
        let decoder = Decoder { member: Some(GzDecoder::new(file)), made: 0, ahead: Vec::new() };
        Self { out: BufReader::with_capacity(buffer, decoder), consumed: 0, entry: Entry { at: 0, from: 0 } }
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

impl Decoder {
    fn file(&self) -> &BufReader<Counted> {
        match &self.member {
            Some(member) => member.get_ref(),
            None => unreachable!("a member follows at once"),
        }
    }

    /// Begins a member where `find` leaves the file, if it finds one.
    fn begin(&mut self, find: impl FnOnce(&mut BufReader<Counted>) -> io::Result<bool>) -> io::Result<bool> {
        let Some(member) = &mut self.member else { unreachable!("a member follows at once") };
        if !find(member.get_mut())? {
            return Ok(false);
        }
        self.member = self.member.take().map(|member| GzDecoder::new(member.into_inner()));
        Ok(true)
    }

    /// Begins the next member. Returns whether there is one.
    fn next_member(&mut self) -> io::Result<bool> {
        // A decoder reads the header at once.
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

impl Read for Decoder {
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

impl Read for Members {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let read = self.out.read(buf)?;
        self.consumed += read as u64;
        Ok(read)
    }
}

impl BufRead for Members {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.out.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.out.consume(amount);
        self.consumed += amount as u64;
    }
}
