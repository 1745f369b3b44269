//! Verification of server certificates.

use super::certificate::{Certificate, Unfit, rsa_bits};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, OtherError, RootCertStore, SignatureScheme};
use std::fmt;
use std::sync::Arc;
use webpki::EndEntityCert;

/// The shortest accepted RSA key, in bits.
const MIN_RSA_BITS: usize = 2048;

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
            fitness.map_err(|unfit| Distrusted::error(SERVER, Reason::Unfit(unfit)))?;
            verify_server_name(&ParsedCertificate::try_from(shown)?, name)?;
            return Ok(ServerCertVerified::assertion());
        }
        match self.issued(trusted, now).and_then(|it| it.verify_server_cert(shown, intermediates, name, ocsp, now)) {
            Err(error) if is_bad_signature(&error) => Err(weak_issuer(shown, intermediates, trusted).unwrap_or(error)),
            Err(error) if is_unknown(&error) => Err(unfit_issuer(shown, intermediates, trusted, now).unwrap_or(error)),
            result => result,
        }
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

fn is_bad_signature(error: &Error) -> bool {
    matches!(error, Error::InvalidCertificate(CertificateError::BadSignature))
}

fn is_unknown(error: &Error) -> bool {
    matches!(error, Error::InvalidCertificate(CertificateError::UnknownIssuer))
}

const SERVER: &str = "the server's certificate";
const AUTHORITY: &str = "the certificate authority";

/// A certificate that is not trusted, for a reason that rustls does not tell.
#[derive(Debug)]
pub(crate) struct Distrusted {
    owner: &'static str,
    reason: Reason,
}

#[derive(Debug)]
enum Reason {
    Unfit(Unfit),
    /// An RSA key of so many bits. rustls reports its signatures as bad.
    WeakKey(usize),
}

impl fmt::Display for Distrusted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { owner, reason } = self;
        match reason {
            Reason::Unfit(unfit) if *owner == AUTHORITY => {
                write!(f, "the certificate of the authority that issued the server's {unfit}")
            }
            Reason::Unfit(unfit) => write!(f, "{owner} {unfit}"),
            Reason::WeakKey(bits) => {
                write!(f, "the RSA key of {owner} has {bits} bits, and fewer than {MIN_RSA_BITS} are not accepted: ")?;
                f.write_str("let a certificate with a longer key, or one on an elliptic curve, be issued")
            }
        }
    }
}

impl std::error::Error for Distrusted {}

impl Distrusted {
    fn error(owner: &'static str, reason: Reason) -> Error {
        Error::InvalidCertificate(CertificateError::Other(OtherError(Arc::new(Self { owner, reason }))))
    }
}

/// The error for a certificate with a short RSA key.
fn weak_key(owner: &'static str, certificate: &CertificateDer<'_>) -> Option<Error> {
    let bits = rsa_bits(&EndEntityCert::try_from(certificate).ok()?.subject_public_key_info())?;
    (bits < MIN_RSA_BITS).then(|| Distrusted::error(owner, Reason::WeakKey(bits)))
}

/// The error for a bad signature by the key of this certificate: a weak key, or the original error.
fn of_key(error: Error, certificate: &CertificateDer<'_>) -> Error {
    let weak = is_bad_signature(&error).then(|| weak_key(SERVER, certificate)).flatten();
    weak.unwrap_or(error)
}

/// Finds an authority with a short key that issued one of these certificates, by its name.
fn weak_issuer(
    shown: &CertificateDer<'_>,
    intermediates: &[CertificateDer<'_>],
    authorities: &[CertificateDer<'_>],
) -> Option<Error> {
    let issuers = intermediates.iter().chain(authorities).filter(|der| is_issuer(der, shown, intermediates));
    issuers.filter_map(|der| weak_key(AUTHORITY, der)).next()
}

/// Finds an authority that issued one of these certificates, by its name, and may not be one now.
fn unfit_issuer(
    shown: &CertificateDer<'_>,
    intermediates: &[CertificateDer<'_>],
    authorities: &[CertificateDer<'_>],
    now: UnixTime,
) -> Option<Error> {
    let mut issuers = authorities.iter().filter(|der| is_issuer(der, shown, intermediates));
    let unfit = issuers.find_map(|der| unfitness(der, now))?;
    Some(Distrusted::error(AUTHORITY, Reason::Unfit(unfit)))
}

/// Whether an authority has the name of an issuer.
fn is_issuer(authority: &CertificateDer<'_>, shown: &CertificateDer<'_>, intermediates: &[CertificateDer<'_>]) -> bool {
    let mut issued = intermediates.iter().chain([shown]).filter_map(|der| EndEntityCert::try_from(der).ok());
    EndEntityCert::try_from(authority).is_ok_and(|authority| issued.any(|one| one.issuer() == authority.subject()))
}
