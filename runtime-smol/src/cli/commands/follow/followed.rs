//! One resource among those that are followed.

use super::source::Source;
use crate::report::counts::Counts;
use crate::report::repeats::Repeats;
use listwatch_runtime_smol::cache::Indexer;
use listwatch_runtime_smol::informer::InformerStatus;
use listwatch_runtime_smol::object::ObjectHandle;
use listwatch_runtime_smol::{Clock, Event, Events};
use serde::de::DeserializeOwned;
use smol::stream::Stream;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A resource that is followed: its informer, and the counts of its events.
pub(super) struct Followed<T: DeserializeOwned> {
    /// The name that was typed.
    pub(super) name: String,
    pub(super) events: Events<T, Source>,
    pub(super) counts: Counts,
    pub(super) repeats: Repeats,
    /// The server refused the first request. Nothing more is requested.
    pub(super) refused: bool,
}

impl<T: DeserializeOwned> Followed<T> {
    pub(super) fn new(name: String, events: Events<T, Source>) -> Self {
        Self { name, events, counts: Counts::default(), repeats: Repeats::default(), refused: false }
    }

    pub(super) fn source(&self) -> &Source {
        self.events.driver().transport()
    }

    pub(super) fn cache(&self) -> &Indexer<ObjectHandle<T>> {
        self.events.driver().informer().cache()
    }

    pub(super) fn status(&self, clock: &Clock) -> InformerStatus {
        self.events.driver().informer().status(clock.now())
    }
}

/// The next event of any resource, with the index of the resource. `first` is asked first, and each in turn is the
/// first.
pub(super) fn poll_next<T: DeserializeOwned>(
    followed: &mut [Followed<T>],
    first: &mut usize,
    cx: &mut Context<'_>,
) -> Poll<(usize, Option<Event<T>>)> {
    let count = followed.len();
    *first = first.wrapping_add(1);
    for index in (0..count).map(|offset| first.wrapping_add(offset) % count) {
        let resource = &mut followed[index];
        if resource.refused {
            continue;
        }
        if let Poll::Ready(event) = Pin::new(&mut resource.events).poll_next(cx) {
            return Poll::Ready((index, event));
        }
    }
    Poll::Pending
}
