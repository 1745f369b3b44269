//! Makes certificates.

use super::rotation::Pair;
use core::time::Duration;
use listwatch::time::WallTime;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};
use std::time::SystemTime;

/// The clocks of API servers may be behind.
const SKEW: Duration = Duration::from_secs(3600);

/// Makes a certificate for servers of these names, and the authority that signed it. The key of the authority is gone.
pub(crate) fn issue(names: Vec<String>, now: WallTime, lifetime: Duration) -> Result<Pair, rcgen::Error> {
    // As it is stored.
    let now = now.truncated_to_seconds();
    let expires = now + lifetime;
    let params = |names: &[String], name: String| {
        let mut params = CertificateParams::new(names)?;
        (params.not_before, params.not_after) = (system_time(now - SKEW).into(), system_time(expires).into());
        params.distinguished_name.push(DnType::CommonName, name);
        Ok::<_, rcgen::Error>(params)
    };
    let mut authority = params(&[], format!("listwatch webhooks {now}"))?;
    authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let authority_key = KeyPair::generate()?;
    let authority_pem = authority.self_signed(&authority_key)?.pem();
    let mut server = params(&names, "webhooks".to_owned())?;
    server.use_authority_key_identifier_extension = true;
    server.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let key = KeyPair::generate()?;
    let chain = server.signed_by(&key, &Issuer::new(authority, authority_key))?.pem();
    Ok(Pair { chain, key: key.serialize_pem(), authority: authority_pem, names, made: now, expires })
}

fn system_time(at: WallTime) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(u64::try_from(at.as_unix_seconds()).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keyring::Identity;

    #[test]
    fn a_certificate_fits_its_key_and_no_other() {
        let now = WallTime::from_unix_seconds(1_800_000_000);
        let [one, other] = [(); 2].map(|()| issue(vec!["a.b.svc".to_owned()], now, Duration::from_secs(60)).unwrap());
        let identity =
            |chain: &Pair, key: &Pair| Identity { chain: chain.chain.clone().into(), key: key.key.clone().into() };
        assert!(identity(&one, &one).certified().is_ok());
        assert!(identity(&one, &other).certified().is_err());
    }
}
