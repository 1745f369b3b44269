//! The process of a server, and what follows it.

use crate::reactor::AsyncIo;
use listwatch_core::Resource;
use listwatch_core::decode::MetadataOnly;
use listwatch_core::informer::{Informer, InformerConfig};
use listwatch_transport_http::{Cluster, ClusterOptions, HttpTransport};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

pub(crate) struct Served {
    process: Child,
    cluster: Cluster,
}

impl Served {
    pub(crate) fn start(scheme: &str, events: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        let command = command.args(["serve", scheme, events]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let mut address = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut address).unwrap();
        let text = format!(
            "current-context: it\ncontexts: [{{name: it, context: {{cluster: it, user: me}}}}]\nclusters: [{{name: it, \
             cluster: {{server: '{scheme}://{}', insecure-skip-tls-verify: {}}}}}]\nusers: [{{name: me, user: {{}}}}]\n",
            address.trim(),
            scheme == "https",
        );
        Self { process, cluster: ClusterOptions::new().kubeconfig_text(&text).unwrap() }
    }

    /// A transport whose watch is read by the task that polls it, or by a thread.
    pub(crate) fn transport(&self, is_polled: bool) -> HttpTransport {
        let transport = self.cluster.transport().unwrap();
        if is_polled { transport.with_reactor(Arc::new(AsyncIo)) } else { transport }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        self.process.wait().unwrap();
    }
}

/// An informer that lists before it watches.
pub(crate) fn informer(path: &str) -> Informer<MetadataOnly> {
    let mut config = InformerConfig::default();
    config.reflector.watch_list = false;
    Informer::new(Resource::new(path), config)
}
