use super::Transition;
use crate::storage::Versioned;

/// The changes of one key, folded into one: from the state that a subscriber was last told to the newest state.
pub(super) struct Folded<V> {
    /// `None` where the subscriber has been told no object.
    known: Option<V>,
    newest: Newest<V>,
    /// An addition is part of a first list.
    initial: bool,
    /// It is told even if both states are the same.
    resynced: bool,
}

enum Newest<V> {
    There(V),
    Gone { object: V, final_state_known: bool },
}

impl<V: Versioned + Clone> Folded<V> {
    /// An object of the subscriber's own first list.
    pub(super) fn initial(object: V) -> Self {
        Self { known: None, newest: Newest::There(object), initial: true, resynced: false }
    }

    /// An object that is announced again.
    pub(super) fn resync(object: V) -> Self {
        Self { known: Some(object.clone()), newest: Newest::There(object), initial: false, resynced: true }
    }

    pub(super) fn of(first: &Transition<V>) -> Self {
        let (known, initial) = match first {
            Transition::Added { initial, .. } => (None, *initial),
            Transition::Updated { old, .. } | Transition::Deleted { old, .. } => (Some(old.clone()), false),
        };
        Self { known, newest: Newest::of(first), initial, resynced: false }
    }

    /// Adds a later change, and gives the state that was the newest.
    pub(super) fn fold(&mut self, next: &Transition<V>) -> V {
        core::mem::replace(&mut self.newest, Newest::of(next)).into_object()
    }

    /// Gives away every state.
    pub(super) fn free(self, freed: &mut impl FnMut(V)) {
        self.known.into_iter().for_each(&mut *freed);
        freed(self.newest.into_object());
    }

    /// Whether nothing is left to tell if `next` is added.
    pub(super) fn is_cancelled_by(&self, next: &Transition<V>, quiet: bool) -> bool {
        match next {
            Transition::Deleted { .. } => self.known.is_none(),
            Transition::Added { object, .. } | Transition::Updated { new: object, .. } => {
                quiet && !self.resynced && self.is_known(object)
            }
        }
    }

    /// The states that the subscriber is not told if `next` is added. A deletion tells programs its final state alone.
    pub(super) fn swallowed<'a>(&'a self, next: &'a Transition<V>, quiet: bool) -> impl Iterator<Item = &'a V> {
        let cancelled = self.is_cancelled_by(next, quiet);
        let newest = Some(self.newest.object()).filter(|newest| !self.is_known(newest));
        let is_deleted = matches!(next, Transition::Deleted { .. });
        let known = self.known.as_ref().filter(|_| cancelled || is_deleted);
        newest.into_iter().chain(known).chain(Some(next.object()).filter(|_| cancelled))
    }

    /// Announces the object even if its state is the one that the subscriber was last told.
    pub(super) fn announce(&mut self) {
        self.resynced = true;
    }

    pub(super) fn into_transition(self) -> Option<Transition<V>> {
        match (self.known, self.newest) {
            (None, Newest::There(object)) => Some(Transition::Added { object, initial: self.initial }),
            (Some(old), Newest::There(new)) => Some(Transition::Updated { old, new }),
            (Some(old), Newest::Gone { object, final_state_known }) => {
                Some(Transition::Deleted { old, object, final_state_known })
            }
            (None, Newest::Gone { .. }) => None,
        }
    }

    pub(super) fn key(&self) -> &V::Key {
        self.newest.object().key()
    }

    fn is_known(&self, state: &V) -> bool {
        self.known.as_ref().is_some_and(|known| known.is_same_state(state))
    }
}

impl<V: Clone> Newest<V> {
    fn of(transition: &Transition<V>) -> Self {
        match transition {
            Transition::Added { object, .. } | Transition::Updated { new: object, .. } => Self::There(object.clone()),
            Transition::Deleted { object, final_state_known, .. } => {
                Self::Gone { object: object.clone(), final_state_known: *final_state_known }
            }
        }
    }
}

impl<V> Newest<V> {
    const fn object(&self) -> &V {
        match self {
            Self::There(object) | Self::Gone { object, .. } => object,
        }
    }

    fn into_object(self) -> V {
        match self {
            Self::There(object) | Self::Gone { object, .. } => object,
        }
    }
}
