//! The token of an OpenID Connect provider (`oidc`), which kubectl renews in the kubeconfig.

use super::exec::Issued;
use crate::clock;
use crate::config::settings::ReadToken;
use crate::error::ConfigError;
use crate::secret::Secret;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde::Deserialize;
use std::time::{Duration, SystemTime};

#[derive(Deserialize)]
struct Claims {
    /// Seconds since 1970.
    exp: f64,
}

/// Reads the token as it is now. Errors name the user entry, `place`.
pub(super) fn read(read: &ReadToken, place: &str) -> Result<Issued, ConfigError> {
    let token = read()?;
    let expires = expiry(&token).and_then(|seconds| SystemTime::UNIX_EPOCH.checked_add(seconds));
    let issued = Issued { token: Some(token), identity: None, expires };
    if expires.is_some() && issued.is_valid(clock::wall()) {
        return Ok(issued);
    }
    Err(ConfigError::new(format!(
        "{place}: the `id-token` has expired, or is none: log in, or run kubectl once, which renews it"
    )))
}

/// When a token expires (RFC 7519), since 1970.
fn expiry(token: &Secret) -> Option<Duration> {
    let claims = token.reveal_text()?.split('.').nth(1)?.trim_end_matches('=');
    let claims: Claims = serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(claims).ok()?).ok()?;
    Duration::try_from_secs_f64(claims.exp).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_says_when_it_expires() {
        let token = |claims: &str| Secret::new(format!("e30.{}.c2ln", BASE64_URL_SAFE_NO_PAD.encode(claims)));
        assert_eq!(expiry(&token(r#"{"exp":4102444800}"#)), Some(Duration::from_secs(4_102_444_800)));
        assert_eq!(expiry(&token(r#"{"exp":1.5,"iss":"x"}"#)), Some(Duration::from_millis(1500)));
        for claims in ["{}", r#"{"exp":-1}"#, r#"{"exp":1e300}"#, r#"{"exp":"soon"}"#, "x"] {
            assert_eq!(expiry(&token(claims)), None, "{claims}");
        }
        assert_eq!(expiry(&Secret::new("opaque")), None);
    }
}
