//! A proxy that loses events of watches.

use crate::sim::ask::Ask;
use crate::sim::dice::Dice;
use crate::sim::wire::Wire;
use listwatch_core::Instant;
use listwatch_core::request::{Query, Request, RequestId};
use listwatch_core::transport::{Incoming, TransportErrorKind};

/// Writes spaces over some of the events that pass, and nobody says so.
#[derive(Debug)]
pub(super) struct Proxy {
    dice: Dice,
    /// How many of a hundred events are lost.
    losses: u64,
    is_watch: bool,
    /// The next byte begins a line.
    is_at_line: bool,
}

impl Proxy {
    pub(super) fn new(seed: u64, losses: u64) -> Self {
        Self { dice: Dice::new(seed ^ 0x10_55), losses, is_watch: false, is_at_line: true }
    }

    /// Loses whole lines of a piece.
    fn lose(&mut self, piece: &mut [u8]) {
        for line in piece.split_inclusive_mut(|byte| *byte == b'\n') {
            let is_whole = self.is_at_line && line.ends_with(b"\n");
            self.is_at_line = line.ends_with(b"\n");
            let is_change = [r#"{"type":"ADDED""#, r#"{"type":"MODIFIED""#, r#"{"type":"DELETED""#]
                .iter()
                .any(|begin| line.starts_with(begin.as_bytes()));
            if is_whole && is_change && self.dice.chance(self.losses) {
                let (_, event) = line.split_last_mut().unwrap_or_else(|| panic!("it ends"));
                event.fill(b' ');
            }
        }
    }
}

impl Wire for Proxy {
    fn open(&mut self, _: Instant, _: RequestId, request: &Request) -> Ask {
        (self.is_watch, self.is_at_line) = (request.query() != Query::List, true);
        request.into()
    }

    fn bar(&mut self, _: Instant, _: RequestId, _: &Request, _: TransportErrorKind) {}

    fn carry(&mut self, _: Instant, said: Incoming, buf: &mut [u8]) -> Incoming {
        if let Incoming::Data { len, .. } = said
            && self.is_watch
        {
            self.lose(&mut buf[..len]);
        }
        said
    }

    fn abort(&mut self, _: RequestId) {}

    fn close(&mut self) {}
}
