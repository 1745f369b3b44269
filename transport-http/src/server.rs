//! Which server is talked to, and how.

use crate::auth::{Auth, Credential, Redactor};
use crate::cancel::CancelToken;
use crate::config::settings::Settings;
use crate::connect::{ProxyRule, SocksConnector, TcpConnector, Tls, TlsConnector, is_loopback};
use crate::error::ConfigError;
use crate::limits::Limits;
use crate::secret::Secret;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use rustls::ClientConfig;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use ureq::config::Config;
use ureq::http::uri::Authority;
use ureq::http::{Method, Request, Response, Uri};
use ureq::unversioned::resolver::DefaultResolver;
use ureq::unversioned::transport::{ConnectProxyConnector, Connector};
use ureq::{Agent, Body, Proxy};

/// How much is read from a connection at once. The head of an answer has to fit, and so has each header of a request.
pub(crate) const BUFFER: usize = 16 * 1024;

/// An API server, and what every connection to it needs: one for all the transports of a cluster.
pub(crate) struct Server {
    /// Without a slash at its end.
    base: String,
    authority: Authority,
    proxy: Option<Proxy>,
    tls: Option<Tls>,
    auth: Auth,
    limits: Limits,
    open: AtomicUsize,
}

/// What one request is made with.
#[derive(Clone)]
pub(crate) struct Session {
    credential: Credential,
    tls: Option<Arc<ClientConfig>>,
}

/// What is asked.
pub(crate) struct Call<'a> {
    pub(crate) method: Method,
    /// Path and query.
    pub(crate) target: &'a str,
    /// Names and values.
    pub(crate) headers: &'a [(&'static str, &'a str)],
    pub(crate) body: &'a [u8],
    /// How long the server may say nothing.
    pub(crate) idle: Option<Duration>,
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
        let tls = match uri.scheme_str() {
            Some("https") => Some(Tls::new(trust, identity, &place)?),
            _ => None,
        };
        let authority = uri.authority().cloned().ok_or_else(|| ConfigError::new(format!("{place}: no host")))?;
        let auth = Auth::new(login, impersonate, limits.exec_timeout, &user_place)?;
        let base = server.trim_end_matches('/').to_owned();
        let found = Self { base, authority, proxy, tls, auth, limits, open: AtomicUsize::new(0) };
        found.check()?;
        Ok(found)
    }

    /// Whether the certificates can be used as they are now.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        self.tls.as_ref().map_or(Ok(()), |tls| tls.config(None).map(drop))
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The address without a slash at its end.
    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    /// Host and port.
    pub(crate) fn authority(&self) -> &Authority {
        &self.authority
    }

    /// Whether what is sent leaves this machine without TLS.
    pub(crate) fn sends_plaintext(&self) -> bool {
        self.tls.is_none() && !is_loopback(self.authority.host())
    }

    pub(crate) fn is_proxied(&self) -> bool {
        self.proxy.is_some()
    }

    /// Whether somebody is named who vouches for it; otherwise the system's authorities do.
    pub(crate) fn has_authority(&self) -> bool {
        self.tls.as_ref().is_some_and(Tls::has_authority)
    }

    /// A place among the requests that may be open at once.
    pub(crate) fn admit(self: &Arc<Self>) -> Option<Permit> {
        if self.open.fetch_add(1, Ordering::Relaxed) < self.limits.max_requests {
            return Some(Permit(self.clone()));
        }
        self.open.fetch_sub(1, Ordering::Relaxed);
        None
    }

    /// What a request is made with now. It may read files, or run a program.
    pub(crate) fn session(&self, caller: &CancelToken) -> Result<Session, ConfigError> {
        self.session_of(self.auth.credential(caller)?)
    }

    /// What takes the credentials of a session, and those for the proxy, out of what comes back.
    pub(crate) fn redactor(&self, session: &Session) -> Redactor {
        Redactor::new(session.credential.secrets().chain(self.proxy.iter().flat_map(proxy_secrets)))
    }

    /// Something better than what the server did not accept, if there is any.
    pub(crate) fn renew(&self, refused: &Session, caller: &CancelToken) -> Result<Option<Session>, ConfigError> {
        let renewed = self.auth.renew(&refused.credential, caller)?;
        renewed.map(|credential| self.session_of(credential)).transpose()
    }

    pub(crate) fn may_ask(&self) -> bool {
        self.auth.may_ask()
    }

    /// Ends what nobody waits for any more, because somebody has hung up.
    pub(crate) fn on_cancelled(&self) {
        self.auth.on_cancelled();
    }

    fn session_of(&self, credential: Credential) -> Result<Session, ConfigError> {
        let issued = credential.identity.as_ref().map(|identity| (identity, self.auth.issuer()));
        let tls = self.tls.as_ref().map(|tls| tls.config(issued)).transpose()?;
        Ok(Session { credential, tls })
    }

    /// A client with connections of its own, of which it keeps so many for the next request.
    pub(crate) fn agent(&self, session: &Session, kept: usize) -> Agent {
        let name = self.tls.as_ref().and_then(Tls::server_name);
        let tls = TlsConnector::new(session.tls.clone(), self.authority.clone(), name);
        let tcp = || TcpConnector::new(self.limits.keep_alive);
        let connector = ().chain(SocksConnector::new(tcp())).chain(ConnectProxyConnector::default());
        let connector = connector.chain(tcp()).chain(tls);
        Agent::with_parts(self.config(kept), connector, DefaultResolver::default())
    }

    fn config(&self, kept: usize) -> Config {
        Agent::config_builder()
            // The body of a refusal says why.
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(self.proxy.clone())
            .user_agent(concat!("listwatch/", env!("CARGO_PKG_VERSION")))
            .accept_encoding("")
            .input_buffer_size(BUFFER)
            .output_buffer_size(BUFFER)
            // Otherwise a head that fills the buffer looks like a connection that was lost.
            .max_response_header_size(BUFFER - 1)
            .max_idle_connections(kept)
            .max_idle_connections_per_host(kept)
            .timeout_connect(Some(self.limits.connect_timeout))
            .build()
    }

    /// Asks, and waits for the head of the answer.
    pub(crate) fn call(
        &self,
        agent: &Agent,
        session: &Session,
        call: &Call<'_>,
    ) -> Result<Response<Body>, ureq::Error> {
        let mut request = Request::builder().method(call.method.clone()).uri(format!("{}{}", self.base, call.target));
        for (name, value) in call.headers {
            request = request.header(*name, *value);
        }
        for (name, value) in self.auth.headers(&session.credential) {
            request = request.header(name, value);
        }
        if call.body.is_empty() {
            return agent.run(timed(agent, request.body(())?, call.idle));
        }
        agent.run(timed(agent, request.body(call.body)?, call.idle))
    }
}

impl Session {
    /// Whether a connection made for one serves the other: it shows the same certificate, and trusts the same.
    pub(crate) fn shows_the_same_as(&self, other: &Self) -> bool {
        match (&self.tls, &other.tls) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (one, other) => one.is_none() && other.is_none(),
        }
    }
}

/// A request that is open.
#[derive(Debug)]
pub(crate) struct Permit(Arc<Server>);

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
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

/// The password for a proxy, and what is sent of it.
fn proxy_secrets(proxy: &Proxy) -> Vec<Secret> {
    let Some(password) = proxy.password() else { return Vec::new() };
    let pair = format!("{}:{password}", proxy.username().unwrap_or_default());
    [password.to_owned(), BASE64_STANDARD.encode(pair)].map(Secret::new).into()
}

fn timed<B: ureq::AsSendBody>(agent: &Agent, request: Request<B>, idle: Option<Duration>) -> Request<B> {
    agent.configure_request(request).timeout_per_read(idle).timeout_per_write(idle).timeout_recv_response(idle).build()
}

/// What may be wrong with an address does not include what it is: it may hold a password.
fn address(server: &str) -> Result<Uri, ConfigError> {
    let fault = |what| Err(ConfigError::new(format!("the server's address {what}: give https://HOST:PORT")));
    let Ok(uri) = server.parse::<Uri>() else { return fault("is not a URL") };
    let (Some("http" | "https"), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
        return fault("is neither http nor https");
    };
    if authority.as_str().contains('@') {
        return fault("holds a name or a password, which belong to the user's entry");
    }
    if authority.host().is_empty() {
        return fault("names no host");
    }
    // One that is no number would be left out, and the usual one be asked.
    let has_port = authority.as_str().len() > authority.host().len();
    if has_port && uri.port_u16().is_none_or(|port| port == 0) {
        return fault("has a port that is none");
    }
    if uri.query().is_some() {
        return fault("has a query");
    }
    if server.contains('#') {
        return fault("has a fragment");
    }
    Ok(uri)
}
