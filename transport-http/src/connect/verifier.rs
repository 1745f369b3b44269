//! Verification of server certificates.

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, OtherError, SignatureScheme};
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
    pub(super) authorities: Option<Authorities>,
}

/// Trusts certificates that an authority issued, and an authority's own certificate as that of a server.
///
/// `openssl req -x509` makes the latter, and Go accepts it. webpki refuses it (`CaUsedAsEndEntity`).
#[derive(Debug)]
pub(super) struct Authorities {
    pub(super) issued: Arc<WebPkiServerVerifier>,
    pub(super) own: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for ServerVerifier {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(Authorities { issued, own }) = &self.authorities else { return Ok(ServerCertVerified::assertion()) };
        match issued.verify_server_cert(shown, intermediates, name, ocsp, now) {
            // webpki has checked its dates before. The name remains.
            Err(error) if is_authority(&error) && own.iter().any(|known| known == shown) => {
                verify_server_name(&ParsedCertificate::try_from(shown)?, name)?;
                Ok(ServerCertVerified::assertion())
            }
            Err(error) if is_bad_signature(&error) => Err(weak_issuer(shown, intermediates, own).unwrap_or(error)),
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

/// Whether the only fault is that the certificate belongs to an authority.
fn is_authority(error: &Error) -> bool {
    let Error::InvalidCertificate(CertificateError::Other(other)) = error else { return false };
    matches!(other.0.downcast_ref(), Some(webpki::Error::CaUsedAsEndEntity))
}

fn is_bad_signature(error: &Error) -> bool {
    matches!(error, Error::InvalidCertificate(CertificateError::BadSignature))
}

/// An RSA key that is too short. rustls reports its signatures as bad.
#[derive(Debug)]
pub(crate) struct WeakKey {
    owner: &'static str,
    bits: usize,
}

impl fmt::Display for WeakKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { owner, bits } = self;
        write!(f, "the RSA key of {owner} has {bits} bits, and fewer than {MIN_RSA_BITS} are not accepted: ")?;
        f.write_str("let a certificate with a longer key, or one on an elliptic curve, be issued")
    }
}

impl std::error::Error for WeakKey {}

impl WeakKey {
    fn of(owner: &'static str, certificate: &CertificateDer<'_>) -> Option<Error> {
        let bits = rsa_bits(&EndEntityCert::try_from(certificate).ok()?.subject_public_key_info())?;
        let weak = Self { owner, bits };
        let other = OtherError(Arc::new(weak));
        (bits < MIN_RSA_BITS).then_some(Error::InvalidCertificate(CertificateError::Other(other)))
    }
}

/// The error for a bad signature by the key of this certificate: a weak key, or the original error.
fn of_key(error: Error, certificate: &CertificateDer<'_>) -> Error {
    let weak = is_bad_signature(&error).then(|| WeakKey::of("the server's certificate", certificate)).flatten();
    weak.unwrap_or(error)
}

/// Finds an authority with a short key that issued one of these certificates, by its name.
fn weak_issuer(
    shown: &CertificateDer<'_>,
    intermediates: &[CertificateDer<'_>],
    authorities: &[CertificateDer<'_>],
) -> Option<Error> {
    let issued = || intermediates.iter().chain([shown]).filter_map(|der| EndEntityCert::try_from(der).ok());
    let is_issuer = |der: &&CertificateDer<'_>| {
        EndEntityCert::try_from(*der).is_ok_and(|authority| issued().any(|one| one.issuer() == authority.subject()))
    };
    let issuers = intermediates.iter().chain(authorities).filter(is_issuer);
    issuers.filter_map(|der| WeakKey::of("the certificate authority", der)).next()
}

/// The length of an RSA key's modulus in bits, from its SubjectPublicKeyInfo (RFC 5280, RFC 8017).
fn rsa_bits(info: &[u8]) -> Option<usize> {
    const SEQUENCE: u8 = 0x30;
    const RSA: &[u8] = &[0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];
    let (info, _) = element(info, SEQUENCE)?;
    let (algorithm, info) = element(info, SEQUENCE)?;
    let (key, _) = element(info, 0x03)?;
    let (key, _) = element(key.strip_prefix(&[0])?, SEQUENCE)?;
    let (modulus, _) = element(key, 0x02)?;
    let first = modulus.iter().position(|byte| *byte != 0)?;
    let bits = (modulus.len() - first) * 8 - modulus[first].leading_zeros() as usize;
    algorithm.starts_with(RSA).then_some(bits)
}

/// Splits off a DER element with this tag: its content, and the rest.
fn element(der: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (&[its, len], rest) = der.split_first_chunk()?;
    let (len, rest) = match len {
        0..=0x7f => (usize::from(len), rest),
        0x81 => (usize::from(*rest.first()?), &rest[1..]),
        0x82 => {
            let (&[high, low], rest) = rest.split_first_chunk()?;
            (usize::from(u16::from_be_bytes([high, low])), rest)
        }
        _ => return None,
    };
    (its == tag).then(|| rest.split_at_checked(len)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_rsa_key_has_no_length() {
        for info in [&[][..], &[0x30], &[0x30, 0x82], &[0x30, 0x84, 1, 1, 1, 1], &[0x30, 5, 1], &[0x30, 2, 0x30, 0]] {
            assert_eq!(rsa_bits(info), None);
        }
    }
}
