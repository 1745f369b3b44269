//! A simulated cluster as a world.

use super::World;
use crate::client::Client;
use crate::clock::Clock;
use core::time::Duration;
use listwatch_simulated_cluster::SimulatedCluster;

/// A test of a controller rarely simulates more.
const LONGEST: Duration = Duration::from_secs(30 * 24 * 3600);

/// The cluster, under simulated time, which goes on with the date of the cluster. So a second world of one cluster is
/// the controller after a restart. It has no end of its own: [`World::lasting`] or [`World::until`] give it one. Without
/// one, it has a limit of 30 simulated days ([`World::at_most`]).
impl From<SimulatedCluster> for World {
    fn from(cluster: SimulatedCluster) -> Self {
        let clock = Clock::simulated_at(cluster.date());
        let time = clock.clone();
        let cluster = cluster.on_clock(move || time.now());
        let client = Client::new(cluster.client(), clock.clone());
        let world = Self::from_parts(clock, client, move |_| Box::new(cluster.transport())).at_most(LONGEST);
        Self { namespace: Some("default".to_owned()), ..world }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_simulated_world_without_an_end_ran_for_ever() {
        assert_eq!(World::from(SimulatedCluster::new()).longest(), Some(LONGEST));
    }
}
