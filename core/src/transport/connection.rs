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
mod tests {
    use super::*;

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
