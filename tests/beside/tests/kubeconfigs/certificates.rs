//! The authorities, certificates and keys of the rows, made once.

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    PKCS_ECDSA_P384_SHA384, PKCS_ED25519, date_time_ymd,
};
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// The names that the server is asked by.
const NAMES: [&str; 7] = ["127.0.0.1", "0.0.0.0", "localhost", "cluster.test", "api.cluster.test", "::1", "fd00::1"];

/// A certificate, with those that it was issued by behind it, and its key, in PEM.
pub(super) struct Identity {
    pub(super) certificate: String,
    pub(super) key: String,
}

pub(super) struct Certificates {
    /// The authority of the server.
    pub(super) authority: String,
    /// One that issued nothing.
    pub(super) other: String,
    pub(super) client: Identity,
    /// What the plugin gives.
    pub(super) plugin: Identity,
    servers: BTreeMap<&'static str, Identity>,
}

pub(super) fn certificates() -> &'static Certificates {
    static MADE: OnceLock<Certificates> = OnceLock::new();
    MADE.get_or_init(Certificates::make)
}

impl Certificates {
    /// What a server of this name shows.
    pub(super) fn server(&self, name: &str) -> &Identity {
        &self.servers[name]
    }

    fn make() -> Self {
        let authority = Authority::new("authority", |_| {});
        let mut servers = BTreeMap::new();
        let names = |names: &[&str]| {
            let mut params =
                CertificateParams::new(names.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>()).unwrap();
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
            params
        };
        let params = |change: fn(&mut CertificateParams)| {
            let mut params = names(&NAMES);
            change(&mut params);
            params
        };
        let p256 = || KeyPair::generate().unwrap();
        servers.insert("usual", authority.issue(params(|_| {}), &p256()));
        servers.insert("expired", authority.issue(params(|it| it.not_after = date_time_ymd(2001, 1, 1)), &p256()));
        servers.insert("early", authority.issue(params(|it| it.not_before = date_time_ymd(2900, 1, 1)), &p256()));
        servers.insert("other name", authority.issue(names(&["other.test"]), &p256()));
        servers.insert("wildcard", authority.issue(names(&["*.cluster.test"]), &p256()));
        servers.insert("no name", authority.issue(names(&[]), &p256()));
        let of_clients =
            |it: &mut CertificateParams| it.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        servers.insert("of a client", authority.issue(params(of_clients), &p256()));
        servers
            .insert("P-384", authority.issue(params(|_| {}), &KeyPair::generate_for(&PKCS_ECDSA_P384_SHA384).unwrap()));
        servers.insert("Ed25519", authority.issue(params(|_| {}), &KeyPair::generate_for(&PKCS_ED25519).unwrap()));
        // ring makes no RSA keys: `openssl genpkey -algorithm RSA` made this one.
        let rsa = KeyPair::from_pem(include_str!("rsa.key")).unwrap();
        servers.insert("RSA", authority.issue(params(|_| {}), &rsa));
        servers.insert("leaf", self_signed(params(|_| {})));
        let is_ca = |it: &mut CertificateParams| it.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        servers.insert("its own authority", self_signed(params(is_ca)));
        let old = Authority::new("old", |it| it.not_after = date_time_ymd(2001, 1, 1));
        servers.insert("of an expired authority", old.issue(params(|_| {}), &p256()).followed_by(&old.pem));
        let middle = authority.below("middle");
        let below = middle.issue(params(|_| {}), &p256());
        servers.insert("below", Identity { certificate: below.certificate.clone(), key: below.key.clone() });
        servers.insert("chain", below.followed_by(&middle.pem));
        for (name, certificate, key) in FILES {
            servers.insert(name, Identity { certificate: certificate.into(), key: key.into() });
        }
        let client = |name: &str| {
            let mut params = CertificateParams::new([]).unwrap();
            params.distinguished_name.push(DnType::CommonName, name);
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
            authority.issue(params, &KeyPair::generate().unwrap())
        };
        let (client, plugin) = (client("client"), client("plugin"));
        Self { other: Authority::new("other", |_| {}).pem, client, plugin, servers, authority: authority.pem }
    }
}

/// What rcgen does not make, and `openssl` did.
const FILES: [(&str, &str, &str); 2] = [
    (
        "P-521",
        include_str!("../../../../transport-http/tests/http/p521/issued.crt"),
        include_str!("../../../../transport-http/tests/http/p521/issued.key"),
    ),
    (
        "version 1",
        include_str!("../../../../transport-http/tests/http/version1/issued.crt"),
        include_str!("../../../../transport-http/tests/http/version1/issued.key"),
    ),
];

/// The authorities of those.
pub(super) const P521: &str = include_str!("../../../../transport-http/tests/http/p521/root.crt");
pub(super) const VERSION_1: &str = include_str!("../../../../transport-http/tests/http/version1/root.crt");

fn self_signed(params: CertificateParams) -> Identity {
    let key = KeyPair::generate().unwrap();
    Identity { certificate: params.self_signed(&key).unwrap().pem(), key: key.serialize_pem() }
}

struct Authority {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new(name: &str, change: impl FnOnce(&mut CertificateParams)) -> Self {
        let (mut params, key) = (Self::params(name), KeyPair::generate().unwrap());
        change(&mut params);
        Self { pem: params.self_signed(&key).unwrap().pem(), issuer: Issuer::new(params, key) }
    }

    fn below(&self, name: &str) -> Self {
        let (params, key) = (Self::params(name), KeyPair::generate().unwrap());
        Self { pem: params.signed_by(&key, &self.issuer).unwrap().pem(), issuer: Issuer::new(params, key) }
    }

    fn params(name: &str) -> CertificateParams {
        let mut params = CertificateParams::new([]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        params
    }

    fn issue(&self, params: CertificateParams, key: &KeyPair) -> Identity {
        Identity { certificate: params.signed_by(key, &self.issuer).unwrap().pem(), key: key.serialize_pem() }
    }
}

impl Identity {
    fn followed_by(mut self, pem: &str) -> Self {
        self.certificate += pem;
        self
    }
}
