//! Which shards this replica works on, and the work and the writes that go on in each.

use crate::client::{Gate, OpenWrite};
use crate::election::Leadership;
use crate::mutex::Mutex;
use crate::waiting::Waiting;
use listwatch_core::Instant;
use listwatch_core::api::SendGate;
use listwatch_core::election::FencingToken;
use listwatch_core::shards::ShardSpace;
use listwatch_core::time::earliest;
use listwatch_core::transport::{TransportError, TransportErrorKind};
use std::sync::{Arc, MutexGuard};
use std::task::Wake;

/// The shards of a replica.
pub(crate) struct ShardTable {
    space: ShardSpace,
    leadership: Leadership,
    places: Mutex<Vec<Place>>,
    waiting: Arc<Waiting>,
}

#[derive(Default)]
struct Place {
    stage: Stage,
    /// How often work on it began.
    turn: u64,
    /// How much work goes on.
    work: usize,
    /// The writes that were let out and are not over.
    writes: Vec<Arc<OpenWrite>>,
}

#[derive(Clone, Default, PartialEq)]
enum Stage {
    /// No work begins, and none may go on.
    #[default]
    Away,
    /// Work goes on in this term.
    Held(FencingToken),
    /// No work begins. What goes on has until then.
    Draining(Instant),
}

impl Place {
    fn is_held(&self) -> bool {
        matches!(self.stage, Stage::Held(_))
    }

    fn is_idle(&self) -> bool {
        self.work == 0 && self.writes.is_empty()
    }
}

impl ShardTable {
    pub(super) fn new(space: ShardSpace, leadership: Leadership) -> Arc<Self> {
        let places = (0..space.count()).map(|_| Place::default()).collect();
        Arc::new(Self { space, leadership, places: Mutex::new(places), waiting: Arc::default() })
    }

    pub(crate) fn space(&self) -> ShardSpace {
        self.space
    }

    /// Whether work on this shard may begin, as far as is known.
    pub(crate) fn is_held(&self, shard: u16) -> bool {
        self.places.lock().get(usize::from(shard)).is_some_and(Place::is_held)
    }

    /// The shards on which work may begin, in ascending order.
    pub(crate) fn held(&self) -> Vec<u16> {
        (0..).zip(&*self.places.lock()).filter(|(_, place)| place.is_held()).map(|(shard, _)| shard).collect()
    }

    /// Begins work on a shard; `None` if it is not this replica's in its present term.
    pub(crate) fn enter(self: &Arc<Self>, shard: u16) -> Option<ShardWork> {
        let token = self.leadership.token();
        let mut places = self.places.lock();
        let place = places.get_mut(usize::from(shard))?;
        let Stage::Held(term) = &place.stage else { return None };
        if token.as_ref() != Some(term) {
            return None;
        }
        place.work += 1;
        Some(ShardWork(Arc::new(ShardGate { table: Arc::clone(self), shard, turn: place.turn })))
    }

    pub(super) fn waiting(&self) -> &Arc<Waiting> {
        &self.waiting
    }

    /// Work begins, or goes on.
    pub(super) fn gain(&self, shard: u16, term: &FencingToken) {
        let mut places = self.places.lock();
        let place = &mut places[usize::from(shard)];
        if place.stage == Stage::Away {
            place.turn += 1;
        }
        place.stage = Stage::Held(term.clone());
    }

    /// No work begins any more. What goes on has until then.
    pub(super) fn drain(&self, shard: u16, until: Instant) {
        self.places.lock()[usize::from(shard)].stage = Stage::Draining(until);
    }

    /// All work stops at once, and open writes are given up.
    pub(super) fn lose(&self, shard: u16) {
        let mut places = self.places.lock();
        let place = &mut places[usize::from(shard)];
        place.stage = Stage::Away;
        let writes = core::mem::take(&mut place.writes);
        drop(places);
        // The table must not be locked: transports ask it.
        writes.iter().for_each(|write| write.revoke(refusal(shard, "given up, and it may have been made")));
        self.waiting.wake_by_ref();
    }

    /// If no work of a shard goes on that drains, or its time is over, ends all of it. Returns whether none goes on.
    pub(super) fn end_drain(&self, shard: u16, now: Instant) -> bool {
        let places = self.places.lock();
        let place = &places[usize::from(shard)];
        let is_idle = place.is_idle();
        let is_late = matches!(place.stage, Stage::Draining(until) if until <= now);
        let is_draining = matches!(place.stage, Stage::Draining(_));
        drop(places);
        if is_draining && (is_idle || is_late) {
            self.lose(shard);
        }
        let places = self.places.lock();
        let place = &places[usize::from(shard)];
        place.stage == Stage::Away && place.is_idle()
    }

    /// Whether no work on a shard goes on.
    pub(super) fn is_idle(&self, shard: u16) -> bool {
        self.places.lock()[usize::from(shard)].is_idle()
    }

    /// Some work or a write has ended. It is awaited if the shard is to be given away.
    fn end(&self, shard: u16, change: impl FnOnce(&mut Place)) {
        let mut places = self.places.lock();
        let place = &mut places[usize::from(shard)];
        change(place);
        let is_awaited = !place.is_held();
        drop(places);
        if is_awaited {
            self.waiting.wake_by_ref();
        }
    }

    /// When the next drain ends at the latest.
    pub(super) fn drained_by(&self) -> Option<Instant> {
        let until = |place: &Place| if let Stage::Draining(until) = place.stage { Some(until) } else { None };
        self.places.lock().iter().map(until).fold(None, earliest)
    }
}

/// Lets writes of one key out while its shard is this replica's, without a break since its reconcile began.
pub(crate) struct ShardGate {
    table: Arc<ShardTable>,
    shard: u16,
    turn: u64,
}

impl ShardGate {
    /// Work that goes on beside the reconcile; `None` if its shard is another replica's now.
    pub(crate) fn work(self: &Arc<Self>) -> Option<ShardWork> {
        self.place()?.work += 1;
        Some(ShardWork(Arc::clone(self)))
    }

    pub(crate) fn shard(&self) -> u16 {
        self.shard
    }

    fn place(&self) -> Option<PlaceGuard<'_>> {
        let places = PlaceGuard(self.table.places.lock(), usize::from(self.shard));
        (places.stage != Stage::Away && places.turn == self.turn).then_some(places)
    }
}

/// One place, locked.
struct PlaceGuard<'t>(MutexGuard<'t, Vec<Place>>, usize);

impl core::ops::Deref for PlaceGuard<'_> {
    type Target = Place;

    fn deref(&self) -> &Place {
        &self.0[self.1]
    }
}

impl core::ops::DerefMut for PlaceGuard<'_> {
    fn deref_mut(&mut self) -> &mut Place {
        &mut self.0[self.1]
    }
}

impl Gate for ShardGate {
    fn enter(self: Arc<Self>, write: &Arc<OpenWrite>) -> Result<SendGate, TransportError> {
        let refused = || refusal(self.shard, "not sent");
        self.place().ok_or_else(refused)?.writes.push(Arc::clone(write));
        let (gate, write) = (Arc::clone(&self), Arc::clone(write));
        Ok(SendGate::new(move || {
            write.check()?;
            gate.place().map(drop).ok_or_else(|| refusal(gate.shard, "not sent"))
        }))
    }

    fn leave(&self, write: &Arc<OpenWrite>) {
        self.table.end(self.shard, |place| place.writes.retain(|other| !Arc::ptr_eq(other, write)));
    }
}

fn refusal(shard: u16, fate: &str) -> TransportError {
    TransportError::new(TransportErrorKind::Other, format!("{fate}: the shard {shard} is not this replica's any more"))
}

/// Work on a key of a shard, until it is dropped.
pub(crate) struct ShardWork(Arc<ShardGate>);

impl ShardWork {
    pub(crate) fn gate(&self) -> Arc<ShardGate> {
        Arc::clone(&self.0)
    }

    /// Whether it has to stop at once.
    pub(crate) fn is_over(&self) -> bool {
        self.0.place().is_none()
    }

    /// Waits until it has to stop at once.
    pub(crate) async fn over(&self) {
        self.0.table.waiting.until(|| self.is_over().then_some(())).await;
    }
}

impl Drop for ShardWork {
    fn drop(&mut self) {
        self.0.table.end(self.0.shard, |place| place.work -= 1);
    }
}
