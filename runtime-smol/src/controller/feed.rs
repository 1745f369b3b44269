//! A source while its controller runs: its events become keys.

use super::error::RunError;
use super::report::Report;
use super::sharded::Sharded;
use super::source::{Distinct, Following, FoundKeys, Keys, Mapper, Read, Source};
use super::state::ControllerState;
use super::writes::version_of;
use crate::budget::Budget;
use crate::caught::caught_call;
use crate::informers::{HandleSynced, InformerHandle, StreamName, WhenDenied};
use crate::mutex::Mutex;
use async_executor::Task;
use core::future::poll_fn;
use core::pin::Pin;
use core::task::Poll;
use listwatch_core::controller::{Cause, CauseKind, SourceId};
use listwatch_core::informer::{Subscription, Told};
use listwatch_core::object::{ObjectHandle, Uid};
use listwatch_core::queue::Priority;
use listwatch_core::reflector::{FailureClass, FailureReport};
use listwatch_core::{Event, Instant, Key};
use smol::future::{or, pending, zip};
use std::sync::Arc;

/// A source, whatever its type.
pub(super) trait Feed: Send {
    /// The source's informer.
    fn source(&self) -> &dyn Read;

    /// Adds the keys of all its events, from its first state on, until its informer ends. Returns its name.
    fn follow(
        self: Box<Self>,
        state: Arc<ControllerState>,
        source: SourceId,
    ) -> Pin<Box<dyn Future<Output = String> + Send>>;
}

/// A source, and its mapper.
pub(super) struct Mapped<T> {
    path: Arc<str>,
    /// As people know it.
    name: String,
    source: Source<T>,
    mapper: Mapper<T>,
}

impl<T> Mapped<T> {
    pub(super) fn new(source: Source<T>, mapper: Mapper<T>) -> Self {
        let resource = source.handle.resource();
        let (path, name) = (resource.path().into(), StreamName::new(resource.clone()).to_string());
        Self { path, name, source, mapper }
    }

    /// The wait until the mapper can tell keys.
    fn ready(&self) -> Option<HandleSynced> {
        match &self.mapper {
            Mapper::Owner(kind) => Some(kind.synced()),
            Mapper::Own(_) | Mapper::Program(_) => None,
        }
    }

    /// No work is swallowed: a subscriber that coalesces changes is told the keys of the states between them. Only the
    /// program's mapper has to see each state, because its keys may depend on more than the object.
    fn subscription(&self, state: &ControllerState) -> Subscription<ObjectHandle<T>> {
        let by_uid = state.shards.as_ref().is_some_and(Sharded::divides_by_uid);
        let subscription = Subscription::<ObjectHandle<T>>::new().quiet();
        match &self.mapper {
            Mapper::Own(_) => subscription
                .marks(move |object, mark| mark_key(object.key(), by_uid.then(|| object.meta().uid()), mark)),
            Mapper::Owner(kind) => {
                let kind = Arc::clone(kind);
                subscription.marks(move |object, mark| {
                    let uid = by_uid.then(|| kind.owner_uid(object.meta()));
                    kind.owner_keys(object.meta()).for_each(|key| mark_key(&key, uid.clone(), mark));
                })
            }
            Mapper::Program(_) => subscription.wait(),
        }
    }

    /// Adds the key of a state that was not told, and learns its shard.
    fn on_mark(&self, state: &ControllerState, mark: &str) {
        let shards = state.shards.as_ref().filter(|shards| shards.divides_by_uid());
        let key = match (shards, &self.mapper) {
            (Some(shards), Mapper::Own(own) | Mapper::Owner(own)) => {
                let (key, uid) = marked(mark);
                shards.learn(own, &key, uid.as_ref());
                key
            }
            _ => mark.into(),
        };
        state.add(key, Priority::Normal, self.cause(CauseKind::Coalesced, None));
    }

    /// Learns what is to be known of the own kind.
    fn learn(&self, event: &Event<T>) {
        match (&self.mapper, event.key()) {
            (Mapper::Own(kind), Some(key)) => kind.learn(key),
            (Mapper::Owner(kind), Some(_)) => kind.learn_from_cache(),
            _ => {}
        }
    }

    /// Adds the keys of an event.
    fn on_event(&self, state: &Arc<ControllerState>, outages: &mut Outages, event: &Event<T>) {
        match event {
            Event::Added { object, initial: true } => self.map(state, object, CauseKind::Initial),
            Event::Added { object, .. } => self.map(state, object, CauseKind::Added),
            Event::Updated { old, new } => self.on_update(state, old, new, CauseKind::Updated),
            Event::Recreated { old, new } => self.on_update(state, old, new, CauseKind::Recreated),
            Event::Deleted { object, .. } => self.map(state, object, CauseKind::Deleted),
            Event::Failed(failure) => self.on_failure(state, outages, failure),
            Event::Undecodable(error) => {
                // Of those that come at once, the last one is told.
                let count = self.source.handle.streams().iter().map(|stream| stream.undecodable).sum();
                state.report(&Report::Undecodable { source: &self.name, error, count });
            }
            _ => {}
        }
    }

    fn on_failure(&self, state: &ControllerState, outages: &mut Outages, failure: &FailureReport) {
        let stream = StreamName::new(failure.request.resource.clone());
        if self.is_worth_a_report(outages, &stream, failure) {
            let help = stream.help(failure.failure.class(), failure.operation);
            state.report(&Report::SourceFailed { source: &stream.to_string(), failure, help });
            if !is_reported(outages, &stream) {
                outages.push((stream, state.clock.now()));
            }
        }
    }

    fn is_worth_a_report(&self, outages: &Outages, stream: &StreamName, failure: &FailureReport) -> bool {
        let class = failure.failure.class();
        match class {
            // One that is repeated at once was not understood in its first form.
            _ if failure.retry_in.is_zero() => false,
            _ if self.source.handle.has_synced_stream(stream) => true,
            // The start waits for the resource, and says so once.
            FailureClass::NotFound => !is_reported(outages, stream),
            FailureClass::Forbidden if self.source.denied == WhenDenied::GoOn => true,
            // The start ends with an error that names the failure.
            _ => !class.requires_intervention(),
        }
    }

    /// Both states are mapped: for an owner that went from one object to another, both are reconciled.
    fn on_update(&self, state: &Arc<ControllerState>, old: &ObjectHandle<T>, new: &ObjectHandle<T>, kind: CauseKind) {
        let counts = caught_call(|| self.source.counts(old, new));
        if self.reported(state, new.key(), counts).unwrap_or(true) {
            let mut found = self.keys(state, old, Priority::Normal);
            found.merge(self.keys(state, new, Priority::Normal));
            self.add(state, found, new, kind);
        }
    }

    fn map(&self, state: &Arc<ControllerState>, object: &ObjectHandle<T>, kind: CauseKind) {
        let priority = if kind == CauseKind::Initial { Priority::Low } else { Priority::Normal };
        self.add(state, self.keys(state, object, priority), object, kind);
    }

    /// The keys of a state of an object. If the mapper panics, they are reached by a resync.
    fn keys(&self, state: &Arc<ControllerState>, object: &ObjectHandle<T>, priority: Priority) -> FoundKeys {
        let mapped = caught_call(|| {
            let mut keys = Keys::new(priority);
            self.mapper.map(object, &mut keys);
            keys.into_found()
        });
        self.learn_shards(state, object);
        self.reported(state, object.key(), mapped).unwrap_or_else(|| {
            self.on_keys_lost(state);
            FoundKeys::default()
        })
    }

    /// Learns the shards of the keys that an object leads to.
    fn learn_shards(&self, state: &ControllerState, object: &ObjectHandle<T>) {
        let Some(shards) = &state.shards else { return };
        match &self.mapper {
            Mapper::Own(own) => shards.learn(own, object.key(), object.meta().uid().as_ref()),
            Mapper::Owner(own) => shards.learn_owner(own, object.meta()),
            Mapper::Program(_) => {}
        }
    }

    fn on_keys_lost(&self, state: &Arc<ControllerState>) {
        state.resync(self.cause(CauseKind::Resync, None));
    }

    /// Adds keys because of a change whose newest state is `object`.
    fn add(&self, state: &ControllerState, found: FoundKeys, object: &ObjectHandle<T>, kind: CauseKind) {
        let cause = self.cause(kind, Some(object));
        found.into_keys().into_iter().for_each(|(key, priority)| _ = state.add(key, priority, cause.clone()));
    }

    fn cause(&self, kind: CauseKind, object: Option<&ObjectHandle<T>>) -> Cause {
        let version = object.and_then(|object| version_of(object.meta()));
        Cause { source: Arc::clone(&self.path), kind, object: object.map(|object| object.key().clone()), version }
    }

    /// Drops an event, which may have the last handle of an object.
    fn let_go(&self, state: &ControllerState, event: Event<T>) {
        if let Err(message) = caught_call(|| drop(event)) {
            state.report(&Report::DropPanicked { source: &self.name, message: &message });
        }
    }

    /// The value of a call to the program's code, whose panic is reported.
    fn reported<R>(&self, state: &ControllerState, key: &Key, called: Result<R, String>) -> Option<R> {
        called.inspect_err(|message| state.report(&Report::MapperPanicked { source: &self.name, key, message })).ok()
    }
}

impl<T: Send + Sync + 'static> Feed for Mapped<T> {
    fn source(&self) -> &dyn Read {
        &self.source
    }

    fn follow(
        self: Box<Self>,
        state: Arc<ControllerState>,
        source: SourceId,
    ) -> Pin<Box<dyn Future<Output = String> + Send>> {
        let subscription = self.subscription(&state);
        Box::pin(async move {
            if let Some(ready) = self.ready() {
                // Without a first state of the own kind, the controller does not start. This source starts with its cache.
                let _not_synced = ready.await;
            }
            let subscriber = self.source.handle.store().subscribe(state.clock.now(), subscription);
            let following = Arc::new(Following { source: Arc::clone(&self.path), subscriber: Mutex::new(subscriber) });
            state.sources.add(&following);
            let (mut budget, mut outages) = (Budget::new(), Outages::default());
            let mut others = (self.source.denied == WhenDenied::GoOn).then(|| self.source.synced());
            loop {
                let turn = poll_fn(|cx| {
                    if others.as_mut().is_some_and(|others| matches!(Pin::new(others).poll(cx), Poll::Ready(Ok(())))) {
                        others = None;
                        return Poll::Ready(Turn::Synced);
                    }
                    let is_over = |(stream, since): &(StreamName, Instant)| {
                        self.source.handle.poll_recovered(stream, *since, cx).is_ready()
                    };
                    if let Some(place) = outages.iter().position(is_over) {
                        let (stream, since) = outages.swap_remove(place);
                        return Poll::Ready(Turn::Recovered(stream, since));
                    }
                    following
                        .subscriber
                        .lock()
                        .poll_next(state.clock.now(), cx)
                        .map(|told| told.map_or(Turn::End, Turn::of))
                });
                match turn.await {
                    Turn::Changed(event) => {
                        self.learn(&event);
                        self.on_event(&state, &mut outages, &event);
                        self.let_go(&state, event);
                    }
                    Turn::Marked(mark) => self.on_mark(&state, &mark),
                    Turn::MarksLost => self.on_keys_lost(&state),
                    Turn::Synced => state.machine.update(|it, now| it.source_synced(now, source)),
                    Turn::Recovered(stream, since) => {
                        let after = state.clock.now().saturating_since(since);
                        state.report(&Report::SourceRecovered { source: &stream.to_string(), after });
                    }
                    Turn::End => return self.name,
                }
                poll_fn(|cx| budget.poll_spend(cx)).await;
            }
        })
    }
}

/// Marks a key; with the uid where that tells its replica, because the cache may not have the object any more.
fn mark_key(key: &Key, uid: Option<Option<Uid>>, mark: &mut dyn FnMut(&str)) {
    match uid {
        None => mark(key.as_str()),
        Some(uid) => mark(&mark_of(key, uid.as_ref())),
    }
}

/// The mark of a key with a uid.
fn mark_of(key: &Key, uid: Option<&Uid>) -> String {
    let uid = uid.map(Uid::to_string).unwrap_or_default();
    format!("{} {uid}{key}", uid.len())
}

/// What such a mark says. A uid may be any text.
fn marked(mark: &str) -> (Key, Option<Uid>) {
    let divided = mark.split_once(' ').and_then(|(len, rest)| rest.split_at_checked(len.parse().ok()?));
    let (uid, key) = divided.unwrap_or(("", mark));
    (key.into(), Some(uid).filter(|uid| !uid.is_empty()).map(Uid::from))
}

/// What a source's task does next.
#[expect(clippy::large_enum_variant, reason = "nearly all are events")]
enum Turn<T> {
    Changed(Event<T>),
    Marked(Box<str>),
    MarksLost,
    /// Its first state is there, except for the streams that it starts without.
    Synced,
    /// Since this time it had failed.
    Recovered(StreamName, Instant),
    End,
}

impl<T> Turn<T> {
    fn of(told: Told<Event<T>>) -> Self {
        match told {
            Told::Event(Event::Synced) => Self::Synced,
            Told::Event(event) => Self::Changed(event),
            Told::Mark(mark) => Self::Marked(mark),
            Told::MarksLost => Self::MarksLost,
        }
    }
}

/// The streams of a source that were reported as failing and have not recovered, each once, and since when.
type Outages = Vec<(StreamName, Instant)>;

fn is_reported(outages: &Outages, stream: &StreamName) -> bool {
    outages.iter().any(|(known, _)| known == stream)
}

/// A source that was added to a controller by its handle: [`owns`](super::ControllerHandle::owns),
/// [`maps`](super::ControllerHandle::maps). Dropped, it is removed.
///
/// After the removal no event of the source becomes a key; the keys that are queued stay. If the source had the last
/// handle of its informer, the removal stops the watch.
#[derive(Debug)]
#[must_use = "the drop of an added source removes it"]
pub struct AddedSource {
    path: Arc<str>,
    /// Ended by the drop.
    _follows: Task<()>,
}

impl AddedSource {
    /// The path of the source's resource.
    pub fn path(&self) -> &str {
        &self.path
    }
}

/// A source among those of its controller, until it is dropped.
struct Added {
    state: Arc<ControllerState>,
    path: Arc<str>,
    source: SourceId,
}

impl Drop for Added {
    fn drop(&mut self) {
        self.state.followed.remove(&self.path);
        self.state.machine.update(|it, now| it.remove_source(now, self.source));
    }
}

/// Adds a source to a controller; `None` if the controller has ended.
pub(super) fn add_feed(state: &Arc<ControllerState>, feed: Box<dyn Feed>) -> Option<AddedSource> {
    let path = Arc::<str>::from(feed.source().path());
    state.followed.add(&path);
    let added = Added {
        state: Arc::clone(state),
        path: Arc::clone(&path),
        source: state.machine.update(|it, _| it.add_source()),
    };
    let follows = state.spawn(follow_added(added, feed))?;
    Some(AddedSource { path, _follows: follows })
}

/// Follows a source until it is removed. One that does not sync in time is reported, and followed on.
async fn follow_added(added: Added, feed: Box<dyn Feed>) {
    let Added { state, path, source } = &added;
    let (informers, synced) = (feed.source().informers(), feed.source().synced().within(state.sync_within));
    let synced = async {
        if let Err(error) = synced.await {
            // A controller that has not started waits no longer.
            state.machine.update(|it, now| it.remove_source(now, *source));
            state.report(&Report::SourceNotSynced { source: path, error: &error });
        }
    };
    let run = async {
        // Those of the controller run already.
        if !informers.is_same(&state.informers) {
            informers.run().await;
        }
        pending::<()>().await;
    };
    let followed = async { _ = zip(synced, feed.follow(Arc::clone(state), *source)).await };
    or(followed, run).await;
}

/// The informers that a controller was asked for, and the first mistake that was made.
#[derive(Default)]
pub(super) struct Reads(Mutex<Asked>);

#[derive(Default)]
struct Asked {
    reads: Vec<Box<dyn Read>>,
    mistake: Option<RunError>,
}

impl Reads {
    pub(super) fn add<T: Send + Sync + 'static>(&self, informer: &InformerHandle<T>) {
        self.with(|asked| asked.reads.push(Box::new(Source::from(informer))));
    }

    pub(super) fn on_mistake(&self, mistake: String) {
        self.with(|asked| _ = asked.mistake.get_or_insert(RunError::Config(mistake)));
    }

    /// The informers that are none of these sources, each once.
    pub(super) fn take_except(&self, sources: &[Box<dyn Feed>]) -> (Vec<Box<dyn Read>>, Result<(), RunError>) {
        let Asked { mut reads, mistake } = self.with(core::mem::take);
        let mut distinct = Distinct::default();
        sources.iter().for_each(|source| _ = distinct.is_new(source.source()));
        reads.retain(|read| distinct.is_new(&**read));
        (reads, mistake.map_or(Ok(()), Err))
    }

    fn with<R>(&self, f: impl FnOnce(&mut Asked) -> R) -> R {
        f(&mut self.0.lock())
    }
}

/// The informers of the sources, and those that the controller reads beside them.
pub(super) fn all_of<'r>(
    feeds: &'r [Box<dyn Feed>],
    reads: &'r [Box<dyn Read>],
) -> impl Iterator<Item = &'r dyn Read> + 'r {
    feeds.iter().map(|feed| feed.source()).chain(reads.iter().map(|read| &**read))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_tells_key_and_uid_whatever_their_texts_are() {
        for key in ["web/a", "a", "system:a b", "1 x/y"] {
            for uid in [None, Some("0a8b15c2-7d23-4b6b-9a3e-5f1f6d2c9e04"), Some("x y"), Some("2 é")] {
                let (key, uid) = (Key::from(key), uid.map(Uid::from));
                assert_eq!(marked(&mark_of(&key, uid.as_ref())), (key, uid));
            }
        }
    }
}
