//! TLS configurations: the trusted authorities, and the client certificate.

use super::algorithm::named;
use super::verifier::ServerVerifier;
use crate::config::settings::Trust;
use crate::error::ConfigError;
use crate::lock::Lock;
use crate::secret::{Material, Secret};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, Error, RootCertStore};
use std::sync::Arc;

/// The inputs of TLS, from files that may change, and the configuration that was built from them last.
pub(crate) struct Tls {
    /// The certificate authority that the configuration names; if none, those of the system count.
    pub(crate) authority: Option<Material>,
    /// Whether the system's authorities are trusted beside a configured one.
    trusts_system: bool,
    insecure: bool,
    identity: Option<(Material, Material)>,
    /// The name to expect in the server's certificate, if not the host of its URL.
    pub(crate) server_name: Option<ServerName<'static>>,
    last: Lock<Option<(Inputs, Arc<ClientConfig>)>>,
}

/// The contents that a configuration was built from.
#[derive(PartialEq)]
struct Inputs {
    authority: Option<Secret>,
    identity: Option<(Secret, Secret)>,
}

impl Tls {
    pub(crate) fn new(trust: Trust, identity: Option<(Material, Material)>, place: &str) -> Result<Self, ConfigError> {
        let named = |name: String| {
            let fault = |_| ConfigError::new(format!("{place}: `tls-server-name` is neither a name nor an address"));
            ServerName::try_from(name).map_err(fault)
        };
        Ok(Self {
            server_name: trust.server_name.map(named).transpose()?,
            authority: trust.authority,
            trusts_system: false,
            insecure: trust.insecure,
            identity,
            last: Lock::new(None),
        })
    }

    /// Makes that of a proxy, which is trusted as kubectl trusts it, by the cluster's authority, or by the system's.
    pub(crate) fn of_proxy(authority: Option<Material>) -> Self {
        let last = Lock::new(None);
        Self { authority, trusts_system: true, insecure: false, identity: None, server_name: None, last }
    }

    /// The SHA-256 of the configured authority's certificates, as they are now; `None` without one.
    pub(crate) fn authority_fingerprint(&self) -> Option<String> {
        let pem = self.authority.as_ref().filter(|_| !self.insecure)?.current().ok()?;
        let certificates: Vec<u8> = certificates(&pem, "").ok()?.iter().flat_map(|one| one.to_vec()).collect();
        let suite = ring::cipher_suite::TLS13_AES_128_GCM_SHA256.tls13()?;
        let hash = suite.common.hash_provider.hash(&certificates);
        Some(hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Returns the current configuration; the same one until an input changes.
    ///
    /// A certificate that an exec plugin `issued` precedes the configured one.
    pub(crate) fn config(&self, issued: Option<&(Material, Material)>) -> Result<Arc<ClientConfig>, ConfigError> {
        let identity = issued.or(self.identity.as_ref());
        let inputs = Inputs {
            authority: self.authority.as_ref().map(Material::current).transpose()?,
            identity: identity.map(|(one, key)| Ok::<_, ConfigError>((one.current()?, key.current()?))).transpose()?,
        };
        let mut last = self.last.lock();
        if let Some((_, config)) = last.as_ref().filter(|(known, _)| *known == inputs) {
            return Ok(config.clone());
        }
        let config = Arc::new(self.build(&inputs, identity)?);
        *last = Some((inputs, config.clone()));
        Ok(config)
    }

    fn build(&self, inputs: &Inputs, identity: Option<&(Material, Material)>) -> Result<ClientConfig, ConfigError> {
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(|error| ConfigError::new(error.to_string()))?;
        let trusted = if self.insecure { None } else { Some(self.trusted(inputs)?) };
        let trusted = Arc::new(ServerVerifier { provider, trusted });
        let builder = builder.dangerous().with_custom_certificate_verifier(trusted);
        let mut config = match inputs.identity.as_ref().zip(identity) {
            None => builder.with_no_client_auth(),
            Some(((certificate, key), places)) => {
                let (certificate_place, key_place) = (places.0.place(), places.1.place());
                let chain = certificates(certificate, &certificate_place)?;
                let key = private_key(key, &key_place)?;
                let algorithm = named(key.secret_der());
                builder.with_client_auth_cert(chain, key).map_err(|error| match error {
                    Error::General(_) => ConfigError::new(format!(
                        "the client key ({key_place}) is not supported: its algorithm is {algorithm}; use RSA with \
                         2048 bits or more, P-256, P-384 or Ed25519"
                    )),
                    error => ConfigError::new(format!(
                        "the client key ({key_place}) does not fit the client certificate ({certificate_place}): {error}"
                    )),
                })?
            }
        };
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(config)
    }

    /// The certificates that are trusted. Which of them may sign others is a question of the time.
    fn trusted(&self, inputs: &Inputs) -> Result<Vec<CertificateDer<'static>>, ConfigError> {
        let of_system = || rustls_native_certs::load_native_certs().certs;
        let (certificates, place) = match (&inputs.authority, &self.authority) {
            (Some(authority), Some(source)) => {
                let mut configured = certificates(authority, &source.place())?;
                configured.extend(self.trusts_system.then(of_system).into_iter().flatten());
                (configured, source.place())
            }
            _ => (of_system(), "the system's certificate authorities".to_owned()),
        };
        if RootCertStore::empty().add_parsable_certificates(certificates.iter().cloned()).0 == 0 {
            return Err(ConfigError::new(format!("{place}: there is no valid certificate of an authority")));
        }
        Ok(certificates)
    }
}

fn certificates(pem: &Secret, place: &str) -> Result<Vec<CertificateDer<'static>>, ConfigError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.reveal()).collect();
    let found = found.map_err(|_| ConfigError::new(format!("{place}: this is no PEM file")))?;
    if found.is_empty() {
        return Err(ConfigError::new(format!("{place}: there is no certificate in PEM")));
    }
    Ok(found)
}

fn private_key(pem: &Secret, place: &str) -> Result<PrivateKeyDer<'static>, ConfigError> {
    PrivateKeyDer::from_pem_slice(pem.reveal())
        .map_err(|_| ConfigError::new(format!("{place}: there is no private key in PEM, or it is encrypted")))
}
