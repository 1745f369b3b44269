//! An object that stands in the way of a key.

use super::state::{Follow, State};
use super::waits::UntilNext;
use crate::informers::InformerHandle;
use core::pin::Pin;
use core::time::Duration;
use listwatch_core::cache::AwaitError;
use listwatch_core::controller::{Cause, CauseKind};
use listwatch_core::object::{Meta, Uid};
use listwatch_core::queue::Priority;
use listwatch_core::{Key, Store};
use std::sync::Arc;

/// A wait for an object in the way of a key. At its end, the key is reconciled.
pub(super) struct Obstacle {
    key: Key,
    /// Of the informer's resource.
    path: Arc<str>,
    object: Key,
    moved: Moved,
    over: UntilNext,
}

/// Completes when the object is out of the way. Whether there is one of its name then.
type Moved = Pin<Box<dyn Future<Output = Result<bool, AwaitError>> + Send>>;

impl Obstacle {
    /// Waits until the informer shows that the object is gone, or has another controller than `seen`.
    pub(super) fn new<T>(key: &Key, informer: &InformerHandle<T>, seen: &Meta, over: UntilNext) -> Self
    where
        T: Send + Sync + 'static,
    {
        let (path, moved) = (informer.resource().path().into(), moved(informer.store().clone(), seen.clone()));
        Self { key: key.clone(), path, object: seen.key().clone(), moved: Box::pin(moved), over }
    }
}

impl Follow for Obstacle {
    fn follow(self: Box<Self>, state: Arc<State>, _: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(async move {
            let Self { key, path, object, moved, over } = *self;
            let moved = async { moved.await.ok() };
            let ended = async {
                let _closed = over.recv().await;
                None
            };
            let Some(is_there) = smol::future::or(moved, ended).await else { return };
            let kind = if is_there { CauseKind::Updated } else { CauseKind::Deleted };
            state.add(key, Priority::default(), Cause { source: path, kind, object: Some(object), version: None });
        })
    }
}

async fn moved<T>(store: Store<T>, seen: Meta) -> Result<bool, AwaitError> {
    let is_same = |meta: &Meta| meta.uid() == seen.uid() && controller(meta) == controller(&seen);
    // One that was read from the server may be shown later, or never: its absence says nothing.
    store.wait_for(seen.key().clone(), |object| object.is_some_and(|object| is_same(object.meta()))).await?;
    let found = store.wait_for(seen.key().clone(), |object| object.is_none_or(|object| !is_same(object.meta()))).await;
    found.map(|object| object.is_some())
}

fn controller(meta: &Meta) -> Option<Option<Uid>> {
    meta.owner_references().find(|owner| owner.controller).map(|owner| owner.uid)
}
