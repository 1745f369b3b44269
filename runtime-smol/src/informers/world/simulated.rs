//! A simulated cluster as a world.

use super::World;
use crate::client::Client;
use crate::clock::Clock;
use listwatch_transport_file::SimulatedCluster;

/// The cluster, under simulated time, which goes on with the date of the cluster. So a second world of one cluster is
/// the controller after a restart. It has no end of its own: [`World::lasting`] or [`World::until`] give it one.
impl From<SimulatedCluster> for World {
    fn from(cluster: SimulatedCluster) -> Self {
        let clock = Clock::simulated_at(cluster.date());
        let time = clock.clone();
        let cluster = cluster.on_clock(move || time.now());
        let client = Client::new(cluster.client(), clock.clone());
        Self::from_parts(clock, client, move |_| Box::new(cluster.transport()))
    }
}
