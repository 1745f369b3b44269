//! Which objects are cleaned up, or were and still have their finalizers.

use super::by_object::{ByObject, ObjectId};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The clean-ups of objects: until the finalizer is removed, or some time after the object is gone.
#[derive(Default)]
pub(super) struct Cleaned(Mutex<ByObject<Vec<CleanedBy>>>);

/// The clean-up of an object by one finalizer.
struct CleanedBy {
    finalizer: Box<str>,
    is_over: bool,
}

/// What a reconcile finds that wants to clean up.
pub(super) enum CleanUp<'c> {
    /// The clean-up is the caller's.
    Due(Reserved<'c>),
    /// Another reconcile cleans up now.
    Running,
    /// The clean-up is over.
    Over,
}

/// A clean-up that is one caller's. Dropped before it is over, it is due again.
pub(super) struct Reserved<'c> {
    cleaned: &'c Cleaned,
    object: ObjectId,
    finalizer: &'c str,
    is_over: bool,
}

impl Cleaned {
    /// Begins a clean-up, unless it has begun.
    pub(super) fn begin<'c>(
        &'c self,
        object: &ObjectId,
        finalizer: &'c str,
        is_there: impl Fn() -> bool + Send + 'static,
    ) -> CleanUp<'c> {
        // Declared before the lock, it is dropped behind it.
        let _gone;
        let mut objects = self.lock();
        _gone = objects.take_gone(|known| known.iter().any(|known| !known.is_over));
        let known = objects.get_or_insert(object, Vec::new(), is_there);
        match known.iter().find(|known| *known.finalizer == *finalizer) {
            Some(known) if known.is_over => CleanUp::Over,
            Some(_) => CleanUp::Running,
            None => {
                known.push(CleanedBy { finalizer: finalizer.into(), is_over: false });
                CleanUp::Due(Reserved { cleaned: self, object: object.clone(), finalizer, is_over: false })
            }
        }
    }

    /// The finalizer is removed.
    pub(super) fn forget(&self, object: &ObjectId, finalizer: &str) {
        // Declared before the lock, it is dropped behind it.
        let _forgotten;
        let mut objects = self.lock();
        let Some(known) = objects.get_mut(object) else { return };
        known.retain(|known| *known.finalizer != *finalizer);
        if known.is_empty() {
            _forgotten = objects.take(object);
        }
    }

    fn lock(&self) -> MutexGuard<'_, ByObject<Vec<CleanedBy>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reserved<'_> {
    /// The clean-up is over.
    pub(super) fn finish(mut self) {
        self.is_over = true;
        let mut objects = self.cleaned.lock();
        let known = objects.get_mut(&self.object).into_iter().flatten();
        known.filter(|known| *known.finalizer == *self.finalizer).for_each(|known| known.is_over = true);
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.cleaned.forget(&self.object, self.finalizer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::informers::WorldId;
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;
    use std::sync::atomic::Ordering::Relaxed;

    fn id(world: u64, uid: &str) -> ObjectId {
        ObjectId { world: WorldId::of_test(world), uid: uid.into() }
    }

    fn clean(cleaned: &Cleaned, object: &ObjectId, finalizer: &str) -> bool {
        match cleaned.begin(object, finalizer, || true) {
            CleanUp::Due(reserved) => {
                reserved.finish();
                true
            }
            CleanUp::Running | CleanUp::Over => false,
        }
    }

    #[test]
    fn what_was_cleaned_up_is_known_until_the_finalizer_is_removed() {
        let (cleaned, [one, other]) = (Cleaned::default(), [id(1, "1"), id(1, "2")]);
        for (object, name) in [(&one, "x/a"), (&one, "x/b"), (&other, "x/a")] {
            assert!(clean(&cleaned, object, name) && !clean(&cleaned, object, name));
        }
        cleaned.forget(&one, "x/a");
        assert!(clean(&cleaned, &one, "x/a") && !clean(&cleaned, &one, "x/b"));
        for (object, name) in [(&one, "x/a"), (&one, "x/b"), (&other, "x/a")] {
            cleaned.forget(object, name);
        }
        assert!([&one, &other].iter().all(|object| cleaned.lock().get(object).is_none()));
    }

    #[test]
    fn an_object_of_another_world_was_taken_for_one_that_was_cleaned_up() {
        let cleaned = Cleaned::default();
        assert!(clean(&cleaned, &id(1, "1"), "x/a") && clean(&cleaned, &id(2, "1"), "x/a"));
    }

    /// Tries to take the lock when it is dropped.
    struct Asks(Arc<Cleaned>, Arc<AtomicUsize>);

    impl Drop for Asks {
        fn drop(&mut self) {
            self.1.fetch_add(usize::from(self.0.0.try_lock().is_ok()), Relaxed);
        }
    }

    /// With a store, the objects go, whose type may do anything when it is dropped.
    #[test]
    fn the_store_of_an_object_that_was_forgotten_was_dropped_under_the_lock() {
        const MANY: usize = 100;
        let (cleaned, free) = (Arc::new(Cleaned::default()), Arc::new(AtomicUsize::new(0)));
        let begin = |number: usize| {
            let (asks, id) = (Asks(cleaned.clone(), free.clone()), id(1, &number.to_string()));
            let is_there = move || {
                let _store = &asks;
                false
            };
            if let CleanUp::Due(reserved) = cleaned.begin(&id, "x/a", is_there) {
                reserved.finish();
            }
        };
        (0..MANY).for_each(begin);
        let known = MANY - free.load(Relaxed);
        assert!(known < MANY, "those that are gone are forgotten, and the lock is free");
        (0..MANY).for_each(|number| cleaned.forget(&id(1, &number.to_string()), "x/a"));
        assert_eq!(free.load(Relaxed), MANY, "and where the finalizer is removed");
    }

    #[test]
    fn two_reconciles_cleaned_up_at_once() {
        let (cleaned, one) = (Cleaned::default(), id(1, "1"));
        let CleanUp::Due(first) = cleaned.begin(&one, "x/a", || true) else { panic!("it is due") };
        assert!(matches!(cleaned.begin(&one, "x/a", || true), CleanUp::Running));
        drop(first);
        assert!(clean(&cleaned, &one, "x/a"), "the first one failed");
    }
}
