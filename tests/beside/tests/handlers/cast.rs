//! The handlers of an informer, and when they join and leave.

use listwatch_core::Instant;
use serde::Serialize;
use std::time::Duration;

/// Handlers, and what they do.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cast {
    /// The informer's own resync period, in client-go.
    pub(crate) resync: Duration,
    pub(crate) handlers: Vec<Handler>,
    /// In the order of their times.
    pub(crate) script: Vec<Act>,
}

/// How one listens.
#[derive(Clone, Debug)]
pub(crate) struct Handler {
    /// Its own resync period; `None` for the informer's.
    pub(crate) resync: Option<Duration>,
    /// Objects with this value of the label `app` are none of its business.
    pub(crate) without: Option<&'static str>,
    /// Ours tells it nothing of what did not change. client-go has no such choice.
    pub(crate) quiet: bool,
    /// Ours folds what it does not read in time. client-go keeps all of it.
    pub(crate) coalesces: bool,
    /// How ours reads.
    pub(crate) habit: Habit,
}

/// When a subscriber reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Habit {
    /// What there is, at once.
    Eager,
    /// So many notifications whenever something happens, and the rest when it has to.
    Sips(u32),
    /// When it has to: the log is full, somebody looks, or it leaves.
    Late,
}

/// Something that happens after everything that arrived up to then.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Act {
    /// `None` before the informer starts.
    pub(crate) at: Option<Instant>,
    pub(crate) what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum What {
    Join(usize),
    Leave(usize),
    /// Which handlers have synced is noted.
    Look,
}
