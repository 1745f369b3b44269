//! Constructors that use the defaults of [`ClusterOptions`].

use crate::cluster::Cluster;
use crate::error::ConfigError;
use crate::options::ClusterOptions;
use crate::transport::HttpTransport;
use std::path::Path;

impl Cluster {
    /// The cluster that kubectl would talk to: the current context of `$KUBECONFIG` (several files are merged, and what
    /// comes first counts) or of `~/.kube/config`; without them, that of the pod this runs in.
    pub fn infer() -> Result<Self, ConfigError> {
        ClusterOptions::new().infer()
    }

    /// The cluster of the current context of a kubeconfig. [`ClusterOptions`] choose another one.
    pub fn from_kubeconfig(path: impl AsRef<Path>) -> Result<Self, ConfigError> {
        ClusterOptions::new().kubeconfig(path)
    }

    /// The API server at `url`, asked by nobody in particular, such as `http://127.0.0.1:8001` beside `kubectl proxy`.
    /// It may have a path, which then precedes that of every request.
    pub fn at(url: &str) -> Result<Self, ConfigError> {
        ClusterOptions::new().at(url)
    }
}

impl HttpTransport {
    /// Talks to the API server at `base_url` without credentials: what [`Cluster::at`](crate::Cluster::at) offers.
    ///
    /// # Errors
    /// Where that is no address of a server.
    pub fn new(base_url: &str) -> Result<Self, ConfigError> {
        Cluster::at(base_url)?.transport()
    }
}
