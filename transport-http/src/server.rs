use crate::auth::{Auth, Credential, Redactor};
use crate::cancel::CancelToken;
use crate::config::settings::Settings;
use crate::connect::{Dialer, ProxyRule, SystemResolver, Tls, Veil, is_loopback, proxy_credentials};
use crate::error::ConfigError;
use crate::limits::Limits;
use crate::permits::{Limit, Permits};
use crate::secret::{Material, Secret};
use rustls::ClientConfig;
use std::fmt::Write;
use std::sync::Arc;
use ureq::http::Uri;
use ureq::http::uri::Authority;
use ureq::{Agent, Proxy, ProxyProtocol};

/// An API server and all that connections to it need. The transports and clients of a cluster share it.
pub(crate) struct Server {
    /// The URL without a slash at its end.
    pub(crate) base: String,
    /// Host and port.
    pub(crate) authority: Authority,
    pub(crate) proxy: Option<Proxy>,
    pub(crate) tls: Option<Tls>,
    /// TLS with the proxy.
    proxy_tls: Option<Tls>,
    pub(crate) auth: Auth,
    user_agent: String,
    pub(crate) limits: Limits,
    /// The open lists and single requests.
    pub(crate) requests: Arc<Permits>,
    pub(crate) watches: Arc<Permits>,
    /// Gets the warnings of lists and watches.
    pub(crate) on_warning: Option<OnWarning>,
}

pub(crate) type OnWarning = Arc<dyn Fn(&str) + Send + Sync>;

/// The credential and the TLS configuration of one request.
#[derive(Clone)]
pub(crate) struct Session {
    pub(crate) credential: Credential,
    tls: Option<Arc<ClientConfig>>,
    proxy_tls: Option<Arc<ClientConfig>>,
}

impl Server {
    pub(crate) fn new(
        settings: Settings,
        user_agent: String,
        limits: Limits,
        on_warning: Option<OnWarning>,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, ConfigError> {
        let Settings { server, place, trust, identity, proxy, login, user_place, impersonate, .. } = settings;
        let uri = address(&server).map_err(|fault| fault.within(&place))?;
        let proxy = ProxyRule { configured: proxy.as_ref(), env }.choose(&uri)?;
        let is_tls = proxy.as_ref().is_some_and(|proxy| proxy.protocol() == ProxyProtocol::Https);
        let proxy_tls = is_tls.then(|| Tls::of_proxy(trust.authority.clone()));
        let tls = match uri.scheme_str() {
            Some("https") => Some(Tls::new(trust, identity, &place)?),
            _ => None,
        };
        let authority = uri.authority().cloned().ok_or_else(|| ConfigError::new(format!("{place}: no host")))?;
        let auth = Auth::new(login, impersonate, limits.exec_timeout, &user_place)?;
        let base = format!("{}://{authority}{}", uri.scheme_str().unwrap_or_default(), cleaned(uri.path()));
        let (most, wait) = (limits.max_requests, limits.wait_timeout);
        let requests = Permits::new(Limit { what: "requests", most, option: "max_requests", wait });
        let most = limits.max_watches;
        let watches = Permits::new(Limit { what: "watches", most, option: "max_watches", wait });
        let found =
            Self { base, authority, proxy, tls, proxy_tls, auth, user_agent, limits, requests, watches, on_warning };
        found.check()?;
        Ok(found)
    }

    /// Fails if the certificates, as they are now, cannot be used.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        self.tls.iter().chain(&self.proxy_tls).try_for_each(|tls| tls.config(None).map(drop))
    }

    /// Whether requests leave this machine without TLS.
    pub(crate) fn sends_plaintext(&self) -> bool {
        self.tls.is_none() && !is_loopback(self.authority.host())
    }

    /// Gets the credential for a request now. It may read files, or run an exec plugin.
    pub(crate) fn session(&self, cancel: &CancelToken) -> Result<Session, ConfigError> {
        self.session_of(self.auth.credential(cancel)?)
    }

    /// Makes a redactor of the session's credentials and of the proxy's password.
    pub(crate) fn redactor(&self, session: &Session) -> Redactor {
        Redactor::new(session.credential.secrets().chain(self.proxy.iter().flat_map(proxy_secrets)))
    }

    /// Gets another credential after the server refused one; `None` if there is no other.
    pub(crate) fn renew(&self, refused: &Session, cancel: &CancelToken) -> Result<Option<Session>, ConfigError> {
        let renewed = self.auth.renew(&refused.credential, cancel)?;
        renewed.map(|credential| self.session_of(credential)).transpose()
    }

    fn session_of(&self, credential: Credential) -> Result<Session, ConfigError> {
        let place = || self.auth.issuer();
        let issued = credential
            .identity
            .clone()
            .map(|(certificate, key)| (Material::Data(certificate, place()), Material::Data(key, place())));
        let tls = self.tls.as_ref().map(|tls| tls.config(issued.as_ref())).transpose()?;
        let proxy_tls = self.proxy_tls.as_ref().map(|tls| tls.config(None)).transpose()?;
        Ok(Session { credential, tls, proxy_tls })
    }

    /// Makes an HTTP client with its own connections, of which it keeps one that is idle. The veil hides what ureq shall not
    /// log.
    pub(crate) fn agent(&self, session: &Session, veil: &Veil) -> Agent {
        let dialer = Dialer {
            keep_alive: self.limits.keep_alive,
            tls: session.tls.clone(),
            server_name: self.tls.as_ref().and_then(|tls| tls.server_name.clone()),
            proxy_tls: session.proxy_tls.clone(),
            veil: veil.clone(),
        };
        let config = Agent::config_builder()
            // The body of an error status is a `Status` object.
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(self.proxy.clone())
            .user_agent(&self.user_agent)
            .accept_encoding("")
            .max_idle_connections(1)
            .timeout_connect(Some(self.limits.connect_timeout))
            .build();
        Agent::with_parts(config, dialer, SystemResolver::default())
    }
}

impl Session {
    /// Whether both can use one connection: they show the same certificate, and trust the same authorities.
    pub(crate) fn shares_connection_with(&self, other: &Self) -> bool {
        match (&self.tls, &other.tls) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (one, other) => one.is_none() && other.is_none(),
        }
    }
}

listwatch_core::summary!("Server" for Server, |it| { base: it.base });

/// The password for a proxy, as it is and as a header carries it.
fn proxy_secrets(proxy: &Proxy) -> impl Iterator<Item = Secret> {
    let password = proxy.password().map(str::to_owned);
    let pair = password.as_ref().and_then(|_| proxy_credentials(proxy));
    password.into_iter().chain(pair).map(Secret::new)
}

/// A path as kubectl sends it: without empty parts, dots and a slash at its end, and in ASCII.
fn cleaned(path: &str) -> String {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    let mut cleaned = String::new();
    for byte in parts.iter().flat_map(|part| ["/", part]).flat_map(str::bytes) {
        match byte {
            0..=0x7f => cleaned.push(byte.into()),
            _ => drop(write!(cleaned, "%{byte:02X}")),
        }
    }
    cleaned
}

/// Checks the URL of a server. Errors do not quote it, because it may contain a password.
fn address(server: &str) -> Result<Uri, ConfigError> {
    let fault = |what| Err(ConfigError::new(format!("the server's address {what}: give https://HOST:PORT")));
    let Ok(uri) = server.parse::<Uri>() else { return fault("is not a URL") };
    let (Some("http" | "https"), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
        return fault("is neither http nor https");
    };
    if authority.as_str().contains('@') {
        return fault("contains a name or a password, which belong into the user entry");
    }
    if authority.host().is_empty() {
        return fault("names no host");
    }
    // ureq would ignore a port that is not a number, and use the default one.
    let has_port = authority.as_str().len() > authority.host().len();
    if has_port && uri.port_u16().is_none_or(|port| port == 0) {
        return fault("has an invalid port");
    }
    if uri.query().is_some() {
        return fault("has a query");
    }
    if server.contains('#') {
        return fault("has a fragment");
    }
    Ok(uri)
}
