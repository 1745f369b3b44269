//! Constructors that use the defaults of [`ClusterOptions`].

use crate::cluster::Cluster;
use crate::error::ConfigError;
use crate::options::ClusterOptions;
use crate::transport::HttpTransport;
use std::path::Path;

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

impl HttpTransport {
    /// Makes a transport to the API server at `base_url` without a credential, as [`Cluster::at`] does.
    ///
    /// # Errors
    /// See [`ClusterOptions::at`].
    pub fn new(base_url: &str) -> Result<Self, ConfigError> {
        Cluster::at(base_url)?.transport()
    }
}
