use super::file::SaveProblem;
use crate::client::Client;
use crate::clock::Clock;
use crate::stderr;
use core::time::Duration;
#[cfg(feature = "http")]
use listwatch_transport_http::{Cluster, HttpClient};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The file that a cache is saved to, and restored from at the next start.
///
/// ```no_run
/// # fn main() -> Result<(), listwatch::http::ConfigError> {
/// use core::time::Duration;
/// use listwatch::Clock;
/// use listwatch::http::Cluster;
/// use listwatch::saved::SaveTo;
///
/// let (cluster, clock) = (Cluster::infer()?, Clock::real());
/// let save = SaveTo::new("/var/lib/agent/pods.json").of(&cluster, &clock).every(Duration::from_secs(300));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use]
pub struct SaveTo {
    pub(super) path: PathBuf,
    pub(super) every: Duration,
    pub(super) server: String,
    pub(super) authority: String,
    /// Tells the identity of the cluster.
    pub(super) client: Option<Client>,
    pub(super) include_secrets: bool,
    pub(super) on_problem: Arc<dyn Fn(&SaveProblem) + Send + Sync>,
}

/// An API server sends a bookmark a minute, so an idle cache is saved as often.
const EVERY: Duration = Duration::from_secs(60);

impl SaveTo {
    /// A file of one informer, whose folder has to be there. [`of`](Self::of) or [`of_server`](Self::of_server) names the
    /// server. Without a name, nothing is restored or saved, and a problem is told: the file may be another cluster's. An
    /// informer of a [`World`](crate::World) that has a server takes the name from there.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            every: EVERY,
            server: String::new(),
            authority: String::new(),
            client: None,
            include_secrets: false,
            on_problem: Arc::new(|problem| stderr::write_line(&Clock::real(), problem)),
        }
    }

    /// Names the cluster. A file of another one is not restored: its URL, its certificate authority and, where both could
    /// be read, the uid of its namespace `kube-system` are compared.
    ///
    /// The uid is asked for once the server can be reached, and needs the right to `get` that namespace.
    #[cfg(feature = "http")]
    pub fn of(self, cluster: &Cluster, clock: &Clock) -> Self {
        let client = Client::new(HttpClient::from(cluster), clock.clone());
        let authority = cluster.authority_fingerprint().unwrap_or_default();
        self.of_server(cluster.server(), &authority, Some(client))
    }

    /// The same by its parts: the URL, a fingerprint of the authority, and a client of the server.
    pub fn of_server(mut self, url: &str, authority: &str, client: Option<Client>) -> Self {
        (self.server, self.authority, self.client) = (url.into(), authority.into(), client);
        self
    }

    /// Sets the least time between two saves. Default: 60 s. A flash memory wears out by writing.
    pub fn every(mut self, every: Duration) -> Self {
        self.every = every;
        self
    }

    /// Saves Secrets and tokens too, in plain text. By default they are refused.
    pub fn include_secrets(mut self, include: bool) -> Self {
        self.include_secrets = include;
        self
    }

    /// Calls `on_problem` if the file is not restored, or cannot be saved. Without it, a line goes to standard error.
    pub fn on_problem(mut self, on_problem: impl Fn(&SaveProblem) + Send + Sync + 'static) -> Self {
        self.on_problem = Arc::new(on_problem);
        self
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

listwatch_core::summary!("SaveTo" for SaveTo, |it| { path: it.path, every: it.every });
