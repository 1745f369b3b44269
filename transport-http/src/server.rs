use crate::auth::{Auth, Credential, Redactor};
use crate::cancel::CancelToken;
use crate::config::settings::Settings;
use crate::connect::{
    BUFFER, CurrentGate, GateConnector, LastWire, ProxyRule, SocksConnector, SystemResolver, TcpConnector, Tls,
    TlsConnector, Veil, VeilConnector, VeiledBody, is_loopback,
};
use crate::error::ConfigError;
use crate::limits::Limits;
use crate::permits::{Limit, Permits};
use crate::secret::{Material, Secret};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use listwatch_core::api::SendGate;
use rustls::ClientConfig;
use std::borrow::Cow;
use std::fmt::{self, Write};
use std::sync::Arc;
use std::time::Duration;
use ureq::config::Config;
use ureq::http::uri::Authority;
use ureq::http::{Method, Request, Response, Uri};
use ureq::unversioned::transport::{ConnectProxyConnector, Connector};
use ureq::{Agent, Proxy, ProxyProtocol};

/// An API server and all that connections to it need. The transports and clients of a cluster share it.
pub(crate) struct Server {
    /// The URL without a slash at its end.
    base: String,
    authority: Authority,
    proxy: Option<Proxy>,
    tls: Option<Tls>,
    /// TLS with the proxy.
    proxy_tls: Option<Tls>,
    auth: Auth,
    limits: Limits,
    /// The open lists and single requests.
    requests: Arc<Permits>,
    watches: Arc<Permits>,
    on_warning: Option<OnWarning>,
}

/// Gets the warnings of lists and watches.
pub(crate) type OnWarning = Arc<dyn Fn(&str) + Send + Sync>;

/// The credential and the TLS configuration of one request.
#[derive(Clone)]
pub(crate) struct Session {
    credential: Credential,
    tls: Option<Arc<ClientConfig>>,
    proxy_tls: Option<Arc<ClientConfig>>,
}

/// A request as it goes over HTTP.
pub(crate) struct Call<'a> {
    pub(crate) method: Method,
    /// Path and query.
    pub(crate) target: &'a str,
    /// Names and values.
    pub(crate) headers: &'a [(&'static str, Cow<'static, str>)],
    pub(crate) body: &'a [u8],
    /// How long the server may send nothing.
    pub(crate) idle: Option<Duration>,
    /// Asked when it leaves.
    pub(crate) gate: Option<&'a SendGate>,
}

impl Server {
    pub(crate) fn new(
        settings: Settings,
        limits: Limits,
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
        let found = Self { base, authority, proxy, tls, proxy_tls, auth, limits, requests, watches, on_warning: None };
        found.check()?;
        Ok(found)
    }

    /// Fails if the certificates, as they are now, cannot be used.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        self.tls.iter().chain(&self.proxy_tls).try_for_each(|tls| tls.config(None).map(drop))
    }

    /// Passes warnings of lists and watches on.
    pub(crate) fn on_warning(self, on_warning: Option<OnWarning>) -> Self {
        Self { on_warning, ..self }
    }

    /// The server warns of something.
    pub(crate) fn warn(&self, text: &str) {
        self.on_warning.iter().for_each(|on_warning| on_warning(text));
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The URL without a slash at its end.
    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    /// Host and port.
    pub(crate) fn authority(&self) -> &Authority {
        &self.authority
    }

    /// Whether requests leave this machine without TLS.
    pub(crate) fn sends_plaintext(&self) -> bool {
        self.tls.is_none() && !is_loopback(self.authority.host())
    }

    pub(crate) fn is_proxied(&self) -> bool {
        self.proxy.is_some()
    }

    /// Whether the configuration names a certificate authority; if not, those of the system count.
    pub(crate) fn has_authority(&self) -> bool {
        self.tls.as_ref().is_some_and(Tls::has_authority)
    }

    /// A fingerprint of the configured authority.
    pub(crate) fn authority_fingerprint(&self) -> Option<String> {
        self.tls.as_ref()?.authority_fingerprint()
    }

    /// The lists and single requests that may be open at once.
    pub(crate) fn requests(&self) -> &Arc<Permits> {
        &self.requests
    }

    /// The watches that may be open at once.
    pub(crate) fn watches(&self) -> &Arc<Permits> {
        &self.watches
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

    pub(crate) fn may_prompt(&self) -> bool {
        self.auth.may_prompt()
    }

    /// What a session waits for: an exec plugin.
    pub(crate) fn waits_for(&self) -> Option<String> {
        self.auth.waits_for()
    }

    /// Kills an exec plugin that no caller waits for any more.
    pub(crate) fn on_cancelled(&self) {
        self.auth.on_cancelled();
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

    /// Makes an HTTP client with its own connections, of which it keeps up to `kept` idle ones. It sets the socket that
    /// it writes to, and asks the gate before. The veil hides what ureq shall not log.
    pub(crate) fn agent(
        &self,
        session: &Session,
        kept: usize,
        (last, gate, veil): (&LastWire, &CurrentGate, &Veil),
    ) -> Agent {
        let name = self.tls.as_ref().and_then(Tls::server_name);
        let tls = TlsConnector::new(session.tls.clone(), name, session.proxy_tls.clone());
        let tcp = || TcpConnector::new(self.limits.keep_alive, last.clone());
        let connector = ().chain(SocksConnector::new(tcp())).chain(ConnectProxyConnector::default());
        let connector = connector.chain(tcp()).chain(tls).chain(GateConnector::new(gate.clone()));
        let connector = connector.chain(VeilConnector::new(veil.clone(), self.is_proxied()));
        Agent::with_parts(self.config(kept), connector, SystemResolver::default())
    }

    fn config(&self, kept: usize) -> Config {
        Agent::config_builder()
            // The body of an error status is a `Status` object.
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(self.proxy.clone())
            .user_agent(concat!("listwatch/", env!("CARGO_PKG_VERSION")))
            .accept_encoding("")
            .input_buffer_size(BUFFER)
            .output_buffer_size(BUFFER)
            .max_idle_connections(kept)
            .max_idle_connections_per_host(kept)
            .timeout_connect(Some(self.limits.connect_timeout))
            .build()
    }

    /// Sends a request, and waits for the head of the response.
    pub(crate) fn call(
        &self,
        agent: &Agent,
        session: &Session,
        call: &Call<'_>,
        veil: &Veil,
    ) -> Result<Response<VeiledBody>, ureq::Error> {
        let mut request = Request::builder().method(call.method.clone()).uri(format!("{}{}", self.base, call.target));
        for (name, value) in call.headers {
            request = request.header(*name, &**value);
        }
        veil.begin(self.auth.headers(&session.credential));
        let seen = match call.body {
            [] => agent.run(timed(agent, request.body(())?, call.idle)),
            body => agent.run(timed(agent, request.body(body)?, call.idle)),
        };
        veil.answer(seen?, call.idle)
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

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("base", &self.base).finish_non_exhaustive()
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").finish_non_exhaustive()
    }
}

/// The password for a proxy, as it is and as a header carries it.
fn proxy_secrets(proxy: &Proxy) -> Vec<Secret> {
    let Some(password) = proxy.password() else { return Vec::new() };
    let pair = format!("{}:{password}", proxy.username().unwrap_or_default());
    [password.to_owned(), BASE64_STANDARD.encode(pair)].map(Secret::new).into()
}

fn timed<B: ureq::AsSendBody>(agent: &Agent, request: Request<B>, idle: Option<Duration>) -> Request<B> {
    agent.configure_request(request).timeout_per_read(idle).timeout_per_write(idle).timeout_recv_response(idle).build()
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
