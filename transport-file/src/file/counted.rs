use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

/// A file that counts the bytes read from it.
pub(super) struct Counted {
    file: File,
    /// The position in the file.
    at: u64,
}

impl Counted {
    pub(super) fn new(file: File) -> Self {
        Self { file, at: 0 }
    }

    /// The position in the file, from its beginning.
    pub(super) fn at(&self) -> u64 {
        self.at
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
