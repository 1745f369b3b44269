//! What a controller remembers of objects, until some time after they are gone.

use crate::informers::{Found, Informers, WorldId};
use listwatch_core::object::Uid;
use std::collections::HashMap;

/// An object, and its world: a cluster that was restored from another one's backup has the same uids.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ObjectId {
    pub(super) world: WorldId,
    pub(super) uid: Uid,
}

impl ObjectId {
    /// That of an object; without a uid it has none.
    pub(super) fn of<T>(object: &Found<T>) -> Option<Self> {
        let uid = object.meta().uid()?;
        Some(Self { world: Informers::of(object.informer()).world().id(), uid })
    }
}

/// Whether the store has the object when it is called.
pub(super) fn is_there<T: Send + Sync + 'static>(object: &Found<T>) -> impl Fn() -> bool + Send + use<T> {
    let (store, key, uid) = (object.informer().store().clone(), object.key().clone(), object.meta().uid());
    move || store.read(|objects| objects.get(&key).is_some_and(|object| object.meta().uid() == uid))
}

/// A value for each object. An informer that is only read tells of no deletion, so the stores are asked.
///
/// What is forgotten may be the last to hold a store, and drop objects of any type. The owner of a lock drops it behind the
/// lock. The stores are asked under the lock: no code inside a store asks for a controller's lock.
pub(super) struct ByObject<V> {
    by_id: HashMap<ObjectId, Known<V>>,
    /// How many there were when those that are gone were last dropped.
    left: usize,
}

pub(super) struct Known<V> {
    value: V,
    /// Whether the store has the object.
    is_there: Box<dyn Fn() -> bool + Send>,
}

/// Fewer objects are not looked for.
const FEW: usize = 64;

impl<V> ByObject<V> {
    /// The value of an object.
    pub(super) fn get(&self, id: &ObjectId) -> Option<&V> {
        self.by_id.get(id).map(|known| &known.value)
    }

    /// The value of an object, to be changed.
    pub(super) fn get_mut(&mut self, id: &ObjectId) -> Option<&mut V> {
        self.by_id.get_mut(id).map(|known| &mut known.value)
    }

    /// The value of an object; if it has none, `value`.
    pub(super) fn get_or_insert(
        &mut self,
        id: &ObjectId,
        value: V,
        is_there: impl Fn() -> bool + Send + 'static,
    ) -> &mut V {
        let new = || Known { value, is_there: Box::new(is_there) };
        &mut self.by_id.entry(id.clone()).or_insert_with(new).value
    }

    /// Forgets an object.
    #[must_use]
    pub(super) fn take(&mut self, id: &ObjectId) -> Option<Known<V>> {
        self.by_id.remove(id)
    }

    /// Forgets the objects that their stores have no more and that are not needed, when their number may have doubled.
    #[must_use]
    pub(super) fn take_gone(&mut self, is_needed: impl Fn(&V) -> bool) -> Vec<Known<V>> {
        if self.by_id.len() <= FEW.max(2 * self.left) {
            return Vec::new();
        }
        let gone = self.by_id.extract_if(|_, known| !is_needed(&known.value) && !(known.is_there)());
        let gone = gone.map(|(_, known)| known).collect();
        self.left = self.by_id.len();
        gone
    }
}

impl<V> Default for ByObject<V> {
    fn default() -> Self {
        Self { by_id: HashMap::new(), left: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_that_were_gone_were_remembered_for_ever() {
        let mut objects = ByObject::default();
        let id = |number: i32| ObjectId { world: WorldId::of_test(1), uid: number.to_string().as_str().into() };
        for number in 0..1000 {
            drop(objects.take_gone(|value| *value == 3));
            objects.get_or_insert(&id(number), number, move || number == 7);
        }
        assert!(objects.by_id.len() <= FEW + 3);
        assert_eq!([3, 7, 11].map(|number| objects.get(&id(number)).is_some()), [true, true, false]);
    }
}
