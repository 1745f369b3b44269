//! Drives a member of a group of replicas: its requests, its watch of the leases, and the table that reconciles ask.

use super::part::{Kept, Part};
use super::report::ShardReport;
use super::table::ShardTable;
use crate::calls::{Caller, Calls};
use crate::client::Unanswered;
use crate::election::{Leadership, whole};
use crate::events::Events;
use crate::informers::{Selection, StreamTransport, World, events_of};
use crate::waiting::Wait;
use core::future::poll_fn;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;
use futures_core::Stream as _;
use listwatch_core::api::{ApiResponse, CallAction};
use listwatch_core::election::FencingToken;
use listwatch_core::request::RequestId;
use listwatch_core::shards::{GROUP_LABEL, ShardEvent, ShardHolder, ShardState};
use listwatch_core::time::earliest;
use listwatch_core::{Event, Instant, Resource};
use serde_json::Value;
use std::sync::Arc;

/// What drives a member. Dropped, the replica gets no other shards, and gives none away.
pub(crate) struct ShardDriver {
    holder: ShardHolder,
    table: Arc<ShardTable>,
    world: World,
    namespace: String,
    group: String,
    drain: Duration,
    part: Part,
}

/// What a driver tells its controller.
pub(crate) trait Told: Send {
    /// All keys of these shards are to be reconciled. They ascend.
    fn gained(&self, shards: Vec<u16>);

    /// The cache of the own kind is to have these objects alone.
    fn select(&self, selection: &Selection);

    /// The number of the last selection whose objects the cache has.
    fn selected(&self) -> u64;

    /// The operator should know it.
    fn report(&self, report: &ShardReport<'_>);
}

impl ShardDriver {
    pub(super) fn new(
        holder: ShardHolder,
        table: Arc<ShardTable>,
        world: World,
        (namespace, group): (String, String),
        drain: Duration,
        kept: Kept,
    ) -> Self {
        let part = Part::new(table.space(), kept, Arc::clone(table.waiting()));
        Self { holder, table, world, namespace, group, drain, part }
    }

    /// What the cache of the own kind has at first; `None` if it has all.
    pub(crate) fn first_selection(&mut self) -> Option<Selection> {
        self.part.first()
    }

    pub(crate) fn table(&self) -> &Arc<ShardTable> {
        &self.table
    }

    /// Follows the map from the first term of the member on.
    pub(crate) async fn run(self, leadership: Leadership, told: impl Told) {
        leadership.leads_or_ends().await;
        let mut calls = Calls::new(self.world.renewing_client(), self.world.clock());
        let mut driven = self.driven(leadership, told);
        poll_fn(|cx| calls.poll(&mut driven, cx)).await;
    }

    fn driven<T>(self, leadership: Leadership, told: T) -> Driven<T> {
        let Self { holder, table, world, namespace, group, drain, part } = self;
        let leases = Resource::new("/apis/coordination.k8s.io/v1/leases").in_namespace(&namespace);
        let leases = leases.with_label_selector(&format!("{GROUP_LABEL}={group}"));
        let waits = [leadership.waiting().join(), table.waiting().join()];
        let watch = Box::new(events_of(&world, leases));
        Driven { holder, table, leadership, watch, drain, part, term: None, shown: Vec::new(), waits, told }
    }
}

struct Driven<T> {
    holder: ShardHolder,
    table: Arc<ShardTable>,
    leadership: Leadership,
    watch: Box<Events<Value, StreamTransport>>,
    drain: Duration,
    part: Part,
    term: Option<FencingToken>,
    /// The shards that the operator was told of.
    shown: Vec<u16>,
    waits: [Wait; 2],
    told: T,
}

impl<T: Told> Caller for Driven<T> {
    type End = ();

    fn on_turn(&mut self, cx: &mut Context<'_>) {
        self.waits.iter().for_each(|wait| wait.set(cx.waker()));
        self.follow_term();
        self.poll_watch(cx);
    }

    fn poll_call(&mut self) -> Option<CallAction> {
        let (now, wall) = (self.now(), self.leadership.clock().wall());
        // No write gives away a shard of which the table has not heard.
        self.holder.handle_timeout(now);
        self.end_drains(now);
        self.holder.poll_action(now, wall)
    }

    fn handle_answer(&mut self, id: RequestId, answer: Result<ApiResponse, Unanswered>) {
        let now = self.now();
        self.holder.handle_answer(now, id, answer.map_err(Into::into));
    }

    /// Its controller drops it.
    fn poll_end(&mut self) -> Option<()> {
        self.take_events();
        self.follow_part();
        self.tell_held();
        None
    }

    fn poll_timeout(&mut self) -> Option<Instant> {
        earliest(self.holder.poll_timeout(), self.table.drained_by())
    }

    /// The next turn polls for a call, which lets time pass.
    fn handle_timeout(&mut self) {}
}

impl<T: Told> Driven<T> {
    fn now(&self) -> Instant {
        self.leadership.clock().now()
    }

    /// Another term begins without shards, although it may have those of the one before at once.
    fn follow_term(&mut self) {
        let (now, term) = (self.now(), self.leadership.token());
        if self.term != term {
            self.holder.set_term(now, None);
            self.take_events();
            self.part.end_term();
            self.holder.set_term(now, term.as_ref().and_then(FencingToken::acquired));
            self.term = term;
            self.take_events();
        }
    }

    fn poll_watch(&mut self, cx: &mut Context<'_>) {
        while let Poll::Ready(Some(event)) = Pin::new(&mut *self.watch).poll_next(cx) {
            let now = self.now();
            match event {
                Event::Added { object, .. }
                | Event::Updated { new: object, .. }
                | Event::Recreated { new: object, .. } => {
                    self.holder.handle_lease(now, object.meta().name(), Some(whole(&object)));
                }
                Event::Deleted { object, .. } => self.holder.handle_lease(now, object.meta().name(), None),
                Event::Synced => self.holder.handle_synced(now),
                Event::Failed(failure) if !failure.retry_in.is_zero() => {
                    self.told.report(&ShardReport::NotWatched { failure: &failure });
                }
                _ => {}
            }
        }
    }

    /// Says which shards are drained.
    fn end_drains(&mut self, now: Instant) {
        self.take_events();
        for shard in 0..self.table.space().count() {
            if self.holder.state(shard) == ShardState::Draining && self.table.end_drain(shard, now) {
                self.holder.handle_drained(now, shard);
            }
        }
    }

    /// Does what the holder says.
    fn take_events(&mut self) {
        let now = self.now();
        while let Some(event) = self.holder.poll_event() {
            match event {
                // Work begins when the cache has its objects.
                ShardEvent::Gained(_) => {}
                ShardEvent::Draining(shard) => self.table.drain(shard, now + self.drain),
                ShardEvent::Lost(shard) => self.table.lose(shard),
                ShardEvent::Mismatch { is } => self.told.report(&ShardReport::Mismatch { is }),
                ShardEvent::Failed(error) => self.told.report(&ShardReport::Failed { error: &error }),
                _ => {}
            }
        }
    }

    /// Lets the cache have the objects of the shards that are worked on, and lets work begin where it has them. Without a
    /// term, it has what it had.
    fn follow_part(&mut self) {
        let Self { holder, table, part, told, term: Some(term), .. } = self else { return };
        let shards = 0..table.space().count();
        let is_left = |shard| holder.state(shard) == ShardState::Away && table.is_idle(shard);
        let is_wanted = |shard| holder.state(shard) == ShardState::Active || part.keeps(shard) && !is_left(shard);
        let wanted = shards.clone().filter(|shard| is_wanted(*shard)).collect();
        if let Some(selection) = part.poll(wanted, told.selected()) {
            told.select(&selection);
        }
        let begins = |shard| holder.state(shard) == ShardState::Active && part.has(shard) && !table.is_held(shard);
        let begun: Vec<u16> = shards.filter(|shard| begins(*shard)).collect();
        begun.iter().for_each(|shard| table.gain(*shard, term));
        if !begun.is_empty() {
            told.gained(begun);
        }
    }

    /// Tells the operator of the shards that are worked on.
    fn tell_held(&mut self) {
        let held = self.table.held();
        if held != self.shown {
            let (of, members) = (self.table.space().count(), self.holder.members());
            self.told.report(&ShardReport::Holds { shards: &held, of, members });
            self.shown = held;
        }
    }
}

#[cfg(all(test, feature = "testing"))]
mod tests {
    use super::*;
    use crate::shards::Sharding;
    use crate::testing::SimulatedCluster;
    use listwatch_core::api::{ApiRequest, Method};
    use serde_json::json;

    /// A controller that needs to know nothing.
    struct Deaf;

    impl Told for Deaf {
        fn gained(&self, _: Vec<u16>) {}

        fn select(&self, _: &Selection) {}

        fn selected(&self) -> u64 {
            0
        }

        fn report(&self, _: &ShardReport<'_>) {}
    }

    fn asked(driven: &mut Driven<Deaf>) -> Option<(RequestId, ApiRequest)> {
        let Some(CallAction::Open { id, request }) = driven.poll_call() else { return None };
        Some((id, request))
    }

    #[test]
    fn shards_without_work_are_given_away_at_once_whatever_tells_of_their_next_holder() {
        let world = World::from(SimulatedCluster::new());
        let sharding = Sharding::by_uid("pages").namespace("web").identity("one");
        let (candidate, driver) = sharding.join(&world, Duration::from_secs(5)).unwrap();
        let mut driven = driver.driven(candidate.leadership(), Deaf);
        let (now, wall) = (driven.now(), world.clock().wall());
        driven.holder.handle_synced(now);
        driven.holder.set_term(now, Some(wall));
        let (id, request) = asked(&mut driven).unwrap();
        assert_eq!(request.method, Method::Post);
        let mut map: Value = serde_json::from_slice(&request.body).unwrap();
        map["metadata"]["resourceVersion"] = json!("7");
        driven.handle_answer(id, Ok(ApiResponse::new(201, map.to_string())));
        assert!(asked(&mut driven).is_none());

        let spec = json!({
            "holderIdentity": "two", "leaseDurationSeconds": 15, "acquireTime": wall.to_string(),
            "renewTime": wall.to_string(), "leaseTransitions": 0,
        });
        let other = json!({ "metadata": { "name": "pages-two", "resourceVersion": "8" }, "spec": spec });
        driven.holder.handle_lease(now, "pages-two", Some(other));
        assert_eq!(asked(&mut driven).map(|(_, request)| request.method), Some(Method::Put));
    }
}
