//! Zipped content.

use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;

pub(crate) fn gzip(bytes: impl AsRef<[u8]>) -> Vec<u8> {
    begun(bytes).finish().unwrap()
}

/// The bytes as a killed recorder leaves them.
pub(crate) fn breaking_off(bytes: impl AsRef<[u8]>) -> Vec<u8> {
    let mut encoder = begun(bytes);
    encoder.flush().unwrap();
    encoder.get_ref().clone()
}

fn begun(bytes: impl AsRef<[u8]>) -> GzEncoder<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes.as_ref()).unwrap();
    encoder
}
