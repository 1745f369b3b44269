//! The configuration of the client: files, as it would find them.

use crate::sockets::certificates::Authority;
use listwatch_transport_http::{Cluster, ClusterOptions};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{env, fs, process};

/// The credential. No body has its first character: a refusal that ends in one would be held back, as a beginning of it.
pub(crate) const TOKEN: &str = "~not-for-every-eye";

/// A folder with what clients need, removed in the end.
#[derive(Debug)]
pub(crate) struct Files(PathBuf);

/// Only one request is open at a time, but the thread of one that was given up takes a moment to end. If they did not
/// end, there would soon be more than these.
const MOST_OPEN: usize = 8;

impl Files {
    /// Of clients that trust `authority`.
    pub(crate) fn new(authority: &Authority) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = env::temp_dir().join(format!("listwatch-sockets-{}-{number}", process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("ca.crt"), &authority.pem).unwrap();
        fs::write(folder.join("token"), format!("{TOKEN}\n")).unwrap();
        Self(folder)
    }

    /// The server at this address, by `http` or by `https`.
    pub(crate) fn cluster(&self, scheme: &str, address: SocketAddr) -> Cluster {
        let trust = if scheme == "https" { ", certificate-authority: ca.crt" } else { "" };
        let text = format!(
            "current-context: it\ncontexts: [{{name: it, context: {{cluster: it, user: me}}}}]\n\
             clusters: [{{name: it, cluster: {{server: '{scheme}://{address}'{trust}}}}}]\n\
             users: [{{name: me, user: {{tokenFile: token}}}}]\n"
        );
        let path = self.0.join(format!("config-{}", address.port()));
        fs::write(&path, text).unwrap();
        // Silence is measured in another time than that of the machine.
        let options = ClusterOptions::new().env(|_| None).idle_timeout(None).connect_timeout(crate::sockets::LIMIT);
        options.max_requests(MOST_OPEN).max_watches(MOST_OPEN).credentials_over_http(true).kubeconfig(&path).unwrap()
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        // What could not be removed is in the system's own folder for such things.
        let _ = fs::remove_dir_all(&self.0);
    }
}
