//! Verification of server certificates.

use super::certificate::{Certificate, MIN_RSA_BITS, Unfit, rsa_bits};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, OtherError, RootCertStore, SignatureScheme};
use std::fmt;
use std::sync::Arc;
use webpki::EndEntityCert;

/// Accepts a server that presents a trusted certificate, and proves that it has the key.
#[derive(Debug)]
pub(super) struct ServerVerifier {
    pub(super) provider: Arc<CryptoProvider>,
    /// `None` for `insecure-skip-tls-verify`, which accepts any certificate.
    pub(super) trusted: Option<Vec<CertificateDer<'static>>>,
}

/// As Go does, it trusts each configured certificate as that of a server, and those that may sign others as authorities.
///
/// webpki checks no dates and no purpose of an authority. It does not let one be a server, which `openssl req -x509`
/// makes of it.
impl ServerCertVerifier for ServerVerifier {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(trusted) = &self.trusted else { return Ok(ServerCertVerified::assertion()) };
        if trusted.iter().any(|known| known == shown) {
            let fitness = Certificate::of(shown).and_then(|certificate| certificate.check_server(now));
            fitness.map_err(|unfit| Distrusted::error(false, unfit))?;
            verify_server_name(&ParsedCertificate::try_from(shown)?, name)?;
            return Ok(ServerCertVerified::assertion());
        }
        let verifier = self.issued(trusted, now);
        let verified = verifier.and_then(|it| it.verify_server_cert(shown, intermediates, name, ocsp, now));
        verified.map_err(|error| of_issuer(error, shown, intermediates, trusted, now))
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
            .map_err(|error| of_key(error, certificate))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
            .map_err(|error| of_key(error, certificate))
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

impl ServerVerifier {
    /// A verifier of what those issued that may sign now.
    fn issued(&self, trusted: &[CertificateDer<'static>], now: UnixTime) -> Result<Arc<WebPkiServerVerifier>, Error> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(trusted.iter().filter(|der| unfitness(der, now).is_none()).cloned());
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), self.provider.clone()).build();
        // There is none.
        verifier.map_err(|_| Error::InvalidCertificate(CertificateError::UnknownIssuer))
    }
}

/// Why a certificate cannot be an authority now.
fn unfitness(der: &[u8], now: UnixTime) -> Option<Unfit> {
    Certificate::of(der).and_then(|certificate| certificate.check_signer(now)).err()
}

/// A certificate that is not trusted, for a reason that rustls does not tell.
#[derive(Debug)]
pub(crate) struct Distrusted {
    /// It is that of an authority, and not the server's.
    is_authority: bool,
    unfit: Unfit,
}

impl Distrusted {
    fn error(is_authority: bool, unfit: Unfit) -> Error {
        Error::InvalidCertificate(CertificateError::Other(OtherError(Arc::new(Self { is_authority, unfit }))))
    }
}

impl fmt::Display for Distrusted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.unfit {
            Unfit::Unreadable => "cannot be read",
            Unfit::Expired => "has expired",
            Unfit::NotYetValid => "is not valid yet: check the clock of this machine",
            Unfit::Signer => "may not sign those of servers, by its basic constraints or by its key usage",
            Unfit::Server => "is not one of a server, by its extended key usage",
            Unfit::WeakKey(bits) => {
                let owner = if self.is_authority { "certificate authority" } else { "server's certificate" };
                write!(
                    f,
                    "the RSA key of the {owner} has {bits} bits, and fewer than {MIN_RSA_BITS} are not accepted: "
                )?;
                return f.write_str("let a certificate with a longer key, or one on an elliptic curve, be issued");
            }
        };
        let owner = if self.is_authority {
            "certificate of the authority that issued the server's"
        } else {
            "server's certificate"
        };
        write!(f, "the {owner} {what}")
    }
}

impl std::error::Error for Distrusted {}

/// The error for a certificate with a short RSA key.
fn weak_key(is_authority: bool, certificate: &CertificateDer<'_>) -> Option<Error> {
    let bits = rsa_bits(&EndEntityCert::try_from(certificate).ok()?.subject_public_key_info())?;
    (bits < MIN_RSA_BITS).then(|| Distrusted::error(is_authority, Unfit::WeakKey(bits)))
}

/// The error for a bad signature by the key of this certificate: a weak key, or the original error.
fn of_key(error: Error, certificate: &CertificateDer<'_>) -> Error {
    let weak = is_fault(&error, &CertificateError::BadSignature).then(|| weak_key(false, certificate)).flatten();
    weak.unwrap_or(error)
}

/// The reason why a certificate of these was not accepted, if it is that of an authority, which is known by its name: a
/// short key, or one that may not sign now.
fn of_issuer(
    error: Error,
    shown: &CertificateDer<'_>,
    intermediates: &[CertificateDer<'_>],
    trusted: &[CertificateDer<'_>],
    now: UnixTime,
) -> Error {
    let is_issuer = |authority: &&CertificateDer<'_>| {
        let mut issued = intermediates.iter().chain([shown]).filter_map(|der| EndEntityCert::try_from(der).ok());
        EndEntityCert::try_from(*authority).is_ok_and(|it| issued.any(|one| one.issuer() == it.subject()))
    };
    let reason = if is_fault(&error, &CertificateError::BadSignature) {
        intermediates.iter().chain(trusted).filter(is_issuer).find_map(|der| weak_key(true, der))
    } else if is_fault(&error, &CertificateError::UnknownIssuer) {
        let unfit = trusted.iter().filter(is_issuer).find_map(|der| unfitness(der, now));
        unfit.map(|unfit| Distrusted::error(true, unfit))
    } else {
        None
    };
    reason.unwrap_or(error)
}

fn is_fault(error: &Error, fault: &CertificateError) -> bool {
    matches!(error, Error::InvalidCertificate(other) if other == fault)
}
