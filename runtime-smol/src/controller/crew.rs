//! The workers of a controller, before they are on their threads.

use super::state::State;
use super::threads::run_local;
use super::worker::{Reconcile, Worker};
use crate::caught::caught_call;
use crate::workers::{WorkerHandle, WorkerStates};
use core::ops::Range;
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
    /// One crew for each thread, with its share of the workers.
    pub(super) fn of(
        state: &Arc<State>,
        workers: &Arc<WorkerStates<Key>>,
        shares: impl Iterator<Item = Range<usize>>,
        reconcile: &Arc<dyn Reconcile + 'a>,
    ) -> Vec<Self> {
        let crew = |share: Range<usize>| Self {
            state: Arc::clone(state),
            handles: share.map(|number| workers.handle(number)).collect(),
            reconcile: Arc::clone(reconcile),
        };
        shares.map(crew).collect()
    }

    /// The program's function.
    #[cfg(feature = "file")]
    pub(super) fn reconcile(&self) -> Arc<dyn Reconcile + 'a> {
        Arc::clone(&self.reconcile)
    }

    /// Reconciles on the calling thread, until the controller is drained. After a panic its workers have
    /// [left](WorkerStates::lost), and the panic hook has printed the message.
    pub(super) fn run_to_end(self) {
        let _ = caught_call(|| smol::block_on(self.run()));
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
