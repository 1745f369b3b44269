use crate::cluster::Cluster;
use crate::config::Kubeconfig;
use crate::config::in_cluster;
use crate::config::settings::{Login, Settings};
use crate::error::ConfigError;
use crate::limits::Limits;
use crate::server::Server;
use crate::warning::ConfigWarning;
use std::fmt;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How a cluster is found, and what limits its connections have. [`Cluster::infer`] and its neighbours use the defaults.
///
/// ```no_run
/// # fn main() -> Result<(), listwatch_transport_http::ConfigError> {
/// use listwatch_transport_http::ClusterOptions;
///
/// let cluster = ClusterOptions::new().context("staging").max_requests(20).infer()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ClusterOptions {
    context: Option<String>,
    user: Option<String>,
    service_account: PathBuf,
    env: Env,
    interactive: bool,
    limits: Limits,
}

/// As good as for ever, and still a time that clocks can count to.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// No system takes much more.
const LONGEST_KEEP_ALIVE: Duration = Duration::from_secs(12 * 60 * 60);

/// Reads a variable of the environment.
type Env = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

impl ClusterOptions {
    /// The defaults.
    #[must_use]
    pub fn new() -> Self {
        Self {
            context: None,
            user: None,
            service_account: in_cluster::SERVICE_ACCOUNT.into(),
            env: Arc::new(|name| std::env::var(name).ok()),
            interactive: std::io::stdin().is_terminal(),
            limits: Limits::default(),
        }
    }

    /// The context of the kubeconfig, instead of its current one.
    #[must_use]
    pub fn context(mut self, name: impl Into<String>) -> Self {
        self.context = Some(name.into());
        self
    }

    /// Asks in the name of this user, whoever has the credentials: `kubectl --as`. In a kubeconfig it is `as`, which this
    /// replaces, with the groups named there.
    #[must_use]
    pub fn impersonate(mut self, user: impl Into<String>) -> Self {
        self.user = Some(user.into());
        self
    }

    /// How long connecting may take, TLS included, but not the resolution of the server's name: 30 s.
    #[must_use]
    pub fn connect_timeout(mut self, limit: Duration) -> Self {
        self.limits.connect_timeout = limit.min(LONGEST);
        self
    }

    /// How long a server may be silent while it owes an answer: 60 s. For a watch, the time after which the server ends
    /// it is added; `None` for no limit, which leaves it to whoever opened the request.
    #[must_use]
    pub fn idle_timeout(mut self, limit: Option<Duration>) -> Self {
        self.limits.idle_timeout = limit.map(|limit| limit.min(LONGEST));
        self
    }

    /// How long a peer may acknowledge nothing before its connection counts as dead: 50 s, which a silent watch notices by
    /// TCP keep-alive (client-go's HTTP/2 pings take 45 s). The first probe goes out after two fifths of it, two more
    /// follow a fifth apart; on Linux the limit holds for sent data too (`TCP_USER_TIMEOUT`). Systems count in whole
    /// seconds, so less than 5 s is not kept exactly. `None` leaves it to the system, which notices after hours.
    ///
    /// Behind a proxy the peer is the proxy: whether it notices that the server has gone is its own affair.
    #[must_use]
    pub fn keep_alive(mut self, limit: Option<Duration>) -> Self {
        self.limits.keep_alive = limit.map(|limit| limit.min(LONGEST_KEEP_ALIVE));
        self
    }

    /// Whether an exec plugin may ask somebody on standard input, if its `interactiveMode` lets it: where that is a
    /// terminal. A program that reads standard input itself says no.
    ///
    /// A plugin that may ask stays in the process group of this program, because another one could not read from the
    /// terminal. So Ctrl-C reaches it as well, and when it is ended early, its own children are not.
    #[must_use]
    pub fn interactive(mut self, may_ask: bool) -> Self {
        self.interactive = may_ask;
        self
    }

    /// How long an exec plugin may run: 60 s, and no longer than a request waits for it.
    #[must_use]
    pub fn exec_timeout(mut self, limit: Duration) -> Self {
        self.limits.exec_timeout = limit.min(LONGEST);
        self
    }

    /// How many requests the transports and the clients of the cluster may have open at once, each with a thread and a
    /// connection: 256. One more fails at once. A client that is called on a thread of its caller's is not counted.
    #[must_use]
    pub fn max_requests(mut self, limit: usize) -> Self {
        self.limits.max_requests = limit;
        self
    }

    /// How many bytes a client takes as one answer, decompressed: 128 MiB. A transport has no such limit, because it
    /// stores nothing.
    #[must_use]
    pub fn max_answer(mut self, limit: usize) -> Self {
        self.limits.max_answer = limit;
        self
    }

    /// Variables that stand in for those of the process: `KUBECONFIG`, `HOME`, those of a pod, and those of proxies.
    #[must_use]
    pub fn env(mut self, read: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        self.env = Arc::new(read);
        self
    }

    /// The folder of a pod's service account, if not `/var/run/secrets/kubernetes.io/serviceaccount`.
    #[must_use]
    pub fn service_account(mut self, folder: impl Into<PathBuf>) -> Self {
        self.service_account = folder.into();
        self
    }

    /// The cluster of `$KUBECONFIG`, of `~/.kube/config`, or of the pod that this runs in; what comes first counts.
    ///
    /// # Errors
    /// Where there is none of them ([`ConfigError::is_missing`]), or the first one cannot be read or used.
    pub fn infer(&self) -> Result<Cluster, ConfigError> {
        let listed = (self.env)("KUBECONFIG").filter(|list| !list.is_empty());
        let files: Vec<PathBuf> = match &listed {
            Some(list) => std::env::split_paths(list).filter(|path| !path.as_os_str().is_empty()).collect(),
            None => self.home().map(|home| home.join(".kube/config")).into_iter().collect(),
        };
        if let Some(kubeconfig) = Kubeconfig::of_existing(&files)? {
            return self.build(kubeconfig.settings(self.context.as_deref(), self.interactive)?);
        }
        let env = |name: &str| (self.env)(name);
        match in_cluster::settings(&self.service_account, &env)? {
            Some(settings) => self.build(settings),
            None => {
                let tried: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
                let tried = if tried.is_empty() { "~/.kube/config".to_owned() } else { tried.join(", ") };
                Err(ConfigError::missing(format!(
                    "no cluster is configured: there is no {tried}, and this is no pod with a service account; \
                     set KUBECONFIG to the path of a kubeconfig"
                )))
            }
        }
    }

    /// The cluster of this kubeconfig.
    ///
    /// # Errors
    /// Where the file, or a file that it names, cannot be read or used, and where it has no such context.
    pub fn kubeconfig(&self, path: impl AsRef<Path>) -> Result<Cluster, ConfigError> {
        self.build(Kubeconfig::of(path.as_ref())?.settings(self.context.as_deref(), self.interactive)?)
    }

    /// The cluster of a kubeconfig that is text.
    ///
    /// The text must not name files: it has no folder for relative paths. A plugin named in it is looked up in `$PATH` and
    /// run. Accept such text only from a trusted source.
    ///
    /// # Errors
    /// Where the text is no kubeconfig, names a file, or has no such context, and where its entries cannot be used.
    ///
    /// ```
    /// # fn main() -> Result<(), listwatch_transport_http::ConfigError> {
    /// use listwatch_transport_http::ClusterOptions;
    ///
    /// let text = "\
    /// current-context: dev
    /// contexts: [{name: dev, context: {cluster: dev, namespace: web}}]
    /// clusters: [{name: dev, cluster: {server: 'http://127.0.0.1:8001'}}]
    /// ";
    /// let cluster = ClusterOptions::new().kubeconfig_text(text)?;
    /// assert_eq!((cluster.server(), cluster.namespace()), ("http://127.0.0.1:8001", "web"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn kubeconfig_text(&self, text: &str) -> Result<Cluster, ConfigError> {
        self.build(Kubeconfig::of_text(text)?.settings(self.context.as_deref(), self.interactive)?)
    }

    /// The server at this address, without a credential: what `kubectl proxy` offers, say.
    ///
    /// # Errors
    /// Where the address is no address of an HTTP server, or the environment names a proxy that cannot be used.
    pub fn at(&self, url: &str) -> Result<Cluster, ConfigError> {
        self.build(Settings::of_server(url.to_owned(), "the given server".to_owned()))
    }

    fn build(&self, mut settings: Settings) -> Result<Cluster, ConfigError> {
        if let Some(user) = &self.user {
            settings.impersonate = vec![("impersonate-user".to_owned(), user.clone())];
        }
        let namespace = std::mem::take(&mut settings.namespace);
        let context = settings.context.take();
        let mut warnings = std::mem::take(&mut settings.warnings);
        let user = (!matches!(settings.login, Login::Nobody)).then(|| settings.user_place.clone());
        let server = Server::new(settings, self.limits.clone(), &|name| (self.env)(name))?;
        if let Some(place) = user.filter(|_| server.sends_plaintext()) {
            warnings.push(ConfigWarning::PlainCredential { place, server: server.base().to_owned() });
        }
        Ok(Cluster::new(Arc::new(server), context, namespace, warnings))
    }

    fn home(&self) -> Option<PathBuf> {
        let set = |name: &str| (self.env)(name).filter(|value| !value.is_empty());
        set("HOME").or_else(|| set("USERPROFILE")).map(PathBuf::from)
    }
}

impl Default for ClusterOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for ClusterOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClusterOptions")
            .field("context", &self.context)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
