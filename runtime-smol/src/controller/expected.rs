//! A write that a store is to show.

use crate::informers::InformerHandle;
use core::any::Any;
use core::pin::Pin;
use listwatch_core::controller::{Awaited, Write};
use listwatch_core::object::{Uid, Version, compare_versions};
use listwatch_core::{Key, Store};
use std::sync::{Arc, Weak};

/// A write, and the store that is to show it. The wait can begin again.
#[derive(Clone)]
pub(super) struct Expected {
    pub(super) write: Write,
    /// The uid of the object.
    uid: Option<Uid>,
    /// The store has a deletion if it has reached this version, and then has no such object: an object that it never had
    /// may be on its way.
    version: Option<Version>,
    /// How many times its key has waited for it.
    pub(super) waits: u32,
    /// The informer of the store.
    informer: Weak<dyn Any + Send + Sync>,
    show: Arc<dyn Fn(&Self) -> Shown + Send + Sync>,
}

/// Completes when a store shows a write, or can show it no more.
pub(super) type Shown = Pin<Box<dyn Future<Output = Sight> + Send>>;

/// What a store has when it shows a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sight {
    /// The object, or the lack of one that was deleted.
    AsWritten,
    /// No object, although it was not deleted by this write: another client may have deleted it before the watch told
    /// of it. If the store never had it, no event tells of that.
    Missing,
}

impl Expected {
    pub(super) fn new<T: Send + Sync + 'static>(
        kind: &InformerHandle<T>,
        write: Write,
        uid: Option<Uid>,
        version: Option<Version>,
    ) -> Self {
        let store = kind.store().clone();
        // An object that no field selector of the informer selects is never in the store: nobody has deleted it.
        let is_whole = kind.resource().field_selector().is_none();
        let show = Arc::new(move |expected: &Self| {
            let Self { write, version, .. } = expected.clone();
            let shown = shown(store.clone(), write, version);
            Box::pin(async move {
                let sight = shown.await;
                if is_whole { sight } else { Sight::AsWritten }
            }) as Shown
        });
        Self { write, uid, version, waits: 0, informer: kind.identity(), show }
    }

    /// Waits until the store shows it.
    pub(super) fn shown(&self) -> Shown {
        (self.show)(self)
    }

    /// Lets a deletion wait for this version too.
    pub(super) fn reach(&mut self, version: &Version) {
        if self.is_deletion()
            && let Some(Some(later)) = later(self.version.as_ref(), Some(version))
        {
            self.version = Some(later.clone());
        }
    }

    /// What shows both, if one wait can. Of two versions, the store is to show the later one, whichever answer came last.
    pub(super) fn with(&self, other: &Self) -> Option<Self> {
        let is_of_one = self.is_of(&other.informer, &other.write.object);
        let of_uid = |uid: &Option<Uid>| self.uid.is_none() || uid.is_none() || *uid == self.uid;
        let (mine, others) = (self.is_deletion(), other.is_deletion());
        if !is_of_one || ((mine || others) && !of_uid(&other.uid)) {
            return None;
        }
        let version = later(self.version.as_ref(), other.version.as_ref())?.cloned();
        // A deletion shows what was written before. Otherwise it is the later version.
        let takes_other = if mine == others { version != self.version } else { others };
        let both = if takes_other { other } else { self };
        let waits = if version == both.version { both.waits } else { 0 };
        Some(Self { version, waits, ..both.clone() })
    }

    /// Whether it is a write to this object, which the store of this informer is to show.
    pub(super) fn is_of(&self, informer: &Weak<dyn Any + Send + Sync>, object: &Key) -> bool {
        self.informer.ptr_eq(informer) && self.write.object == *object
    }

    /// Whether the two wait for the same.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.informer.ptr_eq(&other.informer) && self.write == other.write && self.version == other.version
    }

    fn is_deletion(&self) -> bool {
        matches!(self.write.until, Awaited::Gone(_))
    }
}

/// The later version; none if they have no order.
fn later<'v>(one: Option<&'v Version>, other: Option<&'v Version>) -> Option<Option<&'v Version>> {
    match (one, other) {
        (Some(one), Some(other)) if one == other => Some(Some(one)),
        (Some(one), Some(other)) => {
            compare_versions(one, other).ok().map(|order| Some(if order.is_lt() { other } else { one }))
        }
        (one, other) => Some(one.or(other)),
    }
}

/// Waits until the store shows the write, or cannot: its informer was stopped, its versions have no order, or it does
/// not cover the object's namespace.
async fn shown<T>(store: Store<T>, write: Write, version: Option<Version>) -> Sight {
    let reached = match &version {
        Some(version) => store.await_version(&write.object, version).await,
        None => Ok(()),
    };
    match write.until {
        Awaited::Gone(Some(uid)) => _ = store.await_gone(&write.object, uid).await,
        Awaited::Version(_) if reached.is_ok() && !store.contains(&write.object) => return Sight::Missing,
        _ => {}
    }
    Sight::AsWritten
}
