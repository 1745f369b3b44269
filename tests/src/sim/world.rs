//! Clients, their server, and the time that passes for all of them.

use super::client::Client;
use super::server::Server;
use super::tier::{OnHeap, Tier};
use listwatch_core::Instant;
use listwatch_core::time::earliest;

/// Clients of one server, under one clock.
#[derive(Debug)]
pub struct World<T: Tier = OnHeap> {
    /// The time.
    pub now: Instant,
    /// The server.
    pub server: Server,
    /// Its clients.
    pub clients: Vec<Client<T>>,
}

/// More turns than these at one moment are too many.
const PATIENCE: u32 = 10_000;

impl<T: Tier> World<T> {
    /// A world at the beginning of time.
    #[must_use]
    pub fn new(server: Server, clients: Vec<Client<T>>) -> Self {
        Self { now: Instant::ZERO, server, clients }
    }

    /// Every client does what it can: the server has changed, or something between.
    pub fn stir(&mut self) {
        self.server.follow();
        self.clients.iter_mut().for_each(|client| client.turn(self.now, &mut self.server));
    }

    /// Lets time pass from one thing that happens to the next, until `until`.
    ///
    /// # Panics
    /// Where it does not pass.
    pub fn advance(&mut self, until: Instant) {
        self.stir();
        let mut turns = 0;
        while let Some(next) = self.next().filter(|next| *next <= until) {
            turns = if next > self.now { 0 } else { turns + 1 };
            assert!(turns < PATIENCE, "time stands still at {next:?}");
            self.now = next.max(self.now);
            for client in &mut self.clients {
                if client.poll_timeout().is_some_and(|due| due <= next) {
                    client.turn(self.now, &mut self.server);
                }
            }
        }
        self.now = until;
    }

    fn next(&self) -> Option<Instant> {
        self.clients.iter().map(Client::poll_timeout).fold(None, earliest)
    }
}
