//! Which objects are cleaned up, or were and still have their finalizers.

use crate::informers::{Found, Informers};
use listwatch_core::object::Uid;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The clean-ups of objects, by the finalizer of each: until the finalizer is removed, or some time after the object is
/// gone.
#[derive(Default)]
pub(super) struct Cleaned(Mutex<Objects>);

/// An object, and its world: a cluster that was restored from another one's backup has the same uids.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ObjectId {
    pub(super) world: usize,
    pub(super) uid: Uid,
}

impl ObjectId {
    /// That of an object; without a uid it has none.
    pub(super) fn of<T>(object: &Found<T>) -> Option<Self> {
        let uid = object.meta().uid()?;
        Some(Self { world: Informers::of(object.informer()).world().address(), uid })
    }
}

/// Whether the store has the object when it is called.
pub(super) fn is_there<T: Send + Sync + 'static>(object: &Found<T>) -> impl Fn() -> bool + Send + use<T> {
    let (store, key, uid) = (object.informer().store().clone(), object.key().clone(), object.meta().uid());
    move || store.read(|objects| objects.get(&key).is_some_and(|object| object.meta().uid() == uid))
}

#[derive(Default)]
struct Objects {
    by_id: HashMap<ObjectId, Object>,
    /// How many there were when those that are gone were last dropped.
    left: usize,
}

struct Object {
    /// For each finalizer, whether the clean-up is over.
    finalizers: Vec<(Box<str>, bool)>,
    /// Whether the store has it.
    is_there: Box<dyn Fn() -> bool + Send>,
}

/// What the one who wants to clean up finds.
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

/// Fewer objects are not looked for.
const FEW: usize = 64;

impl Cleaned {
    /// Begins a clean-up, unless it has begun. Objects that their stores have no more are dropped when their number may
    /// have doubled: an informer that is only read tells of no deletion.
    pub(super) fn begin<'c>(
        &'c self,
        object: &ObjectId,
        finalizer: &'c str,
        is_there: impl Fn() -> bool + Send + 'static,
    ) -> CleanUp<'c> {
        let mut objects = self.lock();
        objects.drop_gone();
        let new = || Object { finalizers: Vec::new(), is_there: Box::new(is_there) };
        let known = objects.by_id.entry(object.clone()).or_insert_with(new);
        match known.finalizers.iter().find(|(known, _)| **known == *finalizer) {
            Some((_, true)) => CleanUp::Over,
            Some((_, false)) => CleanUp::Running,
            None => {
                known.finalizers.push((finalizer.into(), false));
                CleanUp::Due(Reserved { cleaned: self, object: object.clone(), finalizer, is_over: false })
            }
        }
    }

    /// The finalizer is removed.
    pub(super) fn forget(&self, object: &ObjectId, finalizer: &str) {
        let mut objects = self.lock();
        let Some(known) = objects.by_id.get_mut(object) else { return };
        known.finalizers.retain(|(known, _)| **known != *finalizer);
        if known.finalizers.is_empty() {
            objects.by_id.remove(object);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Objects> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Objects {
    fn drop_gone(&mut self) {
        if self.by_id.len() > FEW.max(2 * self.left) {
            self.by_id.retain(|_, object| object.is_cleaned_now() || (object.is_there)());
            self.left = self.by_id.len();
        }
    }
}

impl Object {
    fn is_cleaned_now(&self) -> bool {
        self.finalizers.iter().any(|(_, is_over)| !is_over)
    }
}

impl Reserved<'_> {
    /// The clean-up is over.
    pub(super) fn finish(mut self) {
        self.is_over = true;
        let mut objects = self.cleaned.lock();
        let known = objects.by_id.get_mut(&self.object).map(|object| &mut object.finalizers);
        for (_, is_over) in known.into_iter().flatten().filter(|(known, _)| **known == *self.finalizer) {
            *is_over = true;
        }
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
        assert!(cleaned.lock().by_id.is_empty());
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

    #[test]
    fn objects_that_were_gone_before_the_end_of_their_clean_up_were_remembered_for_ever() {
        let cleaned = Cleaned::default();
        for number in 0..1000 {
            if let CleanUp::Due(due) = cleaned.begin(&id(1, &number.to_string()), "x/a", move || number == 7) {
                due.finish();
            }
        }
        let left = cleaned.lock().by_id.len();
        assert!(left <= FEW + 1 && !clean(&cleaned, &id(1, "7"), "x/a"), "{left}");
    }
}
