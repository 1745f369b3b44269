use crate::client::HttpClient;
use crate::error::{ConfigError, ConfigWarning};
use crate::server::Server;
use crate::transport::HttpTransport;
use std::sync::Arc;

/// An API server, the certificate authority that it is trusted by, and the credential that requests carry.
///
/// A clone is the same cluster. Its transports and clients share the configuration, the credential and one limit on
/// open requests. Changed files with tokens, certificates and authorities are read again. An exec plugin runs again
/// when its credential expires, or when the server refuses the credential.
///
/// ```no_run
/// # fn main() -> Result<(), listwatch_transport_http::ConfigError> {
/// use listwatch_transport_http::Cluster;
///
/// let cluster = Cluster::infer()?;
/// println!("{} in {}", cluster.server(), cluster.namespace());
/// let transport = cluster.transport()?; // for a reflector
/// let client = cluster.client()?; // for single requests
/// # Ok(())
/// # }
/// ```
///
/// # Exec plugins
///
/// If standard input is a terminal, a plugin may prompt there, unless its `interactiveMode` or
/// [`ClusterOptions::interactive`](crate::ClusterOptions::interactive) forbids it. A plugin that may not prompt gets
/// its own process group, which ends with the last request that waits for it. A dropped transport leaves no process
/// behind.
///
/// If this process ends without dropping its transports, by `SIGKILL` or [`std::process::exit`], such a plugin runs on.
/// It ends by itself; Ctrl-C does not reach it.
///
/// Over plain HTTP, no plugin runs and no credential is sent, unless
/// [`ClusterOptions::credentials_over_http`](crate::ClusterOptions::credentials_over_http) allows it.
///
/// Of the `auth-provider`s, Kubernetes has kept `oidc`. Its `id-token` is used while it is valid, and then read again:
/// kubectl renews it in the file. This crate does not.
#[derive(Clone, Debug)]
pub struct Cluster {
    pub(crate) server: Arc<Server>,
    pub(crate) context: Option<String>,
    pub(crate) namespace: Option<String>,
    pub(crate) warnings: Arc<[ConfigWarning]>,
}

impl Cluster {
    /// Makes a transport for one reflector. It opens no connection yet.
    ///
    /// # Errors
    /// If the certificates, which are read now, cannot be used.
    pub fn transport(&self) -> Result<HttpTransport, ConfigError> {
        self.server.check().map(|()| self.into())
    }

    /// Makes a client for single requests. It opens no connection yet.
    ///
    /// # Errors
    /// As [`transport`](Self::transport).
    pub fn client(&self) -> Result<HttpClient, ConfigError> {
        self.server.check().map(|()| self.into())
    }

    /// Returns the URL of the server, without a slash at its end.
    pub fn server(&self) -> &str {
        &self.server.base
    }

    /// Returns the SHA-256, in hexadecimal digits, of the certificates of the authority that the configuration names, as
    /// they are now. `None` if it names none, if they cannot be read, or if any certificate is accepted.
    pub fn authority_fingerprint(&self) -> Option<String> {
        self.server.tls.as_ref()?.authority_fingerprint()
    }

    /// Returns whether an exec plugin may prompt at the terminal.
    ///
    /// If so, a program should not write to the terminal before its first response, and while a credential is renewed.
    pub fn may_prompt(&self) -> bool {
        self.server.auth.may_prompt()
    }

    /// Returns the risks of this configuration. A program should show them to its operator.
    ///
    /// ```
    /// # fn main() -> Result<(), listwatch_transport_http::ConfigError> {
    /// use listwatch_transport_http::Cluster;
    ///
    /// let cluster = Cluster::at("http://127.0.0.1:8001")?;
    /// for warning in cluster.warnings() {
    ///     eprintln!("warning: {warning}");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn warnings(&self) -> &[ConfigWarning] {
        &self.warnings
    }

    /// Returns the name of the kubeconfig's context; `None` without a kubeconfig.
    pub fn context(&self) -> Option<&str> {
        self.context.as_deref()
    }

    /// Returns the namespace of the context or of the pod, else `default`.
    pub fn namespace(&self) -> &str {
        self.configured_namespace().unwrap_or("default")
    }

    /// Returns the namespace of the context or of the pod; `None` if the configuration names none.
    pub fn configured_namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }
}

/// As [`Cluster::transport`], without reading the certificates now. While they cannot be used, each request fails, and
/// the next one reads them again.
impl From<&Cluster> for HttpTransport {
    fn from(cluster: &Cluster) -> Self {
        Self::over(cluster.server.clone())
    }
}

/// As [`Cluster::client`], without reading the certificates now. While they cannot be used, each request fails, and the
/// next one reads them again.
impl From<&Cluster> for HttpClient {
    fn from(cluster: &Cluster) -> Self {
        Self::over(cluster.server.clone())
    }
}
