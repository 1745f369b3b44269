//! The informers that a controller reads.

use super::run_error::RunError;
use crate::informers::{AuditTarget, HandleSynced, Informers};
use core::any::Any;
use std::sync::Weak;

/// An informer of any type, which has to sync before the first reconcile.
pub(super) trait Read: Send {
    /// Waits for its first state.
    fn synced(&self) -> HandleSynced;

    /// Tells it from all others.
    fn identity(&self) -> Weak<dyn Any + Send + Sync>;

    /// The informers that it is among.
    fn informers(&self) -> Informers;

    /// Its streams, to be audited.
    fn audit_targets(&self) -> Vec<AuditTarget>;

    /// The path of its resource.
    fn path(&self) -> &str;
}

/// Tells informers that come for the first time from those that came before.
#[derive(Default)]
pub(super) struct Distinct(Vec<Weak<dyn Any + Send + Sync>>);

impl Distinct {
    /// Whether this informer has not come before.
    pub(super) fn is_new(&mut self, read: &dyn Read) -> bool {
        let identity = read.identity();
        let is_new = !self.0.iter().any(|known| known.ptr_eq(&identity));
        if is_new {
            self.0.push(identity);
        }
        is_new
    }
}

/// Those that belong together, each once, or why they cannot run beside each other.
pub(super) fn worlds<'r>(
    own: &Informers,
    reads: impl Iterator<Item = &'r dyn Read>,
) -> Result<Vec<Informers>, RunError> {
    let mut worlds = vec![own.clone()];
    for read in reads {
        let informers = read.informers();
        if !informers.clock().is_same(own.clock()) {
            let path = read.path();
            return Err(RunError::Config(format!("the world of {path} has another clock; give all worlds one clock")));
        }
        if !worlds.iter().any(|world| world.is_same(&informers)) {
            worlds.push(informers);
        }
    }
    match worlds.iter().find_map(|informers| informers.world().refusal()) {
        Some(why) => Err(RunError::Config(why.to_owned())),
        None => Ok(worlds),
    }
}
