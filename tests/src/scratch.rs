//! Files that are removed when the test ends.
#![expect(clippy::unwrap_used, reason = "a file that cannot be had fails the test")]

use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A file of a test's own.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    /// A path of its own, with this ending and without a file.
    pub fn path(ending: &str) -> Self {
        static FILES: AtomicU32 = AtomicU32::new(0);
        let (process, number) = (std::process::id(), FILES.fetch_add(1, Ordering::Relaxed));
        Self(std::env::temp_dir().join(format!("listwatch-scratch-{process}-{number}{ending}")))
    }

    /// A file with these bytes.
    pub fn new(bytes: impl AsRef<[u8]>) -> Self {
        let scratch = Self::path("");
        std::fs::write(&scratch, bytes).unwrap();
        scratch
    }
}

impl AsRef<Path> for Scratch {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _never_written = std::fs::remove_file(&self.0);
        let _never_locked = std::fs::remove_file(format!("{}.lock", self.0.display()));
    }
}

/// The text of a file that is compressed by gzip.
pub fn gunzip(path: &Path) -> String {
    let mut text = String::new();
    MultiGzDecoder::new(File::open(path).unwrap()).read_to_string(&mut text).unwrap();
    text
}
