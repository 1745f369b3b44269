//! Which objects were cleaned up, and still have their finalizers.

use listwatch_core::object::Uid;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The finalizers for which each object was cleaned up, until they are removed, or some time after the object is gone.
#[derive(Default)]
pub(super) struct Cleaned(Mutex<Objects>);

#[derive(Default)]
struct Objects {
    by_uid: HashMap<Uid, Object>,
    /// How many there were when those that are gone were last dropped.
    left: usize,
}

struct Object {
    finalizers: Vec<Box<str>>,
    /// Whether the store has it.
    is_there: Box<dyn Fn() -> bool + Send>,
}

/// Fewer objects are not looked for.
const FEW: usize = 64;

impl Cleaned {
    pub(super) fn contains(&self, object: &Uid, finalizer: &str) -> bool {
        self.lock().by_uid.get(object).is_some_and(|object| object.has(finalizer))
    }

    /// Objects that their stores have no more are dropped when their number may have doubled: an informer that is only
    /// read tells of no deletion, and one that was told may have come before the end of the clean-up.
    pub(super) fn insert(&self, object: &Uid, finalizer: &str, is_there: impl Fn() -> bool + Send + 'static) {
        let mut objects = self.lock();
        let new = || Object { finalizers: Vec::new(), is_there: Box::new(is_there) };
        objects.by_uid.entry(object.clone()).or_insert_with(new).finalizers.push(finalizer.into());
        if objects.by_uid.len() > FEW.max(2 * objects.left) {
            objects.by_uid.retain(|_, object| (object.is_there)());
            objects.left = objects.by_uid.len();
        }
    }

    /// The finalizer is removed.
    pub(super) fn remove(&self, object: &Uid, finalizer: &str) {
        let mut objects = self.lock();
        let Some(known) = objects.by_uid.get_mut(object) else { return };
        known.finalizers.retain(|known| **known != *finalizer);
        if known.finalizers.is_empty() {
            objects.by_uid.remove(object);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Objects> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Object {
    fn has(&self, finalizer: &str) -> bool {
        self.finalizers.iter().any(|known| **known == *finalizer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_cleaned_up_is_known_until_the_finalizer_is_removed() {
        let (cleaned, [one, other]) = (Cleaned::default(), ["1", "2"].map(Uid::from));
        for (uid, name) in [(&one, "x/a"), (&one, "x/b"), (&other, "x/a")] {
            cleaned.insert(uid, name, || true);
        }
        cleaned.remove(&one, "x/a");
        let known = |uid, name| cleaned.contains(uid, name);
        assert_eq!([known(&one, "x/a"), known(&one, "x/b"), known(&other, "x/a")], [false, true, true]);
        cleaned.remove(&one, "x/b");
        cleaned.remove(&other, "x/a");
        assert!(cleaned.lock().by_uid.is_empty());
    }

    #[test]
    fn objects_that_were_gone_before_the_end_of_their_clean_up_were_remembered_for_ever() {
        let cleaned = Cleaned::default();
        for number in 0..1000 {
            cleaned.insert(&Uid::from(&*number.to_string()), "x/a", move || number == 7);
        }
        let left = cleaned.lock().by_uid.len();
        assert!(left <= FEW && cleaned.contains(&Uid::from("7"), "x/a"), "{left}");
    }
}
