//! The workers of a controller, before they are on their threads.

use super::state::State;
use super::threads::{run_local, shares};
use super::worker::{Reconcile, Worker};
use crate::workers::{WorkerHandle, WorkerStates};
use listwatch_core::Key;
use smol::lock::Mutex;
use std::sync::Arc;

/// The workers of one thread. Dropped, they have left.
pub(super) struct Crew<'a> {
    state: Arc<State>,
    handles: Vec<WorkerHandle<Key>>,
    reconcile: Arc<dyn Reconcile + 'a>,
}

impl<'a> Crew<'a> {
    /// One crew for each of `threads`.
    pub(super) fn of(
        state: &Arc<State>,
        workers: &Arc<WorkerStates<Key>>,
        (count, threads): (usize, usize),
        reconcile: &Arc<dyn Reconcile + 'a>,
    ) -> Vec<Self> {
        let crew = |share: core::ops::Range<usize>| Self {
            state: Arc::clone(state),
            handles: share.map(|number| workers.handle(number)).collect(),
            reconcile: Arc::clone(reconcile),
        };
        shares(count, threads).map(crew).collect()
    }

    /// Reconciles on the thread that polls, until the controller is drained.
    pub(super) async fn run(self) {
        let Self { state, handles, reconcile } = self;
        let turn = Arc::new(Mutex::new(()));
        let worker = |handle| {
            let turn = Arc::clone(&turn);
            Worker { state: &state, handle, turn, reconcile: &*reconcile }.run()
        };
        run_local(handles.into_iter().map(worker)).await;
    }
}
