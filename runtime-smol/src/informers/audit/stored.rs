use crate::informers::board::Board;
use core::cmp::Ordering;
use listwatch_core::audit::Replica;
use listwatch_core::object::{Version, compare_versions};
use listwatch_core::{Key, Store};
use std::sync::Arc;

/// One stream's part of a store. It does not keep its informer running.
pub(super) struct Stored<T> {
    pub(super) store: Store<T>,
    /// Which one of the store's streams it is.
    pub(super) place: usize,
    pub(super) board: Arc<Board>,
}

impl<T> Replica for Stored<T> {
    /// The older one of two versions: the board's comes later than the store's, when it knows each object up to there
    /// that could not be decoded.
    fn applied(&self) -> Option<Version> {
        let noted = self.board.applied()?;
        let applied = self.store.streams().into_iter().nth(self.place)?.applied?;
        let is_older = compare_versions(&noted, &applied).is_ok_and(Ordering::is_lt);
        Some(if is_older { noted } else { applied })
    }

    fn find(&self, key: &Key) -> Option<(Key, Version)> {
        self.store.read(|objects| {
            let object = objects.get(key)?;
            Some((object.key().clone(), object.meta().resource_version().into()))
        })
    }

    fn for_each(&self, f: &mut dyn FnMut(&Key, &str)) {
        let namespace = self.board.name().namespace();
        let objects = self.store.list();
        let covered = objects.iter().filter(|object| namespace.is_none() || object.key().namespace() == namespace);
        covered.for_each(|object| f(object.key(), object.meta().resource_version()));
    }

    fn undecodable(&self, key: &Key) -> Option<Version> {
        self.board.undecodable(key)
    }
}
