//! One resource among those that are followed.

use super::source::Source;
use crate::report::counts::Counts;
use crate::report::repeats::Repeats;
use listwatch::cache::Indexer;
use listwatch::decode::{Row, Tables};
use listwatch::events::EventsIn;
use listwatch::informer::{DriverIn, InformerIn, InformerStatus};
use listwatch::object::ObjectHandle;
use listwatch::storage::Heap;
use listwatch::{Clock, Event, InformerConfig, Resource};
use serde::de::DeserializeOwned;
use smol::stream::Stream;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The events of one resource, and the server's cells of its objects if these are requested.
pub(super) type RowEvents<T> = EventsIn<Tables<T>, Source>;

/// A resource that is followed: its informer, and the counts of its events.
pub(super) struct Followed<T: DeserializeOwned> {
    /// The name that was typed.
    pub(super) name: String,
    pub(super) resource: Resource,
    pub(super) events: RowEvents<T>,
    pub(super) counts: Counts,
    pub(super) repeats: Repeats,
    /// The server refused the first request. Nothing more is requested.
    pub(super) refused: bool,
    as_table: bool,
}

impl<T: DeserializeOwned> Followed<T> {
    /// Starts to follow a resource, by a table if `as_table` is true.
    pub(super) fn start(
        name: String,
        resource: Resource,
        as_table: bool,
        config: InformerConfig,
        source: Source,
        clock: &Clock,
    ) -> Self {
        let events = row_events(resource.clone(), as_table, config, source, clock);
        let (counts, repeats) = (Counts::default(), Repeats::default());
        Self { name, resource, events, counts, repeats, refused: false, as_table }
    }

    /// Goes on with another collection of the same objects.
    pub(super) fn go_on_with(&mut self, resource: Resource) {
        let requested = if self.as_table { resource.clone().as_table() } else { resource.clone() };
        self.events.driver_mut().informer_mut().set_resource(requested);
        self.resource = resource;
    }

    pub(super) fn source(&self) -> &Source {
        self.events.driver().transport()
    }

    pub(super) fn cache(&self) -> &Indexer<ObjectHandle<Row<T>>> {
        self.events.driver().informer().cache()
    }

    pub(super) fn status(&self, clock: &Clock) -> InformerStatus {
        self.events.driver().informer().status(clock.now())
    }
}

fn row_events<T: DeserializeOwned>(
    resource: Resource,
    as_table: bool,
    config: InformerConfig,
    source: Source,
    clock: &Clock,
) -> RowEvents<T> {
    let resource = if as_table { resource.as_table() } else { resource };
    let decoder = Tables::new(config.decode);
    let informer = InformerIn::<_, _, Heap>::with_decoder(resource, config, decoder, Indexer::default());
    EventsIn::start(DriverIn::new(informer, source), clock.clone())
}

/// The next event of any resource, with the index of the resource. It is the `first` as long as that has events at hand,
/// and then the next one that has: each pauses by itself, so none waits for long.
pub(super) fn poll_next<T: DeserializeOwned>(
    followed: &mut [Followed<T>],
    first: &mut usize,
    cx: &mut Context<'_>,
) -> Poll<(usize, Option<Event<Row<T>>>)> {
    let count = followed.len();
    for index in (0..count).map(|offset| (*first + offset) % count) {
        let resource = &mut followed[index];
        if resource.refused {
            continue;
        }
        if let Poll::Ready(event) = Pin::new(&mut resource.events).poll_next(cx) {
            *first = index;
            return Poll::Ready((index, event));
        }
    }
    Poll::Pending
}
