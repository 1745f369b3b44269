//! Waits for an object in the way of a key, until it is gone or has another controller.

use super::state::ControllerState;
use super::writes::Written;
use crate::informers::InformerHandle;
use listwatch_core::cache::AwaitError;
use listwatch_core::controller::{Cause, CauseKind};
use listwatch_core::object::{Meta, Uid};
use listwatch_core::queue::Priority;
use listwatch_core::{Key, Store};
use std::sync::Arc;

/// Reconciles the key once the informer shows that this object is gone, or has another controller than it has in `seen`.
/// False if too many objects are awaited.
pub(super) fn follow<T: Send + Sync + 'static>(
    state: &Arc<ControllerState>,
    key: &Key,
    informer: &InformerHandle<T>,
    seen: &Meta,
) -> bool {
    let is_surely_shown = Written::from(seen.clone()).is_surely_of(informer);
    let moved = moved(informer.store().clone(), seen.clone(), is_surely_shown);
    let (object, source) = (Some(seen.key().clone()), informer.resource().path().into());
    let (shared, waiting) = (Arc::clone(state), key.clone());
    let wait = async move {
        let Ok(is_there) = moved.await else { return };
        let kind = if is_there { CauseKind::Updated } else { CauseKind::Deleted };
        shared.add(waiting, Priority::default(), Cause { source, kind, object, version: None });
    };
    state.obstacles.add(key, || state.spawn(wait))
}

/// `is_surely_shown` tells whether the store will have the object, if it is not gone by then.
async fn moved<T>(store: Store<T>, seen: Meta, is_surely_shown: bool) -> Result<bool, AwaitError> {
    let is_same = |meta: &Meta| meta.uid() == seen.uid() && controller(meta) == controller(&seen);
    let is_past = is_surely_shown
        && match store.await_version(seen.key(), seen.resource_version()).await {
            Err(AwaitError::Unordered) => false,
            reached => reached.map(|()| true)?,
        };
    if !is_past {
        // One that was read from the server may be shown later, or never: its absence says nothing.
        store.wait_for(seen.key().clone(), |object| object.is_some_and(|object| is_same(object.meta()))).await?;
    }
    let found = store.wait_for(seen.key().clone(), |object| object.is_none_or(|object| !is_same(object.meta()))).await;
    found.map(|object| object.is_some())
}

fn controller(meta: &Meta) -> Option<Option<Uid>> {
    meta.owner_references().find(|owner| owner.controller).map(|owner| owner.uid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::pin::Pin;
    use core::task::{Context, Poll, Waker};
    use listwatch_core::cache::{Cache, Change, Indexer, Note, StoreWriter};
    use listwatch_core::fifo::Delta;
    use listwatch_core::object::{MetaBuilder, Object, OwnerReference};

    type Moved = Pin<Box<dyn Future<Output = Result<bool, AwaitError>> + Send>>;

    /// The object at this version, with a controller of this uid.
    fn owned(version: &str, owner: &str) -> Meta {
        let mut meta = MetaBuilder::default();
        meta.set_namespace("web");
        meta.set_name("a");
        meta.set_uid("u1");
        meta.set_resource_version(version);
        let uid = Some(Uid::from(owner));
        meta.add_owner_reference(&OwnerReference { uid, controller: true, ..OwnerReference::default() });
        meta.build().unwrap()
    }

    fn put(writer: &mut StoreWriter<()>, meta: Meta) {
        writer.apply(Change::new(&Delta::Updated(Object { meta, value: () }.into()), false));
        writer.wake();
    }

    fn poll(moved: &mut Moved) -> Poll<Result<bool, AwaitError>> {
        moved.as_mut().poll(&mut Context::from_waker(Waker::noop()))
    }

    fn awaited(seen: Meta, surely: bool) -> (StoreWriter<()>, Moved) {
        let writer = StoreWriter::new(Indexer::new());
        let moved = Box::pin(moved(writer.store(), seen, surely));
        (writer, moved)
    }

    #[test]
    fn an_obstacle_is_awaited_until_the_store_shows_that_it_moved() {
        let (mut writer, mut moved) = awaited(owned("5", "v1"), true);
        assert_eq!(poll(&mut moved), Poll::Pending);
        put(&mut writer, owned("7", "v2"));
        assert_eq!(poll(&mut moved), Poll::Ready(Ok(true)), "it has another controller");
        let (mut writer, mut moved) = awaited(owned("5", "v1"), true);
        writer.note(Note::Started);
        writer.note(Note::Synced);
        for (version, expected) in [("4", Poll::Pending), ("6", Poll::Ready(Ok(false)))] {
            writer.note(Note::Applied(&version.into()));
            writer.wake();
            assert_eq!(poll(&mut moved), expected, "deleted, at version {version}");
        }
    }

    #[test]
    fn an_older_state_of_the_store_and_the_same_obstacle_are_no_way() {
        let (mut writer, mut moved) = awaited(owned("5", "v1"), true);
        for same in [owned("4", "v0"), owned("5", "v1"), owned("6", "v1")] {
            put(&mut writer, same);
            assert_eq!(poll(&mut moved), Poll::Pending);
        }
        put(&mut writer, owned("7", "v2"));
        assert_eq!(poll(&mut moved), Poll::Ready(Ok(true)));
    }

    /// A key would be reconciled again and again for an object that a selector hides.
    #[test]
    fn an_obstacle_that_the_store_may_never_show_is_not_gone() {
        for (version, surely) in [("5", false), ("x", true)] {
            let (mut writer, mut moved) = awaited(owned(version, "v1"), surely);
            writer.note(Note::Started);
            writer.note(Note::Synced);
            writer.note(Note::Applied(&"9".into()));
            writer.wake();
            assert_eq!(poll(&mut moved), Poll::Pending);
            put(&mut writer, owned(version, "v1"));
            assert_eq!(poll(&mut moved), Poll::Pending);
            put(&mut writer, owned("7", "v2"));
            assert_eq!(poll(&mut moved), Poll::Ready(Ok(true)));
        }
    }
}
