//! What tells one build of a program from another.

use std::env;
use std::fs::File;
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Read};
use std::sync::OnceLock;

/// A hash of the program's file; `None` if that cannot be read. It is read once.
pub(super) fn build() -> Option<&'static str> {
    static BUILD: OnceLock<Option<String>> = OnceLock::new();
    BUILD.get_or_init(|| hash().ok().map(|hash| format!("{hash:016x}"))).as_deref()
}

fn hash() -> io::Result<u64> {
    let (mut file, mut buffer, mut hasher) =
        (File::open(env::current_exe()?)?, vec![0; 64 << 10], DefaultHasher::new());
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hasher.finish()),
            len => hasher.write(&buffer[..len]),
        }
    }
}
