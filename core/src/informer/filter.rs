use crate::fanout::Transition;

/// How much of a change a filter lets through (client-go `FilteringResourceEventHandler`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pass {
    /// The change as it is.
    Whole,
    /// An update whose old state the filter does not accept: the object is told as added.
    Appears,
    /// An update whose new state the filter does not accept: the object is told as deleted.
    Vanishes,
    Nothing,
}

impl Pass {
    /// A deletion passes if the state that was known passes. So it is told exactly if the object was, whatever the
    /// final state is. (client-go filters by the final state.)
    pub(super) fn of<V>(transition: &Transition<V>, filter: impl Fn(&V) -> bool) -> Self {
        match transition {
            Transition::Added { object: told, .. } | Transition::Deleted { old: told, .. } if filter(told) => {
                Self::Whole
            }
            Transition::Added { .. } | Transition::Deleted { .. } => Self::Nothing,
            Transition::Updated { old, new } => match (filter(old), filter(new)) {
                (true, true) => Self::Whole,
                (false, true) => Self::Appears,
                (true, false) => Self::Vanishes,
                (false, false) => Self::Nothing,
            },
        }
    }

    pub(super) fn apply<V: Clone>(self, transition: Transition<V>) -> Option<Transition<V>> {
        match (self, transition) {
            (Self::Nothing, _) => None,
            (Self::Appears, Transition::Updated { new: object, .. }) => {
                Some(Transition::Added { object, initial: false })
            }
            (Self::Vanishes, Transition::Updated { old, .. }) => {
                Some(Transition::Deleted { object: old.clone(), old, final_state_known: true })
            }
            (_, transition) => Some(transition),
        }
    }
}
