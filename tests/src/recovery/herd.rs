//! A thousand clients that lose their server at the same moment.

use super::door::Door;
use crate::sim::{Client, Connection, Fault, Which, calm_world, prompt_client};
use listwatch_core::{InformerConfig, Instant};
use std::time::Duration;

const CLIENTS: u64 = 1_000;
/// When the server is lost: before the first watch ends by itself.
const LOST: Duration = Duration::from_secs(240);
/// How long is waited for the last one.
const PATIENCE: Duration = Duration::from_secs(600);

/// How they come back.
#[derive(Clone, Debug)]
pub struct Return {
    /// How many requests the server answers in the worst second after its return.
    pub peak: u64,
    /// How long after it each client has a watch again, from the first to the last.
    pub times: Vec<Duration>,
}

impl Return {
    /// How long it takes until so many of a hundred are back.
    #[must_use]
    pub fn percentile(&self, percent: usize) -> Duration {
        self.times[percent * (self.times.len() - 1) / 100]
    }
}

/// How clients come back, each with a seed of its own, that lost their server for so long; none at all if it is there
/// again at once, and only the connections are gone.
///
/// # Panics
/// Where one of them does not.
#[must_use]
pub fn lose_server(outage: Duration) -> Return {
    let (lost, back) = (Instant::ZERO + LOST, Instant::ZERO + LOST + outage);
    let doors: Vec<Door> = (0..CLIENTS).map(|_| Door::default()).collect();
    let mut world = calm_world((0..).zip(&doors).map(|(seed, door)| member(seed, door, lost, back)).collect());
    world.advance(lost);
    for (client, door) in world.clients.iter_mut().zip(&doors) {
        door.take();
        client.connection_mut().into_iter().for_each(Connection::reset);
    }
    world.advance(back + PATIENCE);
    let (mut times, mut accepted) = (Vec::new(), Vec::new());
    for door in doors {
        let seen = door.take();
        let first = seen.watches.first().unwrap_or_else(|| panic!("somebody does not come back"));
        times.push(first.saturating_since(back));
        accepted.extend(seen.accepted.iter().map(|at| at.saturating_since(back)));
    }
    times.sort_unstable();
    Return { peak: peak(&accepted, times[times.len() - 1]), times }
}

fn member(seed: u64, door: &Door, lost: Instant, back: Instant) -> Client {
    let mut config = InformerConfig::default();
    config.reflector.seed = Some(seed);
    let mut client = prompt_client(config, seed);
    client.wire = Box::new(door.clone());
    client.script.hold(Fault::ConnectionRefused, Which::Any, lost, back);
    client.informer.start(Instant::ZERO);
    client
}

/// How many there are in the second with most of them, up to `last`.
fn peak(accepted: &[Duration], last: Duration) -> u64 {
    let in_second = |second| accepted.iter().filter(|at| **at <= last && at.as_secs() == second).count() as u64;
    (0..=last.as_secs()).map(in_second).max().unwrap_or_default()
}
