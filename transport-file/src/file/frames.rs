//! A Zstandard file.

use super::counted::Counted;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use zstd::stream::read::Decoder;

/// The decompressed bytes of a Zstandard file, which is read from its beginning.
pub(super) struct Frames {
    /// `None` only while it is opened again.
    out: Option<BufReader<Decoder<'static, BufReader<Counted>>>>,
    buffer: usize,
    is_at_start: bool,
}

impl Frames {
    pub(super) fn new(file: BufReader<Counted>, buffer: usize) -> io::Result<Self> {
        let out = BufReader::with_capacity(buffer, Decoder::with_buffer(file)?);
        Ok(Self { out: Some(out), buffer, is_at_start: true })
    }

    /// The compressed file.
    pub(super) fn file(&self) -> &BufReader<Counted> {
        match &self.out {
            Some(out) => out.get_ref().get_ref(),
            None => unreachable!("it is opened again at once"),
        }
    }

    /// The beginning, and whether its bytes come next.
    pub(super) fn entry(&self) -> (u64, bool) {
        (0, self.is_at_start)
    }

    /// Goes to the beginning.
    pub(super) fn rewind(&mut self) -> io::Result<()> {
        let Some(out) = self.out.take() else { unreachable!("it is opened again at once") };
        let mut file = out.into_inner().finish();
        file.seek(SeekFrom::Start(0))?;
        *self = Self::new(file, self.buffer)?;
        Ok(())
    }

    fn out(&mut self) -> &mut BufReader<Decoder<'static, BufReader<Counted>>> {
        match &mut self.out {
            Some(out) => out,
            None => unreachable!("it is opened again at once"),
        }
    }
}

impl Read for Frames {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.is_at_start = false;
        self.out().read(buf)
    }
}

impl BufRead for Frames {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.out().fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.is_at_start &= amount == 0;
        self.out().consume(amount);
    }
}
