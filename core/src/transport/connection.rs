//! Errors of a connection, as the machines know them.

use super::{TransportError, TransportErrorKind};
use embedded_io::{Error, ErrorKind};

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
    #[must_use]
    pub fn of_connection(error: &impl Error) -> Self {
        #[cfg(feature = "alloc")]
        let detail = alloc::string::ToString::to_string(error);
        #[cfg(not(feature = "alloc"))]
        let detail = "";
        Self::new(error.kind().into(), detail)
    }
}

impl From<ErrorKind> for TransportErrorKind {
    fn from(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::ConnectionRefused => Self::Refused,
            ErrorKind::ConnectionReset
            | ErrorKind::ConnectionAborted
            | ErrorKind::NotConnected
            | ErrorKind::BrokenPipe => Self::Reset,
            ErrorKind::TimedOut => Self::Timeout,
            ErrorKind::InvalidData => Self::Protocol,
            _ => Self::Other,
        }
    }
}
