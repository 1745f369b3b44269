//! Why a transport fails.

use crate::text::{Printable, SharedText};
use core::fmt;
#[cfg(feature = "embedded-io")]
use embedded_io::{Error, ErrorKind};

/// The cause of a failure in the transport. Two are equal if kind and detail are.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct TransportError {
    /// The kind of failure, by which the reflector reacts.
    pub kind: TransportErrorKind,
    /// The description for operators. It never holds a credential.
    pub detail: SharedText,
    /// The single request that failed. Boxed once more, an error is a word longer, and not two.
    #[cfg(feature = "alloc")]
    request: Option<alloc::boxed::Box<SharedText>>,
}

/// The kinds of transport failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum TransportErrorKind {
    /// No process listens at the address.
    Refused,
    /// The peer, or a device between, broke the connection.
    Reset,
    /// A time limit passed.
    Timeout,
    /// The name could not be resolved.
    Dns,
    /// The TLS handshake failed, or the peer is not trusted.
    Tls,
    /// The peer violated the protocol.
    Protocol,
    /// Credentials are unavailable or invalid: a file is missing, a plugin fails. Nothing was sent. The failure needs
    /// manual intervention.
    Credentials,
    /// The request makes no valid address. Nothing was sent. The failure needs manual intervention.
    Unsendable,
    /// The process has no resources for one more request: the request waited too long for others to end, or threads, files
    /// or memory are used up. Nothing was sent. The failure may pass.
    Exhausted,
    /// Any other failure.
    Other,
}

impl TransportErrorKind {
    /// All kinds, for readers that find one by its [`Display`](fmt::Display).
    pub const ALL: [Self; 10] = [
        Self::Refused,
        Self::Reset,
        Self::Timeout,
        Self::Dns,
        Self::Tls,
        Self::Protocol,
        Self::Credentials,
        Self::Unsendable,
        Self::Exhausted,
        Self::Other,
    ];
}

impl TransportError {
    /// An error of this kind.
    pub fn new(kind: TransportErrorKind, detail: impl Into<SharedText>) -> Self {
        Self {
            kind,
            detail: detail.into(),
            #[cfg(feature = "alloc")]
            request: None,
        }
    }

    /// Names the request that failed, such as `GET /api/v1/pods`, unless it is named already.
    #[cfg(feature = "alloc")]
    #[must_use]
    pub fn of_request(mut self, request: impl fmt::Display) -> Self {
        self.request.get_or_insert_with(|| alloc::boxed::Box::new(alloc::string::ToString::to_string(&request).into()));
        self
    }

    /// The single request that failed, such as `GET /api/v1/pods`, if that is known.
    #[cfg(feature = "alloc")]
    pub fn request(&self) -> Option<&str> {
        self.request.as_deref().map(|request| &**request)
    }
}

impl PartialEq for TransportError {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind && self.detail == other.detail
    }
}

impl Eq for TransportError {}

impl fmt::Display for TransportErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Refused => "connection refused",
            Self::Reset => "connection broken",
            Self::Timeout => "timed out",
            Self::Dns => "name not resolved",
            Self::Tls => "TLS failed",
            Self::Protocol => "protocol violated",
            Self::Credentials => "credentials cannot be used",
            Self::Unsendable => "request cannot be sent",
            Self::Exhausted => "no room for a request",
            Self::Other => "failed",
        })
    }
}

impl fmt::Display for TransportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        #[cfg(feature = "alloc")]
        if let Some(request) = &self.request {
            write!(f, "{}: ", Printable::new(request))?;
        }
        write!(f, "{}", self.kind)?;
        if self.detail.is_empty() { Ok(()) } else { write!(f, ": {}", Printable::new(&self.detail)) }
    }
}

impl core::error::Error for TransportError {}

#[cfg(feature = "embedded-io")]
impl TransportError {
    /// The error of a connection, by its kind. With the feature `alloc`, its text is the detail.
    ///
    /// ```
    /// use embedded_io::ErrorKind;
    /// use listwatch_core::transport::{TransportError, TransportErrorKind};
    ///
    /// let error = TransportError::of_connection(&ErrorKind::ConnectionRefused);
    /// assert_eq!(error.kind, TransportErrorKind::Refused);
    /// ```
    pub fn of_connection(error: &impl Error) -> Self {
        #[cfg(feature = "alloc")]
        let detail = alloc::string::ToString::to_string(error);
        #[cfg(not(feature = "alloc"))]
        let detail = "";
        Self::new(error.kind().into(), detail)
    }
}

#[cfg(feature = "embedded-io")]
impl From<ErrorKind> for TransportErrorKind {
    fn from(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::ConnectionRefused => Self::Refused,
            ErrorKind::ConnectionReset
            | ErrorKind::ConnectionAborted
            | ErrorKind::NotConnected
            | ErrorKind::BrokenPipe
            | ErrorKind::WriteZero => Self::Reset,
            ErrorKind::TimedOut => Self::Timeout,
            ErrorKind::InvalidData => Self::Protocol,
            ErrorKind::InvalidInput => Self::Unsendable,
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
#[cfg(feature = "alloc")]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_trouble_is_among_all_and_named_apart() {
        // The last one: a kind that is added behind the others is missed here.
        assert_eq!(TransportErrorKind::ALL.len(), TransportErrorKind::Other as usize + 1);
        for (place, kind) in TransportErrorKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, place);
            let name = alloc::string::ToString::to_string(&kind);
            let alike = |other: &TransportErrorKind| name.starts_with(&alloc::string::ToString::to_string(other));
            assert_eq!(TransportErrorKind::ALL.iter().filter(|other| alike(other)).count(), 1, "{name}");
        }
    }

    #[cfg(feature = "embedded-io")]
    #[test]
    fn each_kind_is_one_that_the_reflector_knows() {
        use TransportErrorKind::{Other, Protocol, Refused, Reset, Timeout, Unsendable};
        for (kind, known) in [
            (ErrorKind::ConnectionRefused, Refused),
            (ErrorKind::ConnectionReset, Reset),
            (ErrorKind::BrokenPipe, Reset),
            (ErrorKind::WriteZero, Reset),
            (ErrorKind::TimedOut, Timeout),
            (ErrorKind::InvalidData, Protocol),
            (ErrorKind::InvalidInput, Unsendable),
            (ErrorKind::OutOfMemory, Other),
        ] {
            assert_eq!(TransportError::of_connection(&kind).kind, known, "{kind:?}");
        }
    }
}
