//! The certificate that connections get, which may change at any time.

use futures_rustls::TlsAcceptor;
use futures_rustls::server::TlsStream;
use listwatch::served::Opening;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{DEFAULT_VERSIONS, ServerConfig};
use smol::net::TcpStream;
use std::io;
use std::sync::{Arc, PoisonError, RwLock};

/// The certificate of new connections. Those that are open keep theirs.
#[derive(Debug, Default)]
pub(crate) struct Keyring(RwLock<Option<Arc<CertifiedKey>>>);

/// A certificate with its chain, and its key, as PEM.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) chain: Vec<u8>,
    pub(crate) key: Vec<u8>,
}

impl Keyring {
    /// Gives new connections this certificate, if the key is its own.
    pub(crate) fn install(&self, identity: &Identity) -> Result<(), String> {
        let key = Arc::new(identity.certified()?);
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Some(key);
        Ok(())
    }
}

impl Identity {
    /// The certificate with its key, which belong together.
    pub(crate) fn certified(&self) -> Result<CertifiedKey, String> {
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&self.chain).collect();
        let chain = chain.map_err(|error| format!("the certificate is no PEM: {error}"))?;
        let key = PrivateKeyDer::from_pem_slice(&self.key).map_err(|error| format!("the key is no PEM: {error}"))?;
        let unfit = |error| format!("the certificate and the key cannot be used together: {error}");
        CertifiedKey::from_der(chain, key, &ring::default_provider()).map_err(unfit)
    }
}

impl ResolvesServerCert for Keyring {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Opens connections by TLS.
#[derive(Clone)]
pub(crate) struct Tls(TlsAcceptor);

impl Tls {
    pub(crate) fn new(keyring: Arc<Keyring>) -> io::Result<Self> {
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let config = config.with_protocol_versions(DEFAULT_VERSIONS).map_err(io::Error::other)?;
        let mut config = config.with_no_client_auth().with_cert_resolver(keyring);
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        // A session of an old certificate would go on.
        config.send_tls13_tickets = 0;
        config.session_storage = Arc::new(rustls::server::NoServerSessionStorage {});
        Ok(Self(Arc::new(config).into()))
    }
}

impl Opening for Tls {
    type Stream = TlsStream<TcpStream>;

    async fn open(&self, stream: TcpStream) -> io::Result<Self::Stream> {
        self.0.accept(stream).await
    }
}
