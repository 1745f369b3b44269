//! A cluster as a world.

use super::World;
use crate::client::Client;
use crate::clock::Clock;
use crate::reactor::AsyncIo;
use listwatch_transport_http::{Cluster, HttpClient, HttpTransport};
use std::sync::Arc;

/// The cluster, by the machine's clock. While its certificates cannot be used, each request fails by an error that says
/// so.
///
/// A program that is run for a replay, such as by `listwatch replay --against`, may not have taken its tape. So where
/// [`REPLAY_WRITES`](crate::controller::REPLAY_WRITES) is set, nothing is sent: each controller of the world ends with
/// [`RunError::Config`](crate::RunError::Config), and each request fails.
impl From<Cluster> for World {
    fn from(cluster: Cluster) -> Self {
        #[cfg(feature = "file")]
        if crate::replay::writes_path().is_some() {
            return Self::refused();
        }
        let clock = Clock::real();
        let client = Client::new(HttpClient::from(&cluster), clock.clone());
        let renewing = client.beside(HttpClient::from(&cluster).with_own_limit());
        let server = Some(cluster.server().to_owned());
        let (authority, namespace) = (cluster.authority_fingerprint(), Some(cluster.namespace().to_owned()));
        let world = Self::from_parts(clock, client, move |_| {
            Box::new(HttpTransport::from(&cluster).with_reactor(Arc::new(AsyncIo)))
        });
        Self { server, authority, namespace, renewing, ..world }
    }
}
