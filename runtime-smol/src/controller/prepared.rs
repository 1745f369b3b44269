//! The state of a controller before it begins.

use super::cleaned::Cleaned;
use super::followed::Followed;
use super::own_kind::OwnKind;
use super::recording::recorder;
use super::settings::Settings;
use super::settled::Settled;
use super::sources::Sources;
use super::state::{Inbox, State, guarded};
use super::tally::Tally;
use super::told::Told;
use super::waits::Waits;
use crate::election::Leadership;
use crate::informers::Informers;
use crate::stderr::Folded;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, Weak};

/// That of a controller which has not begun. The report function leaves the settings.
pub(super) fn prepare(
    settings: &mut Settings,
    seed: u64,
    informers: Informers,
    leadership: Option<Leadership>,
    followed: Followed,
    own: Weak<OwnKind>,
) -> (State, Inbox) {
    let clock = informers.clock().clone();
    let client = guarded(leadership.as_ref(), informers.client());
    let recorder = if informers.world().is_replay() { None } else { recorder(&settings.name, seed, &clock) };
    let (held, to_show) = smol::channel::unbounded();
    let (added, to_follow) = smol::channel::unbounded();
    let (stop, stopped) = smol::channel::bounded(1);
    let state = State {
        name: settings.name.as_str().into(),
        machine: settings.machine(&clock, seed),
        clock,
        seed,
        informers,
        client,
        leadership,
        recorder,
        reconciles: AtomicU64::new(0),
        sources: Sources::default(),
        tally: Tally::new(settings.workers),
        followed,
        cleaned: Cleaned::default(),
        settled: Settled::default(),
        told: Told::default(),
        waits: Waits::default(),
        blocking: Arc::default(),
        on_report: settings.on_report.take(),
        stderr: Folded::default(),
        held,
        stale: Mutex::default(),
        added,
        own,
        stop,
    };
    (state, Inbox { held: to_show, added: to_follow, stop: stopped })
}
