use super::Transition;
use crate::storage::Versioned;

/// The changes of one key, folded into one: from the state that a subscriber was last told to the newest state.
pub(super) struct Folded<V> {
    pub(super) change: Transition<V>,
    /// The number of the entry that was folded first. It is told when the cursor has come as far.
    pub(super) number: u64,
    /// It is told even if both states are the same.
    resynced: bool,
}

impl<V: Versioned + Clone> Folded<V> {
    /// An object of the subscriber's own first list.
    pub(super) fn initial(object: V) -> Self {
        Self::of(Transition::Added { object, initial: true }, 0)
    }

    /// An object that is announced again.
    pub(super) fn resync(object: V, number: u64) -> Self {
        Self { resynced: true, ..Self::of(Transition::Updated { old: object.clone(), new: object }, number) }
    }

    pub(super) fn of(change: Transition<V>, number: u64) -> Self {
        Self { change, number, resynced: false }
    }

    /// Adds a later change, which does not [cancel](Self::is_cancelled_by) this one. Gives what it was before.
    pub(super) fn fold(&mut self, next: &Transition<V>) -> Transition<V> {
        let folded = match (self.known().cloned(), next.clone()) {
            (Some(old), Transition::Deleted { object, final_state_known, .. }) => {
                Transition::Deleted { old, object, final_state_known }
            }
            (Some(old), Transition::Added { object, .. } | Transition::Updated { new: object, .. }) => {
                Transition::Updated { old, new: object }
            }
            (None, next) => {
                let initial = matches!(self.change, Transition::Added { initial: true, .. });
                Transition::Added { object: next.into_object(), initial }
            }
        };
        core::mem::replace(&mut self.change, folded)
    }

    /// Whether nothing is left to tell if `next` is added.
    pub(super) fn is_cancelled_by(&self, next: &Transition<V>, quiet: bool) -> bool {
        match next {
            Transition::Deleted { .. } => self.known().is_none(),
            Transition::Added { object, .. } | Transition::Updated { new: object, .. } => {
                quiet && !self.resynced && self.is_known(object)
            }
        }
    }

    /// The states that the subscriber is not told if `next` is added. A deletion tells programs its final state alone.
    pub(super) fn swallowed<'a>(&'a self, next: &'a Transition<V>, quiet: bool) -> impl Iterator<Item = &'a V> {
        let cancelled = self.is_cancelled_by(next, quiet);
        let newest = Some(self.change.object()).filter(|newest| !self.is_known(newest));
        let is_deleted = matches!(next, Transition::Deleted { .. });
        let known = self.known().filter(|_| cancelled || is_deleted);
        newest.into_iter().chain(known).chain(Some(next.object()).filter(|_| cancelled))
    }

    /// Announces the object even if its state is the one that the subscriber was last told.
    pub(super) fn announce(&mut self) {
        self.resynced = true;
    }

    /// The object that the subscriber has been told.
    fn known(&self) -> Option<&V> {
        match &self.change {
            Transition::Added { .. } => None,
            Transition::Updated { old, .. } | Transition::Deleted { old, .. } => Some(old),
        }
    }

    fn is_known(&self, state: &V) -> bool {
        self.known().is_some_and(|known| known.is_same_state(state))
    }
}
