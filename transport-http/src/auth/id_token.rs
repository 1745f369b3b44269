//! The token of an OpenID Connect provider (`oidc`), which kubectl renews in the kubeconfig.

use crate::clock;
use crate::config::settings::ReadToken;
use crate::error::ConfigError;
use crate::secret::Secret;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde::Deserialize;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// How long before its expiry a token is no longer used, as with client-go.
const MARGIN: Duration = Duration::from_secs(10);

/// Reads the token, and again once it has expired.
pub(super) struct IdToken {
    read: ReadToken,
    last: Mutex<Option<Secret>>,
}

#[derive(Deserialize)]
struct Claims {
    /// Seconds since 1970.
    exp: f64,
}

impl IdToken {
    pub(super) fn new(read: ReadToken) -> Self {
        Self { read, last: Mutex::default() }
    }

    /// The token, while it is valid. Errors name the user entry, `place`.
    pub(super) fn current(&self, place: &str) -> Result<Secret, ConfigError> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let now = clock::wall();
        if let Some(token) = last.as_ref().filter(|token| is_valid(token, now)) {
            return Ok(token.clone());
        }
        let token = (self.read)()?;
        if !is_valid(&token, now) {
            return Err(ConfigError::new(format!(
                "{place}: the `id-token` has expired, or is none: log in, or run kubectl once, which renews it"
            )));
        }
        *last = Some(token.clone());
        Ok(token)
    }

    /// Makes the next call read the token.
    pub(super) fn invalidate(&self) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

fn is_valid(token: &Secret, now: SystemTime) -> bool {
    let expiry = expiry(token).and_then(|seconds| SystemTime::UNIX_EPOCH.checked_add(seconds));
    expiry.is_some_and(|expiry| now + MARGIN < expiry)
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
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(100);
        let is_valid = |exp: u64| is_valid(&token(&format!("{{\"exp\":{exp}}}")), now);
        assert!(is_valid(111) && !is_valid(110));
    }
}
