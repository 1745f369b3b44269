//! What went wrong, in the terms of the machines.

use listwatch_core::{TransportError, TransportErrorKind};
use std::io;
use ureq::Error;

/// An error of ureq's, also one that came wrapped in an [`io::Error`].
pub(crate) fn of(error: &Error) -> TransportError {
    let kind = match error {
        Error::Io(error) => of_io(error),
        Error::Timeout(_) => TransportErrorKind::Timeout,
        Error::HostNotFound => TransportErrorKind::Dns,
        Error::ConnectionFailed => TransportErrorKind::Refused,
        Error::Tls(_) | Error::TlsRequired => TransportErrorKind::Tls,
        Error::Protocol(_) | Error::LargeResponseHeader(..) => TransportErrorKind::Protocol,
        // ureq would quote it, and what was configured as an address may hold a password.
        Error::BadUri(_) | Error::Http(_) => {
            return TransportError::new(TransportErrorKind::Other, "the server's address is not a URL");
        }
        _ => TransportErrorKind::Other,
    };
    TransportError::new(kind, error.to_string())
}

fn of_io(error: &io::Error) -> TransportErrorKind {
    use io::ErrorKind;
    match error.kind() {
        ErrorKind::ConnectionRefused | ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => {
            TransportErrorKind::Refused
        }
        ErrorKind::ConnectionReset
        | ErrorKind::ConnectionAborted
        | ErrorKind::BrokenPipe
        | ErrorKind::NotConnected
        | ErrorKind::UnexpectedEof => TransportErrorKind::Reset,
        ErrorKind::TimedOut | ErrorKind::WouldBlock => TransportErrorKind::Timeout,
        ErrorKind::InvalidData => TransportErrorKind::Protocol,
        // The standard library has no kind for it.
        _ if error.to_string().starts_with("failed to lookup address") => TransportErrorKind::Dns,
        _ => TransportErrorKind::Other,
    }
}
