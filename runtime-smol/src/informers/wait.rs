//! Waits for the first state of an informer, and for one object.

use super::board::Board;
use super::stream::StreamTransport;
use super::stream_status::{StreamError, StreamStatus, not_run};
use super::world::World;
use crate::clock::{Clock, Sleep};
use crate::events::Events;
use crate::names::StreamName;
use crate::waiting::Waiting;
use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use core::time::Duration;
use listwatch_core::cache::AwaitError;
use listwatch_core::informer::InformerStatus;
use listwatch_core::object::ObjectHandle;
use listwatch_core::reflector::FailureClass;
use listwatch_core::{Driver, Informer, InformerConfig, Resource};
use serde::de::DeserializeOwned;
use std::sync::Arc;

/// Waits until every stream of an informer has its first state in the cache; see
/// [`InformerHandle::synced`](crate::InformerHandle::synced).
#[derive(Debug)]
#[must_use = "a future does nothing unless it is polled"]
pub struct HandleSynced {
    boards: Vec<Arc<Board>>,
    /// The streams that are denied, and need not sync.
    denied: Vec<bool>,
    /// Of the wait of a controller, which also waits for a resource that the server does not know yet.
    start: Option<WhenDenied>,
    runners: Arc<Waiting>,
    clock: Clock,
    deadline: Option<Sleep>,
    is_late: bool,
}

/// What the wait for a stream makes of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WhenDenied {
    /// The wait fails.
    Fail,
    /// The others are enough, if there are any.
    GoOn,
}

impl HandleSynced {
    pub(super) fn new(boards: &[Arc<Board>], runners: Arc<Waiting>, clock: Clock) -> Self {
        let (boards, denied) = (boards.to_vec(), vec![false; boards.len()]);
        Self { boards, denied, start: None, runners, clock, deadline: None, is_late: false }
    }

    /// The wait of a controller, which waits for a resource that the server does not know yet.
    pub(super) fn for_start(self, denied: WhenDenied) -> Self {
        Self { start: Some(denied), ..self }
    }

    /// Gives up when `time` is over, with the status of that moment.
    pub fn within(mut self, time: Duration) -> Self {
        self.deadline = Some(self.clock.sleep(time));
        self
    }

    /// The streams that have no first state now.
    pub(crate) fn not_synced(&self) -> StreamsNotSynced {
        let streams = self.boards.iter().filter(|board| !board.has_synced()).map(|board| board.status()).collect();
        StreamsNotSynced { streams, is_run: self.runners.is_any() }
    }

    /// Whether the time is over, or each stream has its first state or a failure that a retry alone cannot mend.
    pub(crate) fn is_settled(&self) -> bool {
        let is_settled = |status| match status {
            InformerStatus::Failing { class, .. } => class.requires_intervention(),
            InformerStatus::Stopped => true,
            _ => false,
        };
        self.is_late || self.boards.iter().all(|board| board.has_synced() || is_settled(board.status().status))
    }

    /// Polls all streams, also after a failure, so that each of them wakes the task.
    fn poll_streams(&mut self, cx: &Context<'_>) -> Poll<Result<(), ()>> {
        let (mut all, mut failed) = (true, false);
        for (board, is_denied) in self.boards.iter().zip(&mut self.denied) {
            let polled = board.poll_synced(cx, |status| {
                let goes_on = outlasts(self.start, status);
                *is_denied |= goes_on && is_forbidden(status);
                goes_on
            });
            match polled {
                Poll::Ready(Ok(())) => *is_denied = false,
                Poll::Ready(Err(_)) => failed = true,
                Poll::Pending => all &= *is_denied,
            }
        }
        // If all are denied, there are no others that can go on.
        failed |= self.denied.iter().all(|is_denied| *is_denied);
        match (failed, all) {
            (true, _) => Poll::Ready(Err(())),
            (false, true) => Poll::Ready(Ok(())),
            (false, false) => Poll::Pending,
        }
    }
}

/// Whether a wait goes on after a failure that only a person can mend.
fn outlasts(start: Option<WhenDenied>, status: &InformerStatus) -> bool {
    match (start, status) {
        (Some(_), InformerStatus::Failing { class: FailureClass::NotFound, .. }) => true,
        (Some(WhenDenied::GoOn), status) => is_forbidden(status),
        _ => false,
    }
}

fn is_forbidden(status: &InformerStatus) -> bool {
    matches!(status, InformerStatus::Failing { class: FailureClass::Forbidden, .. })
}

impl Future for HandleSynced {
    type Output = Result<(), StreamsNotSynced>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        if let Poll::Ready(synced) = this.poll_streams(cx) {
            return Poll::Ready(synced.map_err(|()| this.not_synced()));
        }
        if let Some(deadline) = this.deadline.as_mut().filter(|_| !this.is_late) {
            ready!(Pin::new(deadline).poll(cx));
            this.is_late = true;
        }
        if this.is_late { Poll::Ready(Err(this.not_synced())) } else { Poll::Pending }
    }
}

/// The streams of an informer that have no first state, and why. [`Debug`](fmt::Debug) is the same as
/// [`Display`](fmt::Display), for a `main` that returns it.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamsNotSynced {
    /// The streams, each with its last failure and what an operator can do. The other streams have synced.
    pub streams: Vec<StreamStatus>,
    /// Whether a task ran the informers; see [`Informers::run`](crate::Informers::run).
    pub is_run: bool,
}

impl fmt::Display for StreamsNotSynced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not synced: ")?;
        for (place, stream) in self.streams.iter().enumerate() {
            let separator = if place > 0 { "\nnot synced: " } else { "" };
            write!(f, "{separator}{stream}")?;
        }
        f.write_str(not_run(&self.streams, self.is_run))
    }
}

impl fmt::Debug for StreamsNotSynced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl core::error::Error for StreamsNotSynced {}

/// Waits until `predicate` holds for the object with this name, and returns the object: `None` where the predicate
/// accepts that there is none (`kubectl wait`, `kubectl wait --for=delete`).
///
/// Only this object is listed and watched (`fieldSelector=metadata.name=…`), so an RBAC rule that allows `list` and
/// `watch` for this name (`resourceNames`) is enough. The wait is a plain future, and shares nothing with other
/// informers; its drop closes the connection. Where an informer of the resource runs already, its store waits too.
///
/// `resource` names the namespace, unless the resource has none. The predicate is called with the first state, and
/// after each change.
///
/// ```no_run
/// # async fn wait() -> Result<(), Box<dyn std::error::Error>> {
/// use core::time::Duration;
/// use listwatch::decode::MetadataOnly;
/// use listwatch::http::Cluster;
/// use listwatch::informers::wait_for;
/// use listwatch::{Resource, World};
///
/// let world = World::from(Cluster::infer()?);
/// let pods = Resource::named("v1/pods")?.in_namespace("web");
/// let is_gone = |pod: Option<&_>| pod.is_none();
/// wait_for::<MetadataOnly>(&world, pods, "web-1", is_gone, Duration::from_secs(60)).await?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`WaitError`]: `within` has passed, or the first list fails by something that only a person can mend, such as a
/// denial.
pub async fn wait_for<T: DeserializeOwned>(
    world: &World,
    resource: Resource,
    name: &str,
    mut predicate: impl FnMut(Option<&ObjectHandle<T>>) -> bool,
    within: Duration,
) -> Result<Option<ObjectHandle<T>>, WaitError> {
    let resource = only(resource, name);
    let (clock, board) = (world.clock(), Board::new(StreamName::new(resource.clone()), world.clock().clone()));
    let mut events = events_of::<T>(world, resource);
    let found = async {
        loop {
            let event = events.next().await;
            event.iter().filter_map(StreamError::of).for_each(|error| board.note_error(&error));
            let cache = events.driver().informer().cache();
            let object = cache.iter().find(|object| object.meta().name() == name);
            match events.driver().informer().poll_synced(clock.now()) {
                Poll::Ready(Err(_)) => return Err(WaitFailure::NeedsIntervention),
                Poll::Ready(Ok(())) if predicate(object) => return Ok(object.cloned()),
                _ => {}
            }
        }
    };
    let late = async {
        clock.sleep(within).await;
        Err(WaitFailure::Late(within))
    };
    let found = smol::future::or(found, late).await;
    let (informer, now) = (events.driver().informer(), clock.now());
    board.note(informer.poll_synced(now), informer.status(now));
    found.map_err(|failure| WaitError { failure, streams: vec![board.status()], is_run: true })
}

/// The events of the one object of this name, which alone is listed and watched.
pub(crate) fn events_of_one<T: DeserializeOwned>(
    world: &World,
    resource: Resource,
    name: &str,
) -> Events<T, StreamTransport> {
    events_of(world, only(resource, name))
}

/// The events of all objects of a resource.
pub(crate) fn events_of<T: DeserializeOwned>(world: &World, resource: Resource) -> Events<T, StreamTransport> {
    let transport = StreamTransport::new(world, resource.clone(), None);
    let informer = Informer::<T>::new(resource, InformerConfig::default());
    Events::start(Driver::new(informer, transport), world.clock().clone())
}

/// The one object of a resource.
fn only(resource: Resource, name: &str) -> Resource {
    let escaped = name.replace('\\', "\\\\").replace(',', "\\,").replace('=', "\\=");
    let by_name = format!("metadata.name={escaped}");
    let fields = resource.field_selector().map(|fields| format!("{fields},{by_name}"));
    resource.with_field_selector(&fields.unwrap_or(by_name))
}

/// The reason why a wait for one object ended without it. [`Debug`](fmt::Debug) is the same as
/// [`Display`](fmt::Display), for a `main` that returns it.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WaitError {
    /// What ended the wait.
    pub failure: WaitFailure,
    /// The streams that could have brought the object, each with its last failure.
    pub streams: Vec<StreamStatus>,
    /// Whether a task ran the streams; see [`Informers::run`](crate::Informers::run).
    pub is_run: bool,
}

/// What ended a wait for an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WaitFailure {
    /// This time limit has passed.
    Late(Duration),
    /// The first list fails, and only a manual change can help.
    NeedsIntervention,
    /// The cache will not have the object.
    NoState(AwaitError),
}

impl fmt::Display for WaitFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Late(within) => write!(f, "the condition did not hold within {within:?}"),
            Self::NeedsIntervention => f.write_str("the object cannot be read"),
            Self::NoState(error) => error.fmt(f),
        }
    }
}

impl fmt::Display for WaitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.failure.fmt(f)?;
        self.streams.iter().try_for_each(|stream| write!(f, "; {stream}"))?;
        f.write_str(not_run(&self.streams, self.is_run))
    }
}

impl fmt::Debug for WaitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl core::error::Error for WaitError {}
