//! Worlds without faults of their own.

use super::client::Client;
use super::dice::Dice;
use super::log::Write;
use super::network::Pieces;
use super::server::{Server, ServerConfig};
use super::trace::Trace;
use super::world::World;
use listwatch_core::{InformerConfig, Resource};

const KEYS: u8 = 3;

/// A world whose server is well, with three objects.
#[must_use]
pub fn calm_world(clients: Vec<Client>) -> World {
    let mut server = Server::new(ServerConfig::sound(KEYS));
    (0..KEYS).for_each(|key| server.log.put(key, Write::default()));
    World::new(server, clients)
}

/// A client that is answered without delay.
#[must_use]
pub fn prompt_client(config: InformerConfig, seed: u64) -> Client {
    let mut client = Client::new(Resource::new("/api/v1/pods"), config, KEYS, Dice::new(seed), Trace::new(false));
    client.pieces = Some(Pieces::default());
    client
}
