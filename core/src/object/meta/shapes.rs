use alloc::sync::Arc;
use alloc::vec::Vec;
use core::hash::BuildHasher;
use foldhash::fast::FixedState;

/// The labels and owners of the last objects, for the siblings that have the same: pods of one ReplicaSet, say.
///
/// A shape has one place by its hash, where the next one takes it. It is kept when it comes for the second time, so that
/// shapes that come once cost no memory, and have only their hash written. The memory has a limit that no server can
/// exceed.
#[derive(Default)]
pub(super) struct Shapes {
    places: Vec<ShapeSlot>,
    /// The places that were taken, by a new hash, since they were last doubled.
    taken: usize,
}

#[derive(Clone, Default)]
struct ShapeSlot {
    hash: u64,
    shape: Option<Arc<str>>,
}

/// The most places.
const MOST: usize = 4096;
/// A longer shape is not shared, so that all together hold 4 MB at most.
const LONGEST: usize = 1024;

impl Shapes {
    /// The text of a shape, in the memory of an object before it, if it is known.
    pub(super) fn share(&mut self, shape: &str) -> Arc<str> {
        if shape.len() > LONGEST {
            return shape.into();
        }
        self.grow();
        let hash = FixedState::with_seed(0).hash_one(shape);
        let at = self.index_of(hash);
        let place = &mut self.places[at];
        match &place.shape {
            Some(known) if place.hash == hash && **known == *shape => Arc::clone(known),
            _ if place.hash == hash => Arc::clone(place.shape.insert(shape.into())),
            _ => {
                *place = ShapeSlot { hash, shape: None };
                self.taken += 1;
                shape.into()
            }
        }
    }

    /// Doubles the places when they were taken as often as there are places.
    fn grow(&mut self) {
        if self.taken < self.places.len() || self.places.len() == MOST {
            return;
        }
        let len = (self.places.len() * 2).max(4);
        let known = core::mem::take(&mut self.places);
        self.places.resize(len, ShapeSlot::default());
        self.taken = 0;
        for place in known {
            let at = self.index_of(place.hash);
            self.places[at] = place;
        }
    }

    fn index_of(&self, hash: u64) -> usize {
        hash as usize % self.places.len()
    }
}

summary!("Shapes" for Shapes, |it| { places: it.places.len() });

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    #[test]
    fn equal_shapes_share_their_memory() {
        let mut shapes = Shapes::default();
        let [_, second, third] = ["app"; 3].map(|shape| shapes.share(shape));
        assert!(Arc::ptr_eq(&second, &third));
        assert_eq!(&*shapes.share("tier"), "tier");
    }

    #[test]
    fn shapes_that_are_all_different_take_memory_up_to_a_limit() {
        let mut shapes = Shapes::default();
        let held = |shapes: &Shapes| shapes.places.iter().filter(|place| place.shape.is_some()).count();
        for n in 0..100 {
            shapes.share(&format!("{n}"));
        }
        assert!(shapes.places.len() <= 256, "few places for few shapes");
        for n in 0..100_000 {
            assert_eq!(*shapes.share(&format!("{n}")), *format!("{n}"));
        }
        assert!(held(&shapes) < 100 && shapes.places.len() == MOST, "what comes once is not kept");
        for n in 0..100_000 {
            let twice = [n, n].map(|n| shapes.share(&format!("{n}")));
            assert_eq!((&*twice[0], &*twice[1]), (&*format!("{n}"), &*format!("{n}")));
        }
        assert!(held(&shapes) <= MOST && shapes.places.len() == MOST);
        let long = "x".repeat(LONGEST + 1);
        assert!(!(0..3).any(|_| Arc::ptr_eq(&shapes.share(&long), &shapes.share(&long))));
    }
}
