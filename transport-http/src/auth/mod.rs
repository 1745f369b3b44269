//! Who a request comes from.

mod exec;
mod process;
mod redactor;
mod run;
mod timestamp;

pub(crate) use redactor::{BodyRedactor, Redactor};

use crate::cancel::CancelToken;
use crate::config::settings::Login;
use crate::error::ConfigError;
use crate::reloaded::Reloaded;
use crate::secret::Secret;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use exec::Exec;
use std::time::Duration;
use ureq::http::{HeaderName, HeaderValue};

/// How much room a header has: it is written in one piece.
const MAX_HEADER: usize = 15 << 10;

/// What says who a request comes from, and gets new credentials when the old ones are used up.
pub(crate) struct Auth {
    source: Source,
    impersonate: Vec<(HeaderName, HeaderValue)>,
    /// Where the user is named.
    place: String,
}

enum Source {
    Nobody,
    Header(HeaderValue),
    File(Reloaded, Option<Secret>),
    Exec(Box<Exec>),
}

/// What one request carries.
#[derive(Clone, PartialEq)]
pub(crate) struct Credential {
    authorization: Option<HeaderValue>,
    /// A client certificate and its key, in PEM.
    pub(crate) identity: Option<(Secret, Secret)>,
}

impl Credential {
    /// What nobody may be shown: the token, or a password and the pair in base64 that it is sent in; an issued key.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = Secret> {
        let mut secrets = Vec::new();
        if let Some((scheme, text)) = self.authorization.as_ref().and_then(|value| split_scheme(value.as_bytes())) {
            let pair = (scheme == b"Basic").then(|| BASE64_STANDARD.decode(text).ok()).flatten();
            let password = pair.as_deref().and_then(|pair| pair.splitn(2, |byte| *byte == b':').nth(1));
            secrets.extend(password.map(Secret::new));
            secrets.push(Secret::new(text));
        }
        secrets.extend(self.identity.as_ref().map(|(_, key)| key.clone()));
        secrets.into_iter()
    }
}

fn split_scheme(header: &[u8]) -> Option<(&[u8], &[u8])> {
    let space = header.iter().position(|byte| *byte == b' ')?;
    Some((&header[..space], &header[space + 1..]))
}

impl Auth {
    pub(crate) fn new(
        login: Login,
        impersonate: Vec<(String, String)>,
        limit: Duration,
        place: &str,
    ) -> Result<Self, ConfigError> {
        let source = match login {
            Login::Nobody => Source::Nobody,
            Login::Basic(pair) => {
                let pair = BASE64_STANDARD.encode(pair.reveal());
                Source::Header(header("Basic ", &pair, "the password", place)?)
            }
            Login::Token(token) => Source::Header(bearer(&token, place)?),
            Login::TokenFile(path, token) => Source::File(Reloaded::new("token file", path), token),
            Login::Exec(plugin) => Source::Exec(Box::new(Exec::new(plugin, limit))),
        };
        let named = |(name, value): (String, String)| {
            let name = HeaderName::try_from(name).ok();
            let value = header("", &value, "whom to impersonate", place)?;
            let fault = || ConfigError::new(format!("{place}: it impersonates with a key that no header can have"));
            Ok((name.ok_or_else(fault)?, value))
        };
        let impersonate = impersonate.into_iter().map(named).collect::<Result<_, ConfigError>>()?;
        Ok(Self { source, impersonate, place: place.to_owned() })
    }

    /// What a request carries now. It may read a file, or run a program.
    pub(crate) fn credential(&self, caller: &CancelToken) -> Result<Credential, ConfigError> {
        let (authorization, identity) = match &self.source {
            Source::Nobody => (None, None),
            Source::Header(header) => (Some(header.clone()), None),
            Source::File(file, token) => (Some(self.token_of_file(file, token.as_ref())?), None),
            Source::Exec(exec) => {
                let issued = exec.current(caller)?;
                let token = issued.token.as_ref().map(|token| bearer(token, &exec.place())).transpose()?;
                (token, issued.identity)
            }
        };
        Ok(Credential { authorization, identity })
    }

    /// Something better than a credential that the server did not accept; `None` if there is nothing else.
    pub(crate) fn renew(&self, refused: &Credential, caller: &CancelToken) -> Result<Option<Credential>, ConfigError> {
        match &self.source {
            Source::Nobody | Source::Header(_) => return Ok(None),
            Source::File(file, _) => file.doubt(),
            Source::Exec(exec) => {
                // Whoever was refused at the same time may have renewed it already.
                let current = self.credential(caller)?;
                if current != *refused {
                    return Ok(Some(current));
                }
                exec.doubt();
            }
        }
        Ok(Some(self.credential(caller)?).filter(|renewed| renewed != refused))
    }

    /// What issues credentials, for an error.
    pub(crate) fn issuer(&self) -> String {
        match &self.source {
            Source::Exec(exec) => exec.place(),
            _ => self.place.clone(),
        }
    }

    /// The token of a file, or the one that helps out while there is none.
    fn token_of_file(&self, file: &Reloaded, token: Option<&Secret>) -> Result<HeaderValue, ConfigError> {
        match (file.current(), token) {
            (Ok(content), _) => bearer(&content, &format!("token file {}", file.path().display())),
            (Err(_), Some(token)) => bearer(token, &self.place),
            (Err(error), None) => Err(error),
        }
    }

    /// Whether somebody may be asked at the terminal.
    pub(crate) fn may_ask(&self) -> bool {
        matches!(&self.source, Source::Exec(exec) if exec.may_ask())
    }

    /// Somebody who may have waited for a credential has hung up.
    pub(crate) fn on_cancelled(&self) {
        if let Source::Exec(exec) = &self.source {
            exec.on_cancelled();
        }
    }

    /// The headers of a request.
    pub(crate) fn headers<'a>(
        &'a self,
        credential: &'a Credential,
    ) -> impl Iterator<Item = (HeaderName, &'a HeaderValue)> {
        let authorization = credential.authorization.iter().map(|value| (ureq::http::header::AUTHORIZATION, value));
        authorization.chain(self.impersonate.iter().map(|(name, value)| (name.clone(), value)))
    }
}

fn bearer(token: &Secret, place: &str) -> Result<HeaderValue, ConfigError> {
    match token.reveal_text() {
        Some("") => Err(ConfigError::new(format!("{place}: the token is empty"))),
        text => header("Bearer ", text.unwrap_or("\0"), "the token", place),
    }
}

/// A header that is never shown.
fn header(scheme: &str, text: &str, what: &str, place: &str) -> Result<HeaderValue, ConfigError> {
    if text.len() > MAX_HEADER {
        return Err(ConfigError::new(format!("{place}: {what} is longer than {MAX_HEADER} bytes")));
    }
    let mut value = HeaderValue::try_from(format!("{scheme}{text}"))
        .map_err(|_| ConfigError::new(format!("{place}: {what} has characters that no header can have")))?;
    value.set_sensitive(true);
    Ok(value)
}
