//! Authorities, certificates and keys, made for a test.

use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::sign::{CertifiedKey, Signer, SigningKey, SingleCertAndKey};
use rustls::{RootCertStore, ServerConnection, SignatureAlgorithm, SignatureScheme, StreamOwned};
use std::net::TcpStream;
use std::sync::Arc;

use super::support::{Server, request_head};

/// A connection as a TLS server has it.
pub(crate) type TlsStream = StreamOwned<ServerConnection, TcpStream>;

/// A certificate authority.
pub(crate) struct Authority {
    pub(crate) pem: String,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate and its key, in PEM.
pub(crate) struct Identity {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

/// A certificate of an authority whose RSA key has 1,024 bits, and the key to it; and the certificate of that authority.
///
/// `openssl req -x509 -newkey rsa:1024 … && openssl x509 -req …` made them: ring makes no such keys.
pub(crate) fn issued_by_weak_authority() -> (Identity, &'static str) {
    let certificate = include_str!("weak/issued.crt").to_owned();
    (Identity { certificate, key: include_str!("weak/issued.key").to_owned() }, include_str!("weak/authority.crt"))
}

/// A server whose certificate has an RSA key of 1,024 bits, and the certificate of its authority, whose key is good.
///
/// Its signatures are invalid. ring never checks them, because it refuses the key.
pub(crate) fn weak_server() -> (Server, &'static str) {
    let chain = vec![CertificateDer::from_pem_slice(include_bytes!("weak/server.crt")).unwrap()];
    let key = CertifiedKey::new(chain, Arc::new(Forger));
    let builder = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let config = Arc::new(builder.with_cert_resolver(Arc::new(SingleCertAndKey::from(key))));
    (serve(config, |_, _| {}), include_str!("weak/strong.crt"))
}

#[derive(Debug)]
struct Forger;

impl SigningKey for Forger {
    fn choose_scheme(&self, _: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        Some(Box::new(Self))
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        SignatureAlgorithm::RSA
    }
}

impl Signer for Forger {
    fn sign(&self, _: &[u8]) -> Result<Vec<u8>, rustls::Error> {
        Ok(vec![1; 128])
    }

    fn scheme(&self) -> SignatureScheme {
        SignatureScheme::RSA_PSS_SHA256
    }
}

/// A server of TLS that answers by `serve`.
fn serve(config: Arc<ServerConfig>, serve: impl Fn(TlsStream, String) + Send + Sync + 'static) -> Server {
    Server::raw(move |connection| {
        let tls = ServerConnection::new(config.clone()).unwrap();
        let mut stream = StreamOwned::new(tls, connection);
        if let Some(head) = request_head(&mut stream) {
            serve(stream, head);
        }
    })
}

/// A certificate of 127.0.0.1 that an authority with a key on P-521 issued, and that authority.
///
/// `openssl ecparam -name secp521r1 …` made the key: ring makes none.
pub(crate) fn issued_by_p521() -> (Identity, Identity) {
    let identity = |certificate: &str, key: &str| Identity { certificate: certificate.into(), key: key.into() };
    (
        identity(include_str!("p521/issued.crt"), include_str!("p521/issued.key")),
        identity(include_str!("p521/root.crt"), include_str!("p521/root.key")),
    )
}

/// An authority of version 1, which knows no extensions, and a certificate of 127.0.0.1 that it issued.
///
/// `openssl x509 -req -signkey …` makes such authorities; rcgen makes none.
pub(crate) fn issued_by_version_1() -> (Identity, &'static str) {
    let certificate = include_str!("version1/issued.crt").to_owned();
    (Identity { certificate, key: include_str!("version1/issued.key").to_owned() }, include_str!("version1/root.crt"))
}

impl Authority {
    pub(crate) fn new() -> Self {
        Self::of(|_| {})
    }

    /// One whose certificate is changed.
    pub(crate) fn of(change: impl FnOnce(&mut CertificateParams)) -> Self {
        let (params, key) = Self::params(change);
        let pem = params.self_signed(&key).unwrap().pem();
        Self { pem, issuer: Issuer::new(params, key) }
    }

    /// One below this one.
    pub(crate) fn intermediate(&self, change: impl FnOnce(&mut CertificateParams)) -> Self {
        let (params, key) = Self::params(change);
        let pem = params.signed_by(&key, &self.issuer).unwrap().pem();
        Self { pem, issuer: Issuer::new(params, key) }
    }

    fn params(change: impl FnOnce(&mut CertificateParams)) -> (CertificateParams, KeyPair) {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        change(&mut params);
        (params, KeyPair::generate().unwrap())
    }

    /// A server that is its own authority, as `openssl req -x509` makes one, for these names and years.
    pub(crate) fn of_itself(names: &[&str], years: [i32; 2]) -> Identity {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        [params.not_before, params.not_after] = years.map(|year| date_time_ymd(year, 1, 1));
        let key = KeyPair::generate().unwrap();
        Identity { certificate: params.self_signed(&key).unwrap().pem(), key: key.serialize_pem() }
    }

    /// For these names and addresses.
    pub(crate) fn issue(&self, names: &[&str]) -> Identity {
        self.issue_and_sign(names, |_| {}).0
    }

    /// A certificate that is changed, and what its key signs as if it were that of an authority.
    pub(crate) fn issue_and_sign(
        &self,
        names: &[&str],
        change: impl FnOnce(&mut CertificateParams),
    ) -> (Identity, Self) {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        change(&mut params);
        let key = KeyPair::generate().unwrap();
        let pem = params.signed_by(&key, &self.issuer).unwrap().pem();
        let identity = Identity { certificate: pem.clone(), key: key.serialize_pem() };
        (identity, Self { pem, issuer: Issuer::new(params, key) })
    }

    fn roots(&self) -> RootCertStore {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(self.pem.as_bytes()).unwrap()).unwrap();
        roots
    }
}

impl Identity {
    /// A server that shows this, wants to be shown one of `clients` if there are any, and answers by `serve`.
    pub(crate) fn serve(
        &self,
        clients: Option<&Authority>,
        serve: impl Fn(TlsStream, String) + Send + Sync + 'static,
    ) -> Server {
        self::serve(Arc::new(self.config(clients)), serve)
    }

    pub(crate) fn config(&self, clients: Option<&Authority>) -> ServerConfig {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider.clone());
        let builder = builder.with_safe_default_protocol_versions().unwrap();
        let builder = match clients {
            None => builder.with_no_client_auth(),
            Some(authority) => builder.with_client_cert_verifier(
                WebPkiClientVerifier::builder_with_provider(Arc::new(authority.roots()), provider).build().unwrap(),
            ),
        };
        let chain = CertificateDer::pem_slice_iter(self.certificate.as_bytes()).collect::<Result<_, _>>().unwrap();
        let key = PrivateKeyDer::from_pem_slice(self.key.as_bytes()).unwrap();
        builder.with_single_cert(chain, key).unwrap()
    }
}
