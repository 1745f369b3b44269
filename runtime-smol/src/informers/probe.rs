//! Tells the witness of a reconcile what the reconcile reads of an informer.

use crate::witness;
use listwatch_core::cache::{Observer, Position};
use std::sync::Arc;

/// Observes the store of an informer.
pub(super) struct Probe {
    /// The names of its lists and watches, in the order of the store's streams.
    pub(super) names: Vec<Arc<str>>,
}

impl Observer for Probe {
    fn before_read(&self) {
        if let Some(witness) = witness::present() {
            self.names.iter().for_each(|name| witness.before_read(name));
        }
    }

    fn on_read(&self, streams: &mut dyn Iterator<Item = Position<'_>>) {
        if let Some(witness) = witness::present() {
            for (name, at) in self.names.iter().zip(streams) {
                witness.on_read(name, at.changes, at.applied.map(|version| &**version));
            }
        }
    }
}
