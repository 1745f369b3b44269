use crate::connect::{ReadSize, VeiledBody};
use flate2::read::MultiGzDecoder;
use listwatch_core::transport::{TransportError, TransportErrorKind};
use std::io::{self, ErrorKind, Read};
use ureq::http::Response;

/// The body of a response, decompressed. Nothing is stored, so a compression bomb costs time and no memory.
pub(crate) enum Content {
    Plain(VeiledBody),
    Gzip(Box<MultiGzDecoder<VeiledBody>>),
}

impl Content {
    pub(crate) fn of(response: Response<VeiledBody>) -> Result<Self, TransportError> {
        let encoding = response.headers().get("content-encoding").map(|value| value.as_bytes().to_ascii_lowercase());
        let is_gzip = match encoding.as_deref() {
            None | Some(b"" | b"identity") => false,
            Some(b"gzip" | b"x-gzip") => true,
            Some(_) => {
                let detail = "the response has a content encoding that was not requested";
                return Err(TransportError::new(TransportErrorKind::Protocol, detail));
            }
        };
        let reader = response.into_body();
        Ok(if is_gzip { Self::Gzip(Box::new(MultiGzDecoder::new(reader))) } else { Self::Plain(reader) })
    }

    /// How much to read at once. A decoder whose output did not fit waits for more input before it gives the rest.
    pub(crate) fn read_size(&self) -> ReadSize {
        match self {
            Self::Plain(_) => ReadSize::default(),
            Self::Gzip(_) => ReadSize::largest(),
        }
    }
}

impl Read for Content {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(reader) => reader.read(buf),
            Self::Gzip(reader) => reader.read(buf).map_err(|error| match error.kind() {
                ErrorKind::InvalidInput => io::Error::new(ErrorKind::InvalidData, "the response is not valid gzip"),
                _ => error,
            }),
        }
    }
}
