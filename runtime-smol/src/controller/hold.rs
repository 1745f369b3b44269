//! What happens after a write: the key of the reconcile is held until a store shows it.
//!
//! A reconcile gathers its [`Writes`](super::writes::Writes). At its end, [`ControllerState::end_writes`] gives the key back,
//! and the streams' side waits until each store shows what is [`Expected`] of it. A write that its key has awaited three times
//! is stale: the key is told of it, and waits for it no more.

use super::context::Context;
use super::sharded::Sharded;
use super::state::ControllerState;
use super::writes::Expected;
use core::time::Duration;
use listwatch_core::controller::{Cause, CauseKind, Ended, HoldId, ReconcileGuard, Write};
use listwatch_core::queue::{Outcome, Priority};
use listwatch_core::sync::StdLock;
use listwatch_core::{Instant, Key};
use std::sync::Arc;

/// A key that is with a worker.
pub(super) type Job<'s> = ReconcileGuard<'s, Key, StdLock, Cause, Expected>;

/// How many times a key waits for a write.
const MOST_WAITS: u32 = 3;
/// How long a write that is awaited no more is told. By then, a server has ended each watch that was open.
const STALE_FOR: Duration = Duration::from_secs(1800);

impl ControllerState {
    /// Gives a key back after its reconcile. If that wrote, the key waits for the stores first.
    pub(super) fn end_writes(self: &Arc<Self>, job: Job<'_>, cx: &Context, outcome: Outcome) -> Ended {
        let (stale, mut writes): (Vec<_>, Vec<_>) =
            cx.take_writes().into_iter().partition(|expected| expected.waits == MOST_WAITS);
        writes.iter_mut().for_each(|expected| expected.waits += 1);
        self.on_stale(cx, stale);
        if let (Some(shards), Some(shard)) = (self.shards.as_ref().filter(|_| outcome != Outcome::Done), cx.shard()) {
            shards.keep(self.own.upgrade().as_deref(), cx.key(), shard);
        }
        let ended = job.finish(outcome, writes.clone());
        if let Ended::Held { hold, until } = ended {
            self.follow(cx.key(), Some(hold), until, writes);
        }
        ended
    }

    /// The key waits no more for these writes. It is told of them until they are shown.
    fn on_stale(self: &Arc<Self>, cx: &Context, stale: Vec<Expected>) {
        if stale.is_empty() {
            return;
        }
        for Expected { write, .. } in &stale {
            let message = format!("{write} is not shown after {MOST_WAITS} waits, and not awaited any more");
            cx.warn_of_key("WriteNotShown", &message);
        }
        self.awaiting.add_stale(cx.key(), &stale);
        self.follow(cx.key(), None, self.clock.now() + STALE_FOR, stale);
    }

    /// Follows each write until its store shows it. Those that are stale have no hold.
    fn follow(self: &Arc<Self>, key: &Key, hold: Option<HoldId>, until: Instant, writes: Vec<Expected>) {
        for (number, expected) in writes.into_iter().enumerate() {
            let Some(place) = self.awaiting.room(hold.is_none()) else {
                self.on_unfollowed(key, hold, &expected);
                continue;
            };
            let (state, key) = (Arc::clone(self), key.clone());
            let followed = async move {
                state.follow_one(&key, hold, number, until, &expected).await;
                drop(place);
            };
            self.spawn_detached(followed);
        }
    }

    /// Waits until the store shows the write. If it does not until then, the machine tells the key.
    async fn follow_one(&self, key: &Key, hold: Option<HoldId>, number: usize, until: Instant, expected: &Expected) {
        let shown = self.by(Some(until), expected.shown()).await;
        if shown == Some(false) {
            let learn = |shards: &Sharded| shards.learn_shard(self.own.upgrade().as_deref(), key, expected.shard);
            self.shards.iter().for_each(learn);
            self.add(key.clone(), Priority::default(), deletion(&expected.write));
        }
        match hold {
            Some(hold) if shown.is_some() => _ = self.machine.update(|it, now| it.fulfil(now, hold, number)),
            Some(_) => {}
            None => self.awaiting.forget(key, expected),
        }
    }

    /// Nothing tells the machine when this write is shown: too many are followed.
    fn on_unfollowed(&self, key: &Key, hold: Option<HoldId>, write: &Expected) {
        if hold.is_none() {
            return self.awaiting.forget(key, write);
        }
        let message = "too many writes are awaited; the key waits for its longest time, whether or not they are shown";
        self.warn(key, None, "WriteNotFollowed", message);
    }
}

/// The deletion of an object that was written, of which no event tells.
fn deletion(write: &Write) -> Cause {
    let (source, object) = (Arc::clone(&write.source), Some(write.object.clone()));
    Cause { source, kind: CauseKind::Deleted, object, version: None }
}
