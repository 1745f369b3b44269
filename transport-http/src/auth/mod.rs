//! Credentials: from settings, files and exec plugins, and out of responses that echo them.

mod exec;
mod id_token;
mod json;
mod redactor;
mod run;

pub(crate) use redactor::{BodyRedactor, Redactor};

use crate::cancel::CancelToken;
use crate::config::settings::Login;
use crate::error::ConfigError;
use crate::secret::{Reloaded, Secret};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use exec::{Issuance, Issued};
use std::time::Duration;
use ureq::http::{HeaderName, HeaderValue};

/// The longest header value in bytes.
const MAX_HEADER: usize = 15 << 10;

/// The source of a cluster's credentials. It renews them when they expire.
pub(crate) struct Auth {
    login: Login,
    /// What an exec plugin or a provider has issued.
    issuance: Issuance,
    impersonate: Vec<(HeaderName, HeaderValue)>,
    /// The place of the user entry, for errors.
    place: String,
}

/// A header, and what of it is secret.
type Authorization = (HeaderValue, Vec<Secret>);

/// The credential of one request.
#[derive(Clone, PartialEq)]
pub(crate) struct Credential {
    authorization: Option<Authorization>,
    /// A client certificate and its key, in PEM.
    pub(crate) identity: Option<(Secret, Secret)>,
}

impl Credential {
    /// The parts to redact: the token; or the password, and the base64 text that carries it; the key that a plugin
    /// issued.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = Secret> + '_ {
        let secrets = self.authorization.iter().flat_map(|(_, secrets)| secrets);
        secrets.chain(self.identity.iter().map(|(_, key)| key)).cloned()
    }
}

impl Auth {
    pub(crate) fn new(
        login: Login,
        impersonate: Vec<(String, String)>,
        limit: Duration,
        place: &str,
    ) -> Result<Self, ConfigError> {
        let named = |(name, value): (String, String)| {
            let name = HeaderName::try_from(name).ok();
            let value = header("", &value, "the user to impersonate", place)?;
            let fault = || ConfigError::new(format!("{place}: a key to impersonate with is no valid header name"));
            Ok((name.ok_or_else(fault)?, value))
        };
        let impersonate = impersonate.into_iter().map(named).collect::<Result<_, ConfigError>>()?;
        let auth = Self { login, issuance: Issuance::new(limit), impersonate, place: place.to_owned() };
        if let Login::Basic(_) | Login::Token(_) = auth.login {
            auth.credential(&CancelToken::default())?;
        }
        Ok(auth)
    }

    /// The credential for a request now. It may read a file, or run an exec plugin.
    pub(crate) fn credential(&self, cancel: &CancelToken) -> Result<Credential, ConfigError> {
        let authorization = match &self.login {
            Login::None => None,
            Login::Basic(pair) => Some(basic(pair, &self.place)?),
            Login::Token(token) => Some(bearer(token, &self.place)?),
            Login::TokenFile(file, token) => Some(self.token_of_file(file, token.as_ref())?),
            Login::IdToken(read) => return self.issued(&self.issuance.or_read(|| id_token::read(read, &self.place))?),
            Login::Exec(plugin) => return self.issued(&self.issuance.current(plugin, cancel)?),
        };
        Ok(Credential { authorization, identity: None })
    }

    fn issued(&self, issued: &Issued) -> Result<Credential, ConfigError> {
        let token = issued.token.as_ref().map(|token| bearer(token, &self.issuer()));
        Ok(Credential { authorization: token.transpose()?, identity: issued.identity.clone() })
    }

    /// Another credential after the server refused one; `None` if there is no other.
    pub(crate) fn renew(&self, refused: &Credential, cancel: &CancelToken) -> Result<Option<Credential>, ConfigError> {
        match &self.login {
            Login::None | Login::Basic(_) | Login::Token(_) => return Ok(None),
            Login::TokenFile(file, _) => file.invalidate(),
            Login::IdToken(_) => self.issuance.invalidate(),
            Login::Exec(_) => {
                // A request that was refused at the same time may have renewed it already.
                let current = self.credential(cancel)?;
                if current != *refused {
                    return Ok(Some(current));
                }
                self.issuance.invalidate();
            }
        }
        Ok(Some(self.credential(cancel)?).filter(|renewed| renewed != refused))
    }

    /// The place of the issuer of credentials, for errors.
    pub(crate) fn issuer(&self) -> String {
        match &self.login {
            Login::Exec(plugin) => plugin.place(),
            _ => self.place.clone(),
        }
    }

    /// The token of a file; the fallback token while the file cannot be read, or is empty.
    fn token_of_file(&self, file: &Reloaded, token: Option<&Secret>) -> Result<Authorization, ConfigError> {
        let content = file.current().map(|content| (content.reveal_text() == Some(""), content));
        match (content, token) {
            (Err(_) | Ok((true, _)), Some(token)) => bearer(token, &self.place),
            (Ok((_, content)), _) => bearer(&content, &format!("token file {}", file.path().display())),
            (Err(error), None) => Err(error),
        }
    }

    /// Whether an exec plugin may prompt at the terminal.
    pub(crate) fn may_prompt(&self) -> bool {
        matches!(&self.login, Login::Exec(plugin) if plugin.may_prompt)
    }

    /// What a credential waits for: an exec plugin that has to run, or runs.
    pub(crate) fn waits_for(&self) -> Option<String> {
        match &self.login {
            Login::Exec(plugin) if self.issuance.is_due() => Some(format!("{} has not answered yet", plugin.place())),
            _ => None,
        }
    }

    /// Handles the cancellation of a caller, which may have waited for a credential.
    pub(crate) fn on_cancelled(&self) {
        self.issuance.on_cancelled();
    }

    /// The headers of a request.
    pub(crate) fn headers<'a>(
        &'a self,
        credential: &'a Credential,
    ) -> impl Iterator<Item = (HeaderName, &'a HeaderValue)> {
        let authorization =
            credential.authorization.iter().map(|(value, _)| (ureq::http::header::AUTHORIZATION, value));
        authorization.chain(self.impersonate.iter().map(|(name, value)| (name.clone(), value)))
    }
}

fn basic(pair: &Secret, place: &str) -> Result<Authorization, ConfigError> {
    let encoded = BASE64_STANDARD.encode(pair.reveal());
    let password = pair.reveal().splitn(2, |byte| *byte == b':').nth(1).unwrap_or_default();
    let header = header("Basic ", &encoded, "the password", place)?;
    Ok((header, vec![Secret::new(password), Secret::new(encoded)]))
}

fn bearer(token: &Secret, place: &str) -> Result<Authorization, ConfigError> {
    match token.reveal_text() {
        Some("") => Err(ConfigError::new(format!("{place}: the token is empty"))),
        text => {
            let text = text.unwrap_or("\0");
            Ok((header("Bearer ", text, "the token", place)?, vec![Secret::new(text)]))
        }
    }
}

/// Makes a header value whose `Debug` hides it.
fn header(scheme: &str, text: &str, what: &str, place: &str) -> Result<HeaderValue, ConfigError> {
    if text.len() > MAX_HEADER {
        return Err(ConfigError::new(format!("{place}: {what} is longer than {MAX_HEADER} bytes")));
    }
    let mut value = HeaderValue::try_from(format!("{scheme}{text}"))
        .map_err(|_| ConfigError::new(format!("{place}: {what} has characters that are not allowed in a header")))?;
    value.set_sensitive(true);
    Ok(value)
}
