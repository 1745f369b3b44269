//! An authority, and what a server shows that it has issued.

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::version::{TLS12, TLS13};
use std::sync::Arc;

/// Somebody who vouches for a server on the loopback interface.
pub(crate) struct Authority {
    pub(crate) pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Self { pem, issuer: Issuer::new(params, key) }
    }

    /// A server for which it vouches, with the new TLS and with the old.
    pub(crate) fn servers(&self) -> [Arc<ServerConfig>; 2] {
        let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap().der().clone();
        [&TLS13, &TLS12].map(|version| {
            let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
            let builder = builder.with_protocol_versions(&[version]).unwrap().with_no_client_auth();
            let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
            Arc::new(builder.with_single_cert(vec![certificate.clone()], key).unwrap())
        })
    }
}
