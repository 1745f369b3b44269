//! A stream that goes on when the replay of its world tells it to.

use super::stream::Stream;
use crate::replay::Advance;
use listwatch_core::Store;
use serde::de::DeserializeOwned;
use std::sync::{Arc, Weak};

/// A stream, and its place in the store.
pub(super) struct Followed<T: DeserializeOwned> {
    stream: Weak<Stream<T>>,
    store: Store<T>,
    place: usize,
}

impl<T: DeserializeOwned> Followed<T> {
    pub(super) fn new(stream: &Arc<Stream<T>>, store: &Store<T>, place: usize) -> Self {
        Self { stream: Arc::downgrade(stream), store: store.clone(), place }
    }
}

impl<T: DeserializeOwned + Send + Sync> Advance for Followed<T> {
    fn position(&self) -> (u64, Option<Arc<str>>) {
        let streams = self.store.streams();
        streams.get(self.place).map_or((0, None), |stream| (stream.changes, stream.applied.clone()))
    }

    fn has_synced(&self) -> bool {
        self.store.streams().get(self.place).is_some_and(|stream| stream.synced)
    }

    fn turn(&self) -> bool {
        self.stream.upgrade().is_some_and(|stream| stream.turn())
    }
}
