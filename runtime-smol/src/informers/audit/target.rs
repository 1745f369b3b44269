use super::drive::drive;
use super::failure::AuditFailure;
use super::stored::Stored;
use super::stream_audit::StreamAudit;
use crate::client::Client;
use crate::informers::board::Board;
use crate::informers::world::World;
use crate::traced;
use core::future::poll_fn;
use listwatch_core::Store;
use listwatch_core::audit::{AuditConfig, Replica};
use smol::future::or;
use std::sync::Arc;

/// A stream that can be audited, of any type. It does not keep its informer running.
#[derive(Clone)]
pub(crate) struct Target {
    board: Arc<Board>,
    replica: Arc<dyn Replica + Send + Sync>,
    world: World,
    /// Whose lists the store is compared with.
    client: Client,
}

impl Target {
    /// The streams of a store.
    pub(in crate::informers) fn all_of<T: Send + Sync + 'static>(
        world: &World,
        store: &Store<T>,
        boards: &[Arc<Board>],
    ) -> Vec<Self> {
        let target = |(place, board): (usize, &Arc<Board>)| {
            let replica = Arc::new(Stored { store: store.clone(), place, board: Arc::clone(board) });
            Self { board: Arc::clone(board), replica, world: world.clone(), client: world.client().clone() }
        };
        boards.iter().enumerate().map(target).collect()
    }

    /// The same, compared with the lists of another server.
    pub(in crate::informers) fn against(self, server: &Client) -> Self {
        Self { client: server.clone(), ..self }
    }

    /// Compares the stream's part of the store with a list.
    pub(in crate::informers) async fn audit(&self, config: AuditConfig) -> Arc<StreamAudit> {
        let (clock, name) = (self.world.clock(), self.board.name().clone());
        let begun = clock.now();
        let result = if self.world.is_recording() {
            Err(AuditFailure::Recording)
        } else {
            let compared = drive(&self.client, clock, name.resource(), &*self.replica, config);
            let stopped = async {
                self.stopped().await;
                Err(AuditFailure::Stopped)
            };
            or(stopped, compared).await
        };
        let now = clock.now();
        let audit = StreamAudit { name, date: clock.wall(), took: now.saturating_since(begun), result };
        let audit = Arc::new(audit);
        self.board.note_audit(&audit);
        traced::audited(&audit);
        audit
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.board.is_stopped()
    }

    /// Waits until the stream does not go on.
    pub(super) async fn stopped(&self) {
        poll_fn(|cx| self.board.poll_stopped(cx)).await;
    }
}
