use crate::cluster::Cluster;
use crate::config::Kubeconfig;
use crate::config::in_cluster;
use crate::config::settings::{Allowed, Login, Settings};
use crate::connect::USER_AGENT;
use crate::error::{ConfigError, ConfigWarning};
use crate::limits::Limits;
use crate::secret::Secret;
use crate::server::{OnWarning, Server};
use crate::transport::HttpTransport;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The choice of a cluster, and the limits of its connections. [`Cluster::infer`] and its neighbours use the defaults.
///
/// A method that ends a chain reads the configuration and returns a [`Cluster`]: [`infer`](Self::infer),
/// [`kubeconfig`](Self::kubeconfig), [`kubeconfig_text`](Self::kubeconfig_text) and [`at`](Self::at).
///
/// ```no_run
/// # fn main() -> Result<(), listwatch_transport_http::ConfigError> {
/// use listwatch_transport_http::ClusterOptions;
/// use std::time::Duration;
///
/// let options = ClusterOptions::new().context("staging").connect_timeout(Duration::from_secs(5)).max_requests(20);
/// let cluster = options.infer()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use]
pub struct ClusterOptions {
    context: Option<String>,
    user: Option<String>,
    groups: Vec<String>,
    token: Option<Secret>,
    insecure: bool,
    user_agent: String,
    service_account: PathBuf,
    env: Env,
    allowed: Allowed,
    limits: Limits,
    on_warning: Option<OnWarning>,
}

/// The longest time limit. Clocks can still add it.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// The longest keep-alive limit: systems take little more.
const LONGEST_KEEP_ALIVE: Duration = Duration::from_secs(12 * 60 * 60);

/// Looks up an environment variable.
type Env = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

impl ClusterOptions {
    /// Returns the defaults, which the setters name.
    pub fn new() -> Self {
        Self {
            context: None,
            user: None,
            groups: Vec::new(),
            token: None,
            insecure: false,
            user_agent: USER_AGENT.to_owned(),
            service_account: in_cluster::SERVICE_ACCOUNT.into(),
            env: Arc::new(|name| std::env::var(name).ok()),
            allowed: Allowed { prompts: std::io::stdin().is_terminal(), over_http: false },
            limits: Limits::default(),
            on_warning: None,
        }
    }

    /// Chooses a context of the kubeconfig; its `current-context` unless set.
    pub fn context(mut self, name: impl Into<String>) -> Self {
        self.context = Some(name.into());
        self
    }

    /// Sends requests in the name of this user, as `kubectl --as` does.
    ///
    /// It replaces `as` of the kubeconfig together with its groups, uid and extra fields.
    pub fn impersonate(mut self, user: impl Into<String>) -> Self {
        self.user = Some(user.into());
        self
    }

    /// Sets the groups of the user that [`impersonate`](Self::impersonate) names, as `kubectl --as-group` does.
    pub fn impersonate_groups(mut self, groups: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.groups = groups.into_iter().map(Into::into).collect();
        self
    }

    /// Sends this token instead of the configuration's token, password or exec plugin, as `kubectl --token` does.
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(Secret::new(token.into()));
        self
    }

    /// Sets whether any certificate of the server is accepted, whatever the configuration says: `false` unless set.
    pub fn insecure_skip_tls_verify(mut self, skips: bool) -> Self {
        self.insecure = skips;
        self
    }

    /// Names the program to the server, as `my-operator/1.2`: `listwatch/` with its version unless set.
    ///
    /// An audit log has the name. What stands before the slash is the field manager of writes that name none.
    pub fn user_agent(mut self, name: impl Into<String>) -> Self {
        self.user_agent = name.into();
        self
    }

    /// Limits the time to connect, TLS handshake included: 30 s unless set. The limit does not cover name resolution.
    pub fn connect_timeout(mut self, limit: Duration) -> Self {
        self.limits.connect_timeout = limit.min(LONGEST);
        self
    }

    /// Limits how long a server may send nothing while it owes a response: 60 s unless set.
    ///
    /// A watch may be silent for its own `timeoutSeconds` and this limit together. `None` sets no limit; then the
    /// caller that opened the request needs a deadline of its own.
    pub fn idle_timeout(mut self, limit: Option<Duration>) -> Self {
        self.limits.idle_timeout = limit.map(|limit| limit.min(LONGEST));
        self
    }

    /// Limits how long a peer may acknowledge nothing before its connection fails: 50 s unless set.
    ///
    /// TCP keep-alive probes detect the dead peer of a silent watch; client-go's HTTP/2 pings take 45 s. The first
    /// probe follows after two fifths of the limit, and two more follow a fifth apart. On Linux the limit also holds
    /// for sent data (`TCP_USER_TIMEOUT`). Systems count in whole seconds, so a limit below 5 s is inexact. `None`
    /// leaves the decision to the system, which takes hours.
    ///
    /// Behind a proxy the peer is the proxy, which may hide that the server vanished.
    pub fn keep_alive(mut self, limit: Option<Duration>) -> Self {
        self.limits.keep_alive = limit.map(|limit| limit.min(LONGEST_KEEP_ALIVE));
        self
    }

    /// Sets whether an exec plugin may prompt on standard input, if its `interactiveMode` allows it.
    ///
    /// Unless set, a plugin may prompt if standard input is a terminal. A program that reads standard input itself sets
    /// `false`.
    ///
    /// A plugin that may prompt stays in the process group of this program, because another group cannot read the
    /// terminal. Therefore Ctrl-C reaches it, and an early end does not kill its children.
    pub fn interactive(mut self, may_prompt: bool) -> Self {
        self.allowed.prompts = may_prompt;
        self
    }

    /// Sets whether credentials of a kubeconfig may be sent over plain HTTP, where they can be read on the way: `false`
    /// unless set.
    ///
    /// As with kubectl, a server without TLS gets no token and no password, and no exec plugin runs for it. A
    /// [warning](Cluster::warnings) says so. Headers that impersonate a user are sent.
    pub fn credentials_over_http(mut self, allowed: bool) -> Self {
        self.allowed.over_http = allowed;
        self
    }

    /// Limits the run time of an exec plugin: 60 s unless set. A plugin also ends with the last request that waits for
    /// it.
    pub fn exec_timeout(mut self, limit: Duration) -> Self {
        self.limits.exec_timeout = limit.min(LONGEST);
        self
    }

    /// Limits the open lists and single requests of all transports and clients of the cluster: 256 unless set. One more
    /// waits, for the [`wait_timeout`](Self::wait_timeout).
    ///
    /// Each of them has a connection and a thread. Blocking calls of a client run on the caller's thread, and do not
    /// count.
    pub fn max_requests(mut self, limit: usize) -> Self {
        self.limits.max_requests = limit;
        self
    }

    /// Limits the open watches of all transports of the cluster: 1024 unless set. One more waits, for the
    /// [`wait_timeout`](Self::wait_timeout). Watches leave other requests their room.
    ///
    /// An informer has a watch for each of its namespaces, which takes a connection. The process needs as many open files.
    /// Each watch has a thread, too; with a [`Reactor`](crate::Reactor), it has one only until its response begins.
    pub fn max_watches(mut self, limit: usize) -> Self {
        self.limits.max_watches = limit;
        self
    }

    /// Limits how long a request waits while as many are open as [`max_requests`](Self::max_requests) or
    /// [`max_watches`](Self::max_watches) says: 10 s unless set. Zero lets none wait.
    ///
    /// As many may wait as may be open, the first one first, each with a thread. One that waits too long, and one more than
    /// may wait, fail with
    /// [`TransportErrorKind::Exhausted`](listwatch_core::transport::TransportErrorKind). The error names the option. While
    /// a stream waits, its status says so.
    pub fn wait_timeout(mut self, limit: Duration) -> Self {
        self.limits.wait_timeout = limit.min(LONGEST);
        self
    }

    /// Limits the bytes of one response to a client, decompressed: 128 MiB unless set. The response to a create, replace
    /// or patch, which is one object, has 16 MiB at most.
    ///
    /// A transport has no such limit, because it stores nothing.
    pub fn max_response(mut self, limit: usize) -> Self {
        self.limits.max_response = limit;
        self
    }

    /// Replaces the environment variables of the process: `KUBECONFIG`, `HOME`, those of pods, and those of proxies.
    pub fn env(mut self, read: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        self.env = Arc::new(read);
        self
    }

    /// Sets the folder of the pod's service account: `/var/run/secrets/kubernetes.io/serviceaccount` unless set.
    pub fn service_account(mut self, folder: impl Into<PathBuf>) -> Self {
        self.service_account = folder.into();
        self
    }

    /// Calls `warn` with each warning of a list or a watch: the text of a header `Warning`, as the server wrote it, without
    /// credentials (client-go `WarningHandler`). A relist brings the same again. It is called where the transport is
    /// polled. By default, these warnings are dropped; those of single requests are in the
    /// [response](listwatch_core::api::ApiResponse::warnings).
    #[doc(alias = "WarningHandler")]
    pub fn on_warning(mut self, warn: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.on_warning = Some(Arc::new(warn));
        self
    }

    /// Finds a cluster: by `$KUBECONFIG`, else by `~/.kube/config`, else by the service account of this pod.
    ///
    /// # Errors
    /// If none of them exists ([`ConfigError::is_missing`]), or if the first that exists cannot be used.
    pub fn infer(&self) -> Result<Cluster, ConfigError> {
        let listed = (self.env)("KUBECONFIG").filter(|list| !list.is_empty());
        let files: Vec<PathBuf> = match &listed {
            Some(list) => std::env::split_paths(list).filter(|path| !path.as_os_str().is_empty()).collect(),
            None => self.home().map(|home| home.join(".kube/config")).into_iter().collect(),
        };
        if let Some(kubeconfig) = Kubeconfig::of_existing(&files)? {
            return self.build(kubeconfig.settings(self.context.as_deref(), self.allowed)?);
        }
        let env = |name: &str| (self.env)(name);
        match in_cluster::settings(&self.service_account, &env)? {
            Some(settings) => self.build(settings),
            None => {
                let tried: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
                let tried = match (&tried[..], listed.is_some()) {
                    ([], _) => "there is no ~/.kube/config".to_owned(),
                    ([file], true) => format!("KUBECONFIG names {file}, which does not exist"),
                    (files, true) => format!("KUBECONFIG names {}, which do not exist", files.join(", ")),
                    (files, false) => format!("there is no {}", files.join(", ")),
                };
                Err(ConfigError::missing(format!(
                    "no cluster is configured: {tried}, and this is no pod with a service account; \
                     set KUBECONFIG to the path of a kubeconfig"
                )))
            }
        }
    }

    /// Reads a kubeconfig from a file.
    ///
    /// # Errors
    /// If the file, or a file that it names, cannot be read or used, and if it lacks the context.
    pub fn kubeconfig(&self, path: impl AsRef<Path>) -> Result<Cluster, ConfigError> {
        self.build(Kubeconfig::of(path.as_ref())?.settings(self.context.as_deref(), self.allowed)?)
    }

    /// Reads a kubeconfig from a string.
    ///
    /// The text must not name files, because relative paths would have no folder. An exec plugin named in it is found
    /// in `$PATH` and run, so accept the text only from a trusted source.
    ///
    /// # Errors
    /// If the text is no kubeconfig, names a file, lacks the context, or has entries that cannot be used.
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
        self.build(Kubeconfig::of_text(text)?.settings(self.context.as_deref(), self.allowed)?)
    }

    /// Uses the API server at this URL without a credential.
    ///
    /// # Errors
    /// If the URL is not one of an HTTP server, or if the environment names an unusable proxy.
    pub fn at(&self, url: &str) -> Result<Cluster, ConfigError> {
        self.build(Settings::of_server(url.to_owned(), "the given server".to_owned()))
    }

    fn build(&self, mut settings: Settings) -> Result<Cluster, ConfigError> {
        if let Some(user) = &self.user {
            let groups = self.groups.iter().map(|group| ("impersonate-group", group));
            let headers = [("impersonate-user", user)].into_iter().chain(groups);
            settings.impersonate = headers.map(|(name, value)| (name.to_owned(), value.clone())).collect();
        }
        if self.insecure && settings.is_https() {
            (settings.trust.authority, settings.trust.insecure) = (None, true);
        }
        if let Some(token) = &self.token {
            self.log_in_by(token, &mut settings);
        }
        let user_agent = checked(self.user_agent.clone())?;
        let (context, namespace) = (settings.context.take(), settings.namespace.take());
        let mut warnings = std::mem::take(&mut settings.warnings);
        let user = (!matches!(settings.login, Login::None)).then(|| settings.user_place.clone());
        let env = |name: &str| (self.env)(name);
        let server = Server::new(settings, user_agent, self.limits.clone(), self.on_warning.clone(), &env)?;
        if let Some(place) = user.filter(|_| server.sends_plaintext()) {
            warnings.push(ConfigWarning::PlainCredential { place, server: server.base.clone() });
        }
        Ok(Cluster { server: Arc::new(server), context, namespace, warnings: warnings.into() })
    }

    fn log_in_by(&self, token: &Secret, settings: &mut Settings) {
        let place = "the given token".to_owned();
        if settings.is_https() || self.allowed.over_http {
            (settings.login, settings.user_place) = (Login::Token(token.clone()), place);
        } else {
            let server = settings.server.clone();
            settings.warnings.push(ConfigWarning::WithheldCredential { place, server });
        }
    }

    fn home(&self) -> Option<PathBuf> {
        let set = |name: &str| (self.env)(name).filter(|value| !value.is_empty());
        set("HOME").or_else(|| set("USERPROFILE")).map(PathBuf::from)
    }
}

/// Constructors that use the defaults of [`ClusterOptions`].
impl Cluster {
    /// Finds the cluster that kubectl would use: the current context of `$KUBECONFIG`, else of `~/.kube/config`.
    ///
    /// If neither exists, the service account of the pod that runs this program is used. Several files in `$KUBECONFIG`
    /// are merged; the first definition of a name counts.
    ///
    /// # Errors
    /// See [`ClusterOptions::infer`].
    pub fn infer() -> Result<Self, ConfigError> {
        ClusterOptions::new().infer()
    }

    /// Reads the current context of a kubeconfig. [`ClusterOptions::context`] chooses another one.
    ///
    /// # Errors
    /// See [`ClusterOptions::kubeconfig`].
    pub fn from_kubeconfig(path: impl AsRef<Path>) -> Result<Self, ConfigError> {
        ClusterOptions::new().kubeconfig(path)
    }

    /// Uses the API server at `url` without a credential, such as `http://127.0.0.1:8001` of `kubectl proxy`.
    ///
    /// If the URL has a path, the path precedes that of every request.
    ///
    /// # Errors
    /// See [`ClusterOptions::at`].
    pub fn at(url: &str) -> Result<Self, ConfigError> {
        ClusterOptions::new().at(url)
    }
}

/// A name that a header can carry.
fn checked(name: String) -> Result<String, ConfigError> {
    let is_printable = !name.is_empty() && name.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    let message = "the user agent has to be printable ASCII, such as my-operator/1.2";
    if is_printable { Ok(name) } else { Err(ConfigError::new(message.to_owned())) }
}

impl HttpTransport {
    /// Makes a transport to the API server at `base_url` without a credential, as [`Cluster::at`] does.
    ///
    /// # Errors
    /// See [`ClusterOptions::at`].
    pub fn new(base_url: &str) -> Result<Self, ConfigError> {
        Cluster::at(base_url)?.transport()
    }
}

impl Default for ClusterOptions {
    fn default() -> Self {
        Self::new()
    }
}

listwatch_core::summary!("ClusterOptions" for ClusterOptions, |it| { context: it.context, limits: it.limits });
