//! Which objects were cleaned up, and still have their finalizers.

use listwatch_core::object::Uid;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The finalizers for which each object was cleaned up, until they are removed, or the object is gone.
#[derive(Default)]
pub(super) struct Cleaned(Mutex<HashMap<Uid, Vec<Box<str>>>>);

impl Cleaned {
    pub(super) fn contains(&self, object: &Uid, finalizer: &str) -> bool {
        self.lock().get(object).is_some_and(|finalizers| finalizers.iter().any(|known| **known == *finalizer))
    }

    pub(super) fn insert(&self, object: &Uid, finalizer: &str) {
        self.lock().entry(object.clone()).or_default().push(finalizer.into());
    }

    /// The finalizer is removed.
    pub(super) fn remove(&self, object: &Uid, finalizer: &str) {
        let mut cleaned = self.lock();
        let Some(finalizers) = cleaned.get_mut(object) else { return };
        finalizers.retain(|known| **known != *finalizer);
        if finalizers.is_empty() {
            cleaned.remove(object);
        }
    }

    /// The object is gone, whoever removed its finalizers.
    pub(super) fn forget(&self, object: Option<&Uid>) {
        object.and_then(|object| self.lock().remove(object));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Uid, Vec<Box<str>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_cleaned_up_is_known_until_the_finalizer_or_the_object_is_gone() {
        let (cleaned, [one, other]) = (Cleaned::default(), ["1", "2"].map(Uid::from));
        cleaned.insert(&one, "x/a");
        cleaned.insert(&one, "x/b");
        cleaned.insert(&other, "x/a");
        cleaned.remove(&one, "x/a");
        let known = |uid, name| cleaned.contains(uid, name);
        assert_eq!([known(&one, "x/a"), known(&one, "x/b"), known(&other, "x/a")], [false, true, true]);
        cleaned.remove(&one, "x/b");
        cleaned.forget(Some(&other));
        cleaned.forget(None);
        assert!(cleaned.lock().is_empty());
    }
}
