//! The writes of clients, as a server has seen them, and those among them that were made twice.

use super::place::Place;
use listwatch_core::Instant;
use listwatch_core::api::{ApiRequest, Method};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;

/// Every write that was made, each with the drift that it repairs: a state that was not as wanted.
///
/// A creation repairs the lack of the object since it was last deleted. A change names in its annotation `decided-on` the
/// state that its client has read; without it, it repairs what its content says. So does a deletion, which names the uid.
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
pub(super) struct Drift {
    place: Place,
    method: &'static str,
    state: String,
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

    /// A request to write the object of `drift` has arrived at the server.
    pub(super) fn asked(&mut self, now: Instant, request: &ApiRequest, drift: &Drift) {
        let Some(before) = self.latest.get(drift).map(|before| self.made[*before]) else { return };
        if before.is_answered {
            let request = format!("{} {request} {}", drift.method, String::from_utf8_lossy(&request.body));
            self.repeated.push(Repeated { first: before.at, again: now, request });
        } else {
            self.repeated_after_loss += 1;
        }
    }

    /// A write was made; the answer is on its way.
    pub(super) fn made_at(&mut self, now: Instant, drift: Drift) -> WriteId {
        self.latest.insert(drift, self.made.len());
        self.made.push(Made { at: now, is_answered: false });
        WriteId(self.made.len() - 1)
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
    /// That of a request; `None` for one that only reads.
    pub(super) fn of(request: &ApiRequest, deletions: impl FnOnce(&Place) -> u64) -> Option<Self> {
        if request.method == Method::Get {
            return None;
        }
        let (mut place, body) = (Place::parse(&request.path)?, request.body.as_slice());
        let object: Value = serde_json::from_slice(body).unwrap_or_default();
        let state = match (request.method, object["metadata"]["annotations"]["decided-on"].as_str()) {
            (Method::Post, _) => {
                place = place.with_name(object["metadata"]["name"].as_str().unwrap_or_default());
                String::new()
            }
            (_, Some(state)) => state.to_owned(),
            (_, None) => String::from_utf8_lossy(body).into_owned(),
        };
        let deletions = deletions(&place);
        Some(Self { place, method: request.method.name(), state, deletions })
    }
}

impl fmt::Debug for Repeated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {:?}, again at {:?}", self.request, self.first, self.again)
    }
}
