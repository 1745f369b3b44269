//! The shards whose objects an informer keeps.

use crate::waiting::Waiting;
use listwatch_core::object::Uid;
use listwatch_core::shards::ShardSpace;
use listwatch_core::{Resource, informer};
use std::collections::BTreeSet;
use std::sync::Weak;

/// The shards whose objects an informer keeps.
#[derive(Clone, Debug)]
pub(crate) struct Selection {
    /// Later ones have greater numbers.
    pub(crate) number: u64,
    pub(crate) space: ShardSpace,
    pub(crate) shards: BTreeSet<u16>,
    /// The server is asked for these objects alone.
    pub(crate) is_asked: bool,
    /// The cache has all these objects, and others.
    pub(crate) is_narrower: bool,
    /// The part of the controller that selects. It is woken once the cache has these objects, and no others.
    pub(crate) by: Weak<Waiting>,
}

/// A query with a longer selector may be too long for a proxy.
const LONGEST: usize = 4096;

impl Selection {
    fn keeps(&self, namespace: Option<&str>, uid: Option<&Uid>) -> bool {
        self.space.of_object(namespace, uid).is_some_and(|shard| self.shards.contains(&shard))
    }

    /// The same for an informer of this resource.
    pub(super) fn of(&self, resource: &Resource) -> informer::Selection {
        let selector = if self.is_asked { self.space.selector(self.shards.iter().copied()) } else { String::new() };
        let selector = if selector.len() > LONGEST { "" } else { &*selector };
        let (resource, this) = (resource.clone().with_shard_selector(selector), self.clone());
        match self.shards.is_empty() {
            true => informer::Selection::none(resource),
            false => informer::Selection::new(resource, move |meta| this.keeps(meta.namespace(), meta.uid().as_ref())),
        }
    }
}

/// What an informer keeps.
#[derive(Debug, Default)]
pub(super) struct Selected {
    /// No other one may select while it lives.
    by: Weak<Waiting>,
    /// All objects without one.
    selection: Option<Selection>,
    /// The number of the last one that the stream has taken.
    taken: u64,
    /// The number of the last one whose objects the cache has.
    has: u64,
}

impl Selected {
    /// Replaces the selection, unless another one selects.
    pub(super) fn select(&mut self, selection: &Selection) -> bool {
        let is_free = self.by.strong_count() == 0;
        if is_free {
            (self.by, self.taken, self.has) = (Weak::clone(&selection.by), 0, 0);
        }
        let may = self.by.ptr_eq(&selection.by);
        if may {
            self.selection = Some(selection.clone());
        }
        may
    }

    /// The cache has the objects of this selection. One of a controller that has ended counts for nothing.
    pub(super) fn note(&mut self, selection: &Selection) {
        if self.by.ptr_eq(&selection.by) {
            self.has = selection.number;
        }
    }

    /// The numbers of the selection, and of the last one whose objects the cache has.
    pub(super) fn numbers(&self) -> [u64; 2] {
        [self.selection.as_ref().map_or(self.has, |selection| selection.number), self.has]
    }

    /// Whether an object is kept.
    pub(super) fn keeps(&self, namespace: Option<&str>, uid: &Uid) -> bool {
        self.selection.as_ref().is_none_or(|selection| selection.keeps(namespace, Some(uid)))
    }

    /// The selection, if it is a new one.
    pub(super) fn take(&mut self) -> Option<Selection> {
        let selection = self.selection.as_ref().filter(|selection| selection.number > self.taken)?;
        self.taken = selection.number;
        Some(selection.clone())
    }
}
