//! Which objects were cleaned up, and still have their finalizers.

use crate::informers::Found;
use listwatch_core::object::Uid;
use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Objects that were cleaned up, by uid and finalizer, until the finalizer is removed.
#[derive(Default)]
pub(super) struct Cleaned(Mutex<HashSet<(Option<Uid>, Box<str>)>>);

impl Cleaned {
    pub(super) fn contains<T>(&self, object: &Found<T>, finalizer: &str) -> bool {
        self.lock().contains(&entry(object, finalizer))
    }

    pub(super) fn insert<T>(&self, object: &Found<T>, finalizer: &str) {
        self.lock().insert(entry(object, finalizer));
    }

    pub(super) fn remove<T>(&self, object: &Found<T>, finalizer: &str) {
        self.lock().remove(&entry(object, finalizer));
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<(Option<Uid>, Box<str>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn entry<T>(object: &Found<T>, finalizer: &str) -> (Option<Uid>, Box<str>) {
    (object.meta().uid(), finalizer.into())
}
