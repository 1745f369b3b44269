//! Who vouches for a server.

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, SignatureScheme};
use std::sync::Arc;

/// Lets in a server that shows a certificate which somebody vouches for, and has the key of it.
#[derive(Debug)]
pub(super) struct Trusted {
    pub(super) provider: Arc<CryptoProvider>,
    /// `None` for `insecure-skip-tls-verify`: any certificate will do.
    pub(super) authorities: Option<Authorities>,
}

/// Trusts what an authority has issued, and a server that shows an authority's own certificate. `openssl req -x509`
/// makes such ones, and Go accepts them; webpki does not, because no authority should be a server.
#[derive(Debug)]
pub(super) struct Authorities {
    pub(super) issued: Arc<WebPkiServerVerifier>,
    pub(super) own: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for Trusted {
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
            // Its dates are fine: webpki looks at them first. Its name is what is left.
            Err(error) if is_authority(&error) && own.iter().any(|known| known == shown) => {
                verify_server_name(&ParsedCertificate::try_from(shown)?, name)?;
                Ok(ServerCertVerified::assertion())
            }
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
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// Whether all that is wrong is that the certificate is an authority's.
fn is_authority(error: &Error) -> bool {
    let Error::InvalidCertificate(CertificateError::Other(other)) = error else { return false };
    matches!(other.0.downcast_ref(), Some(webpki::Error::CaUsedAsEndEntity))
}
