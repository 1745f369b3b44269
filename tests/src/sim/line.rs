//! A transport to a server to which other clients write meanwhile.

use super::ask::Ask;
use super::dice::Dice;
use super::network::{Connection, Pieces};
use super::server::Server;
use listwatch_core::ListerWatcher;
use listwatch_core::request::{Request, RequestId};
use listwatch_core::transport::{Incoming, ReadContext};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

/// A server, and whoever waits for it to change.
#[derive(Debug)]
pub struct Site(Mutex<(Server, Option<Waker>)>);

impl Site {
    /// Shares a server.
    #[must_use]
    pub fn new(server: Server) -> Arc<Self> {
        Arc::new(Self(Mutex::new((server, None))))
    }

    /// Changes the server, and lets it tell.
    pub fn change(&self, change: impl FnOnce(&mut Server)) {
        let waiting = {
            let (server, waiting) = &mut *self.lock();
            change(server);
            server.follow();
            waiting.take()
        };
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Looks at the server.
    pub fn read<R>(&self, read: impl FnOnce(&Server) -> R) -> R {
        read(&self.lock().0)
    }

    fn lock(&self) -> MutexGuard<'_, (Server, Option<Waker>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A client's connection to a [`Site`], one after the other; now and then one breaks.
#[derive(Debug)]
pub struct Line {
    site: Arc<Site>,
    dice: Dice,
    /// How often in a hundred connections one breaks.
    breaks: u64,
    asked: Option<(RequestId, Ask)>,
    connection: Option<Connection>,
}

impl Line {
    /// A connection of which so many in a hundred break after some bytes.
    #[must_use]
    pub fn new(site: Arc<Site>, dice: Dice, breaks: u64) -> Self {
        Self { site, dice, breaks, asked: None, connection: None }
    }

    /// From now on nothing breaks.
    pub fn mend(&mut self) {
        self.breaks = 0;
    }
}

impl ListerWatcher for Line {
    fn open(&mut self, id: RequestId, request: &Request) {
        self.asked = Some((id, request.into()));
        self.connection = None;
    }

    fn poll_read(&mut self, turn: ReadContext<'_, '_>, buf: &mut [u8]) -> Poll<Incoming> {
        let (server, waiting) = &mut *self.site.lock();
        if let Some((id, ask)) = self.asked.take() {
            let mut connection = Connection::new(turn.now, id, server.open(turn.now, &ask, 0), Pieces::default());
            if self.dice.chance(self.breaks) {
                connection.cut_after(self.dice.below(2_000) as usize, super::Fault::CutByReset);
            }
            self.connection = Some(connection);
        }
        let Some(connection) = &mut self.connection else { return Poll::Ready(Incoming::Idle { until: None }) };
        if let Some(incoming) = connection.poll(turn.now, server, &mut self.dice, buf) {
            return Poll::Ready(incoming);
        }
        *waiting = Some(turn.cx.waker().clone());
        Poll::Ready(Incoming::Idle { until: connection.poll_timeout() })
    }

    fn abort(&mut self, id: RequestId) {
        self.asked.take_if(|(asked, _)| *asked == id);
        self.connection.take_if(|connection| connection.id() == id);
    }
}
