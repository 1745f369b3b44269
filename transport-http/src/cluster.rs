use crate::client::HttpClient;
use crate::error::ConfigError;
use crate::server::Server;
use crate::transport::HttpTransport;
use crate::warning::ConfigWarning;
use std::sync::Arc;

/// A cluster that can be talked to: an API server, whom to trust there, and in whose name to ask.
///
/// A clone is the same cluster. Its transports share the configuration, the credentials and one limit on open requests.
/// Tokens, certificates and the authority are read again when their files change, and exec plugins are run again when
/// what they gave expires, or when the server does not accept it.
///
/// ```no_run
/// # fn main() -> Result<(), listwatch_transport_http::ConfigError> {
/// use listwatch_transport_http::Cluster;
///
/// let cluster = Cluster::infer()?;
/// println!("{} in {}", cluster.server(), cluster.namespace());
/// let transport = cluster.transport()?;
/// # Ok(())
/// # }
/// ```
///
/// Where standard input is a terminal, an exec plugin may ask there, unless its `interactiveMode` or
/// [`ClusterOptions::interactive`] says no. One that may not has a process group of its own, which ends with the last
/// request that waits for it: a transport that is dropped leaves nothing behind. What cannot be helped: where this process
/// ends without dropping its transports, by `SIGKILL` or [`std::process::exit`], such a plugin goes on until it ends by
/// itself, and Ctrl-C does not reach it.
///
/// What is not there: `auth-provider`, which Kubernetes has removed.
#[derive(Clone, Debug)]
pub struct Cluster {
    server: Arc<Server>,
    context: Option<String>,
    namespace: String,
    warnings: Arc<[ConfigWarning]>,
}

impl Cluster {
    pub(crate) fn new(
        server: Arc<Server>,
        context: Option<String>,
        namespace: String,
        warnings: Vec<ConfigWarning>,
    ) -> Self {
        Self { server, context, namespace, warnings: warnings.into() }
    }

    /// A transport for one reflector. Fails if a certificate cannot be used any more.
    pub fn transport(&self) -> Result<HttpTransport, ConfigError> {
        self.server.check()?;
        Ok(HttpTransport::over(self.server.clone()))
    }

    /// A client for single requests: to read, to change, to discover. Fails as [`transport`](Self::transport) does.
    pub fn client(&self) -> Result<HttpClient, ConfigError> {
        self.server.check()?;
        Ok(HttpClient::over(self.server.clone()))
    }

    /// The address of the server.
    #[must_use]
    pub fn server(&self) -> &str {
        self.server.base()
    }

    /// Whether an exec plugin may ask somebody at the terminal, which then should not be written to: before a first answer,
    /// and when a credential has expired.
    #[must_use]
    pub fn may_ask(&self) -> bool {
        self.server.may_ask()
    }

    /// What is risky about the configuration, for whoever runs the program.
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
    #[must_use]
    pub fn warnings(&self) -> &[ConfigWarning] {
        &self.warnings
    }

    /// The context, where a kubeconfig has one.
    #[must_use]
    pub fn context(&self) -> Option<&str> {
        self.context.as_deref()
    }

    /// The namespace of the context, or of the pod; `default` where none is named.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.namespace
    }
}
