//! The wait for one object, where the RBAC rules allow its name alone.

use super::board::Board;
use super::stream_name::StreamName;
use super::stream_status::StreamError;
use super::transport::StreamTransport;
use super::wait_error::{WaitError, WaitFailure};
use super::world::World;
use crate::clock::{Clock, Sleep};
use crate::events::Events;
use core::future::poll_fn;
use core::pin::Pin;
use core::task::Poll;
use core::time::Duration;
use futures_core::Stream as _;
use listwatch_core::object::ObjectHandle;
use listwatch_core::{Driver, Informer, InformerConfig, Resource};
use serde::de::DeserializeOwned;

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
    let mut single = Single::new(world, only(resource, name), within);
    loop {
        if let Err(failure) = single.advance().await {
            return Err(WaitError { failure, streams: vec![single.board.status()], is_run: true });
        }
        if single.board.has_synced() && predicate(single.object(name)) {
            return Ok(single.object(name).cloned());
        }
    }
}

/// The events of the one object of this name, which alone is listed and watched.
pub(crate) fn events_of_one<T: DeserializeOwned>(
    world: &World,
    resource: Resource,
    name: &str,
) -> Events<T, StreamTransport> {
    events(world, only(resource, name))
}

fn events<T: DeserializeOwned>(world: &World, resource: Resource) -> Events<T, StreamTransport> {
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

/// An informer of one object, and until when it is waited for.
struct Single<T: DeserializeOwned> {
    events: Events<T, StreamTransport>,
    board: Board,
    clock: Clock,
    within: Duration,
    deadline: Sleep,
}

impl<T: DeserializeOwned> Single<T> {
    fn new(world: &World, resource: Resource, within: Duration) -> Self {
        let clock = world.clock().clone();
        let board = Board::new(StreamName::new(resource.clone()), clock.clone());
        let events = events(world, resource);
        Self { events, board, deadline: clock.sleep(within), clock, within }
    }

    /// Takes the next event.
    async fn advance(&mut self) -> Result<(), WaitFailure> {
        let Self { events, deadline, .. } = self;
        let event = poll_fn(|cx| match Pin::new(&mut *events).poll_next(cx) {
            Poll::Pending => Pin::new(&mut *deadline).poll(cx).map(|()| None),
            event => event,
        });
        let event = event.await;
        event.iter().filter_map(StreamError::of).for_each(|error| self.board.note_error(&error));
        let (informer, now) = (self.events.driver().informer(), self.clock.now());
        let synced = informer.poll_synced(now);
        self.board.note(synced.clone(), informer.status(now));
        match synced {
            Poll::Ready(Err(_)) => Err(WaitFailure::NeedsIntervention),
            _ => event.map_or(Err(WaitFailure::Late(self.within)), |_| Ok(())),
        }
    }

    fn object(&self, name: &str) -> Option<&ObjectHandle<T>> {
        self.events.driver().informer().cache().iter().find(|object| object.meta().name() == name)
    }
}
