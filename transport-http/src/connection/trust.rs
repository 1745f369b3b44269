//! Who vouches for a server.

use super::signed::Verdict;
use rustls::client::danger::ServerCertVerifier;
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, Error};
use std::sync::Arc;

/// Trusts what an authority has issued, and a server that shows an authority's own certificate. `openssl req -x509`
/// makes such ones, and Go accepts them; webpki does not, because no authority should be a server.
#[derive(Debug)]
pub(super) struct Vouched {
    pub(super) by: Arc<WebPkiServerVerifier>,
    pub(super) authorities: Vec<CertificateDer<'static>>,
}

impl Verdict for Vouched {
    fn on_shown(
        &self,
        shown: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<(), Error> {
        match self.by.verify_server_cert(shown, intermediates, name, ocsp, now) {
            // Its dates are fine: webpki looks at them first. Its name is what is left.
            Err(error) if is_authority(&error) && self.authorities.iter().any(|known| known == shown) => {
                verify_server_name(&ParsedCertificate::try_from(shown)?, name)
            }
            result => result.map(drop),
        }
    }
}

/// For `insecure-skip-tls-verify`: any certificate will do.
#[derive(Debug)]
pub(super) struct AcceptAll;

impl Verdict for AcceptAll {
    fn on_shown(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<(), Error> {
        Ok(())
    }
}

/// Whether all that is wrong is that the certificate is an authority's.
fn is_authority(error: &Error) -> bool {
    let Error::InvalidCertificate(CertificateError::Other(other)) = error else { return false };
    matches!(other.0.downcast_ref(), Some(webpki::Error::CaUsedAsEndEntity))
}
