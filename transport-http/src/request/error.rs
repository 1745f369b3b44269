//! Errors of HTTP, TLS and sockets as errors of a transport.

use crate::connect::{Distrusted, OfProxy, Unresolved, named_algorithm};
use crate::error::ConfigError;
use crate::server::Server;
use listwatch_core::api::Method;
use listwatch_core::transport::{TransportError, TransportErrorKind};
use rustls::{AlertDescription, CertificateError, PeerIncompatible};
use std::io;
use ureq::http::{Response, Uri};
use ureq::{Error, Timeout};

const NOT_ISSUED: &str = "; the configured certificate authority did not issue the server's certificate";
const NOT_ISSUED_BY_SYSTEM: &str = "; no certificate authority of this system issued the server's certificate: use a kubeconfig that names its authority";

const TOO_LONG: &str = "the request is too long: its resource version, continue token, selector or credential";

const OTHER_KEYS: &str = "let one be issued by RSA with SHA-256, or by a key on P-256, P-384 or Ed25519";

const OLD_TLS: &str = "; the server offers neither TLS 1.2 nor TLS 1.3";

/// Converts an error of ureq's, also one that is wrapped in an [`io::Error`].
pub(crate) fn of(error: &Error) -> TransportError {
    of_either(error, true)
}

/// With the advice for servers whose authority the configuration names, or the system.
fn of_either(error: &Error, has_authority: bool) -> TransportError {
    let (kind, detail) = match error {
        Error::Io(error) => return of_io(error, has_authority),
        Error::Timeout(timeout) => (TransportErrorKind::Timeout, while_doing(*timeout).to_owned()),
        Error::HostNotFound => (TransportErrorKind::Dns, error.to_string()),
        Error::ConnectionFailed => (TransportErrorKind::Refused, error.to_string()),
        Error::Tls(_) | Error::TlsRequired => (TransportErrorKind::Tls, error.to_string()),
        // The request exceeds the buffer.
        Error::Protocol(ureq_proto::Error::OutputOverflow) => (TransportErrorKind::Unsendable, TOO_LONG.to_owned()),
        Error::Protocol(_) => (TransportErrorKind::Protocol, error.to_string()),
        Error::LargeResponseHeader(_, limit) => {
            (TransportErrorKind::Protocol, format!("the head of the response is longer than {limit} bytes"))
        }
        Error::BodyStalled => (TransportErrorKind::Protocol, "a chunk of the body has no proper length".to_owned()),
        Error::ConnectProxyFailed(reason) => (TransportErrorKind::Refused, format!("the proxy refused: {reason}")),
        // The server's URL was checked before. ureq's message would quote the request.
        Error::BadUri(_) | Error::Http(_) => {
            (TransportErrorKind::Unsendable, "the path and query of the request make no valid URL".to_owned())
        }
        _ => (TransportErrorKind::Other, error.to_string()),
    };
    TransportError::new(kind, detail)
}

/// Converts an error of a call. The message names the server if that helps.
pub(crate) fn of_call(error: &Error, server: &Server) -> TransportError {
    let has_authority = server.tls.as_ref().is_some_and(|tls| tls.authority.is_some());
    let error = of_either(error, has_authority);
    if error.kind != TransportErrorKind::Refused || server.proxy.is_some() {
        return error;
    }
    let detail = format!("{} (nothing listens there, or there is no route)", server.authority);
    TransportError::new(error.kind, detail)
}

/// The error for unusable credentials or certificates.
pub(crate) fn of_credentials(error: &ConfigError) -> TransportError {
    TransportError::new(TransportErrorKind::Credentials, error.to_string())
}

/// Refuses a redirect: its target must not get the credential. The message tells the operator to configure the target.
pub(crate) fn redirection<B>(response: &Response<B>) -> Result<(), TransportError> {
    if !matches!(response.status().as_u16(), 301..=303 | 307 | 308) {
        return Ok(());
    }
    let location = response.headers().get("location").and_then(|value| value.to_str().ok()?.parse::<Uri>().ok());
    let target = location.map_or_else(|| "nowhere".to_owned(), |uri| without_secrets(&uri));
    let status = response.status().as_u16();
    Err(TransportError::new(
        TransportErrorKind::Protocol,
        format!(
            "redirected ({status}) to {target}, which is not followed: configure the address of the API server itself"
        ),
    ))
}

/// A URL without its user, password and query.
fn without_secrets(uri: &Uri) -> String {
    let scheme = uri.scheme_str().map(|scheme| format!("{scheme}://")).unwrap_or_default();
    let authority = uri.authority().map(|authority| authority.as_str()).unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    format!("{scheme}{host}{}", uri.path())
}

/// The error for a response of more than `limit` bytes.
pub(crate) fn too_long(method: Method, limit: usize) -> TransportError {
    let help = match method {
        Method::Get | Method::Delete => "list in pages, or use an informer",
        Method::Post | Method::Put | Method::Patch => "that to a write is one object",
    };
    let detail = format!("the response is longer than {limit} bytes: {help}");
    TransportError::new(TransportErrorKind::Protocol, detail)
}

fn of_io(error: &io::Error, has_authority: bool) -> TransportError {
    let inner = error.get_ref();
    if let Some(tls) = inner.and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        return TransportError::new(TransportErrorKind::Tls, of_tls(tls, has_authority));
    }
    if let Some(OfProxy(error)) = inner.and_then(|inner| inner.downcast_ref::<OfProxy>()) {
        let TransportError { kind, detail, .. } = of_io(error, false);
        return TransportError::new(kind, format!("the proxy: {detail}"));
    }
    // Why a gate let the request not leave.
    if let Some(gate) = inner.and_then(|inner| inner.downcast_ref::<TransportError>()) {
        return gate.clone();
    }
    let kind = match inner.and_then(|inner| inner.downcast_ref::<Unresolved>()) {
        Some(Unresolved(error)) => Some(kind_of(error)).filter(|kind| *kind != TransportErrorKind::Other),
        None => Some(kind_of(error)),
    };
    let kind = kind.unwrap_or(TransportErrorKind::Dns);
    TransportError::new(kind, beyond(kind, &error.to_string()))
}

/// The text of a system error, unless it repeats its kind, as in "connection refused: Connection refused".
fn beyond(kind: TransportErrorKind, said: &str) -> &str {
    if said.to_lowercase().starts_with(&kind.to_string()) { "" } else { said }
}

fn kind_of(error: &io::Error) -> TransportErrorKind {
    use io::ErrorKind;
    match error.kind() {
        ErrorKind::ConnectionRefused
        | ErrorKind::HostUnreachable
        | ErrorKind::NetworkUnreachable
        | ErrorKind::NetworkDown
        | ErrorKind::AddrNotAvailable
        | ErrorKind::PermissionDenied => TransportErrorKind::Refused,
        ErrorKind::ConnectionReset
        | ErrorKind::ConnectionAborted
        | ErrorKind::BrokenPipe
        | ErrorKind::NotConnected
        | ErrorKind::UnexpectedEof => TransportErrorKind::Reset,
        ErrorKind::TimedOut | ErrorKind::WouldBlock => TransportErrorKind::Timeout,
        ErrorKind::InvalidData => TransportErrorKind::Protocol,
        ErrorKind::OutOfMemory => TransportErrorKind::Exhausted,
        // std has no `ErrorKind` for these.
        _ if has_no_file_left(error) => TransportErrorKind::Exhausted,
        _ => TransportErrorKind::Other,
    }
}

#[cfg(unix)]
fn has_no_file_left(error: &io::Error) -> bool {
    use rustix::io::Errno;
    matches!(Errno::from_io_error(error), Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS))
}

#[cfg(not(unix))]
fn has_no_file_left(_: &io::Error) -> bool {
    false
}

/// The text of a TLS error, with a remedy for the frequent ones.
fn of_tls(error: &rustls::Error, has_authority: bool) -> String {
    if let rustls::Error::InvalidCertificate(CertificateError::Other(other)) = error
        && let Some(distrusted) = other.0.downcast_ref::<Distrusted>()
    {
        return distrusted.to_string();
    }
    if let rustls::Error::InvalidCertificate(fault) = error
        && let Some(unsupported) = unsupported(fault)
    {
        return unsupported;
    }
    let advice = match error {
        // Authorities of two clusters often have the same name: then the signature differs.
        rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer | CertificateError::BadSignature) => {
            if has_authority {
                NOT_ISSUED
            } else {
                NOT_ISSUED_BY_SYSTEM
            }
        }
        rustls::Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => "; connect by a name of the certificate, or set `tls-server-name` to one",
        rustls::Error::InvalidMessage(_) => "; is this an https address?",
        rustls::Error::PeerIncompatible(
            PeerIncompatible::ServerDoesNotSupportTls12Or13 | PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig,
        ) => OLD_TLS,
        rustls::Error::AlertReceived(alert) => of_alert(*alert),
        _ => "",
    };
    format!("{error}{advice}")
}

/// The text for a certificate that is signed by an algorithm which is not supported. rustls prints its bytes.
fn unsupported(fault: &CertificateError) -> Option<String> {
    let (algorithm, key) = match fault {
        CertificateError::UnsupportedSignatureAlgorithmContext { signature_algorithm_id, .. } => {
            (signature_algorithm_id, String::new())
        }
        CertificateError::UnsupportedSignatureAlgorithmForPublicKeyContext {
            signature_algorithm_id,
            public_key_algorithm_id,
        } => (signature_algorithm_id, format!(" by a key of {}", named_algorithm(public_key_algorithm_id))),
        _ => return None,
    };
    let algorithm = named_algorithm(algorithm);
    Some(format!("a certificate of the server is signed{key} with {algorithm}, which is not supported: {OTHER_KEYS}"))
}

/// The remedy for an alert that the server sent. Some alerts concern the client certificate.
fn of_alert(alert: AlertDescription) -> &'static str {
    match alert {
        AlertDescription::ProtocolVersion => OLD_TLS,
        AlertDescription::NoCertificate
        | AlertDescription::BadCertificate
        | AlertDescription::UnsupportedCertificate
        | AlertDescription::CertificateRevoked
        | AlertDescription::CertificateExpired
        | AlertDescription::CertificateUnknown
        | AlertDescription::UnknownCA
        | AlertDescription::AccessDenied
        | AlertDescription::DecryptError
        | AlertDescription::CertificateRequired => "; the server rejected the client certificate, or requires one",
        // In TLS 1.2 some servers also send it for a missing client certificate.
        AlertDescription::HandshakeFailure | AlertDescription::InsufficientSecurity => {
            "; the server shares no cipher with this client, or requires a client certificate"
        }
        AlertDescription::UnrecognisedName => {
            "; the server does not serve this name: set `tls-server-name` to one that it serves"
        }
        _ => "",
    }
}

fn while_doing(timeout: Timeout) -> &'static str {
    match timeout {
        Timeout::Connect => "connecting took too long",
        Timeout::Resolve => "resolving the server's name took too long",
        Timeout::PerWrite | Timeout::SendRequest | Timeout::SendBody => "the server did not read the request",
        Timeout::RecvResponse => "the response did not begin",
        Timeout::PerRead => "the server sent nothing",
        _ => "the request took too long",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_connection_is_said_once() {
        let refused = io::Error::new(io::ErrorKind::ConnectionRefused, "Connection refused (os error 111)");
        assert_eq!(of_io(&refused, true).to_string(), "connection refused");
        let unreachable = io::Error::new(io::ErrorKind::HostUnreachable, "No route to host (os error 113)");
        assert_eq!(of_io(&unreachable, true).to_string(), "connection refused: No route to host (os error 113)");
    }

    #[test]
    fn an_error_of_the_resolver_is_told_by_its_type() {
        let text = "failed to lookup address information: Name or service not known";
        let [resolver, other] = [io::Error::other(Unresolved(io::Error::other(text))), io::Error::other(text)];
        assert_eq!(of_io(&resolver, true).to_string(), format!("name not resolved: {text}"));
        assert_eq!(of_io(&other, true).kind, TransportErrorKind::Other);
    }

    #[cfg(unix)]
    #[test]
    fn a_limit_of_this_process_is_not_taken_for_a_fault_of_the_network() {
        for errno in [rustix::io::Errno::MFILE, rustix::io::Errno::NFILE, rustix::io::Errno::NOBUFS] {
            assert_eq!(of_io(&errno.into(), true).kind, TransportErrorKind::Exhausted);
        }
        assert_eq!(of_io(&rustix::io::Errno::ACCESS.into(), true).kind, TransportErrorKind::Refused);
    }
}
