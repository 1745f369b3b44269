//! The writes of clients, as a server has seen them, and those among them that were made twice.

use super::place::Place;
use listwatch_core::Instant;
use listwatch_core::api::{ApiRequest, Method};
use std::collections::BTreeMap;
use std::fmt;

/// Every write that was made, each with the state that it was decided on.
///
/// A client says in the body of each write which state it has read. So two writes of the same content to the same place repair
/// the same drift. A creation says nothing of a state: it repairs the lack of the object since it was last deleted.
#[derive(Debug, Default)]
pub struct Ledger {
    made: Vec<Made>,
    latest: BTreeMap<Drift, usize>,
    /// How often a write was repeated although its answer had arrived, and by which request.
    pub repeated: Vec<Repeated>,
    /// How often a write was repeated of which the answer was lost.
    pub repeated_after_loss: u64,
    /// How many answers to writes that were made did not arrive, and never will.
    pub lost: u64,
}

/// What a write repairs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Drift {
    place: Place,
    method: &'static str,
    body: Vec<u8>,
    /// How often the object has been deleted.
    deletions: u64,
}

/// A write that was made.
#[derive(Clone, Copy, Debug)]
struct Made {
    at: Instant,
    is_answered: bool,
}

/// A write for a drift that the same client knew to be repaired.
#[derive(Clone, PartialEq, Eq)]
pub struct Repeated {
    first: Instant,
    again: Instant,
    request: String,
}

/// The number of a write that was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteId(usize);

impl Ledger {
    /// How many writes were made.
    #[must_use]
    pub fn made(&self) -> usize {
        self.made.len()
    }

    /// A request to write has arrived at the server; `deletions` is how often its object has been deleted.
    pub(super) fn asked(&mut self, now: Instant, request: &ApiRequest, deletions: u64) {
        let Some(drift) = Drift::of(request, deletions) else { return };
        let Some(before) = self.latest.get(&drift).map(|before| self.made[*before]) else { return };
        if before.is_answered {
            let request = format!("{} {request} {}", drift.method, String::from_utf8_lossy(&drift.body));
            self.repeated.push(Repeated { first: before.at, again: now, request });
        } else {
            self.repeated_after_loss += 1;
        }
    }

    /// A write was made; the answer is on its way.
    pub(super) fn made_by(&mut self, now: Instant, request: &ApiRequest, deletions: u64) -> Option<WriteId> {
        let drift = Drift::of(request, deletions)?;
        self.latest.insert(drift, self.made.len());
        self.made.push(Made { at: now, is_answered: false });
        Some(WriteId(self.made.len() - 1))
    }

    /// The answer to a write has arrived.
    pub(super) fn answered(&mut self, write: WriteId) {
        self.made[write.0].is_answered = true;
    }

    /// The answer to a write will not arrive.
    pub(super) fn lost(&mut self, write: WriteId) {
        self.lost += u64::from(!self.made[write.0].is_answered);
    }
}

impl Drift {
    fn of(request: &ApiRequest, deletions: u64) -> Option<Self> {
        if request.method == Method::Get {
            return None;
        }
        let place = Place::parse(&request.path)?;
        Some(Self { place, method: request.method.name(), body: request.body.clone(), deletions })
    }
}

impl fmt::Debug for Repeated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {:?}, again at {:?}", self.request, self.first, self.again)
    }
}
