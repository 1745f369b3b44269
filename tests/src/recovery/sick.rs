//! A server that is sick for an hour.

use super::client_go::Patient;
use super::door::Door;
use crate::sim::{Connection, calm_world, prompt_client};
use listwatch_core::{InformerConfig, Instant};
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);

/// What came to a server within an hour.
#[derive(Clone, Copy, Debug)]
pub struct Hour {
    /// Requests that it answered, one way or the other.
    pub accepted: u64,
    /// Connections that it refused.
    pub refused: u64,
}

/// What one client asks of a server in an hour of that state, which begins with the client's first request, or breaks
/// its watch after an hour of health.
#[must_use]
pub fn sick_hour(patient: &Patient, seed: u64) -> Hour {
    let door = Door::new(patient.retry_after);
    let mut config = InformerConfig::default();
    config.reflector.seed = Some(seed);
    let mut client = prompt_client(config, seed);
    client.wire = Box::new(door.clone());
    let sick = Instant::ZERO + if patient.was_well { HOUR } else { Duration::ZERO };
    client.script.hold(patient.fault, patient.which, sick, sick + HOUR);
    client.informer.start(Instant::ZERO);
    let mut world = calm_world(vec![client]);
    if patient.was_well {
        world.advance(sick);
        door.take();
        world.clients[0].connection_mut().into_iter().for_each(Connection::reset);
    }
    world.advance(sick + HOUR);
    let seen = door.take();
    Hour { accepted: seen.accepted.len() as u64, refused: seen.refused }
}
