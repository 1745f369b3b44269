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
        let mut objects = self.lock();
        objects.drop_gone(|known| known.iter().any(|known| !known.is_over));
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
        let mut objects = self.lock();
        let Some(known) = objects.get_mut(object) else { return };
        known.retain(|known| *known.finalizer != *finalizer);
        if known.is_empty() {
            objects.remove(object);
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

    fn id(world: usize, uid: &str) -> ObjectId {
        ObjectId { world, uid: uid.into() }
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

    #[test]
    fn two_reconciles_cleaned_up_at_once() {
        let (cleaned, one) = (Cleaned::default(), id(1, "1"));
        let CleanUp::Due(first) = cleaned.begin(&one, "x/a", || true) else { panic!("it is due") };
        assert!(matches!(cleaned.begin(&one, "x/a", || true), CleanUp::Running));
        drop(first);
        assert!(clean(&cleaned, &one, "x/a"), "the first one failed");
    }
}
