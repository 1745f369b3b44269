use super::Informers;
use super::registry::Registry;
use super::stream_status::StreamStatus;
use super::world::Asked;
use std::sync::{Arc, Weak};

/// Informers, without keeping them.
#[derive(Clone)]
pub(crate) struct WeakInformers(Weak<Registry>);

impl WeakInformers {
    pub(crate) fn of(informers: &Informers) -> Self {
        Self(Arc::downgrade(&informers.0))
    }

    pub(crate) fn is_of(&self, informers: &Informers) -> bool {
        self.0.as_ptr() == Arc::as_ptr(&informers.0)
    }

    pub(crate) fn are_alive(&self) -> bool {
        self.0.strong_count() > 0
    }

    /// Nothing once they are gone.
    pub(crate) fn status(&self) -> Vec<StreamStatus> {
        self.0.upgrade().map_or_else(Vec::new, |registry| registry.status())
    }

    /// The requests of their world.
    pub(crate) fn asked(&self) -> Option<Asked> {
        Some(self.0.upgrade()?.world.asked())
    }
}
