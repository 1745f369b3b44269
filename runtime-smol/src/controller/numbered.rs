//! The numbers of reconciles, and their ids.

use super::state::State;
use crate::stable_hash::StableHash;
use listwatch_core::api::ReconcileId;
use std::sync::atomic::Ordering;

impl State {
    /// The number of the next reconcile: that of the tape, if there is one, so that its replay has the same.
    pub(super) fn next_number(&self) -> u64 {
        #[cfg(feature = "file")]
        if let Some(tape) = self.informers.world().tape() {
            return tape.next_reconcile();
        }
        self.reconciles.fetch_add(1, Ordering::Relaxed)
    }

    /// The id of a reconcile. The seed of a controller in real time is its own, so its ids are.
    pub(super) fn id_of(&self, number: u64) -> ReconcileId {
        let first = StableHash::new().number(self.seed).text(&self.name).number(number).finish();
        let second = StableHash::new().text("id").number(number).text(&self.name).number(self.seed).finish();
        ReconcileId::new(u128::from(first) << u64::BITS | u128::from(second))
    }
}
