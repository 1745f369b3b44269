//! Sources that come and go while their controller runs.

use super::feed::Feed;
use super::report::Report;
use super::state::{Follow, State};
use core::fmt;
use core::pin::Pin;
use core::time::Duration;
use listwatch_core::controller::SourceId;
use smol::channel::{Receiver, Sender, bounded};
use smol::future::{or, pending, zip};
use std::sync::Arc;

/// A source that was added to a controller by its handle: [`owns`](super::ControllerHandle::owns),
/// [`maps`](super::ControllerHandle::maps). Dropped, it is removed.
///
/// After the removal no event of the source becomes a key; the keys that are queued stay. If the source had the last
/// handle of its informer, the removal stops the watch.
#[must_use = "the drop of an added source removes it"]
pub struct AddedSource {
    path: Arc<str>,
    /// Closed by the drop.
    _removed: Sender<()>,
}

impl AddedSource {
    /// The path of the source's resource.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }
}

/// A source that the streams' side is to follow.
struct AddedFeed {
    feed: Box<dyn Feed>,
    source: SourceId,
    removed: Receiver<()>,
}

/// Adds a source to a controller; `None` if the controller is ending.
pub(super) fn add(state: &State, feed: Box<dyn Feed>) -> Option<AddedSource> {
    let (sender, removed) = bounded(1);
    let (path, source) = (Arc::<str>::from(feed.source().path()), state.machine.add_source());
    state.followed.add(&path);
    state.added.try_send(Box::new(AddedFeed { feed, source, removed })).ok()?;
    Some(AddedSource { path, _removed: sender })
}

impl Follow for AddedFeed {
    fn follow(self: Box<Self>, state: Arc<State>, sync_within: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let Self { feed, source, removed } = *self;
        Box::pin(async move {
            let (path, informers) = (Arc::<str>::from(feed.source().path()), feed.source().informers());
            let synced = feed.source().synced().within(sync_within);
            let removed = async {
                let _closed = removed.recv().await;
            };
            let synced = async {
                if let Err(error) = synced.await {
                    // A controller that has not started waits no longer.
                    state.machine.remove_source(source);
                    state.report(&Report::SourceNotSynced { source: &path, error: &error });
                }
            };
            let run = async {
                // Those of the controller run already.
                if !informers.is_same(&state.informers) {
                    informers.run().await;
                }
                pending::<()>().await;
            };
            let followed = async {
                zip(synced, feed.follow(Arc::clone(&state), source)).await;
            };
            or(removed, or(followed, run)).await;
            state.followed.remove(&path);
            state.machine.remove_source(source);
        })
    }
}

impl fmt::Debug for AddedSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AddedSource").field("path", &self.path).finish_non_exhaustive()
    }
}
