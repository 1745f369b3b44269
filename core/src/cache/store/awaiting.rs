use super::StoreIn;
use super::contents::Sight;
use super::stream::{StreamProgress, version_of};
use super::waiting::Registration;
use crate::object::{Key, ObjectHandle, ParseVersionError, Uid, compare_versions};
use crate::storage::{Keyed, Versioned};
use crate::sync::Lock;
use alloc::boxed::Box;
use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll};

/// A future that waits for an object of a store. `judge` answers from what it sees.
struct Awaiting<V: Keyed, L: Lock, J> {
    store: StoreIn<V, L>,
    key: V::Key,
    registration: Registration,
    judge: J,
}

/// The reason why a store will not have the awaited state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AwaitError {
    /// The informer was stopped or dropped.
    Stopped,
    /// The versions have no order, because one of them is not a decimal number.
    Unordered,
    /// No informer of the store covers the key's namespace.
    NotCovered,
}

impl<T, L: Lock> StoreIn<ObjectHandle<T>, L> {
    /// Waits until the store has the version `at_least` of an object, or a later one. So a caller that wrote the object
    /// reads its own write.
    ///
    /// The wait ends when the object has such a version, or when the informer has applied every change up to it. The
    /// latter also ends the wait for an object that a selector excludes, and for one that was deleted meanwhile. It
    /// may take a bookmark, which a server sends once a minute. The future has no deadline of its own.
    ///
    /// Versions are compared as [`compare_versions`] does.
    ///
    /// # Errors
    /// See [`AwaitError`].
    ///
    /// ```
    /// use listwatch_core::cache::Store;
    /// use listwatch_core::{Key, cache::AwaitError};
    ///
    /// async fn written<T>(pods: &Store<T>, key: &Key, version: &str) -> Result<(), AwaitError> {
    ///     pods.await_version(key, version).await
    /// }
    /// ```
    pub fn await_version(
        &self,
        key: &Key,
        at_least: &str,
    ) -> impl Future<Output = Result<(), AwaitError>> + Unpin + use<T, L> {
        let (registration, at_least) = (Registration::for_version(version_of(at_least)), Box::<str>::from(at_least));
        let judge = move |sight: Sight<ObjectHandle<T>>| {
            let object = sight.object.as_ref().map(|object| object.meta().resource_version());
            let applied = sight.stream.as_ref().and_then(|stream| stream.applied.as_deref());
            match is_reached(&at_least, [object, applied]) {
                Ok(true) => Poll::Ready(Ok(())),
                Ok(false) => waits(sight.stream.as_ref()),
                Err(ParseVersionError) => Poll::Ready(Err(AwaitError::Unordered)),
            }
        };
        Awaiting { store: self.clone(), key: key.clone(), registration, judge }
    }

    /// Waits until the store no longer has the object with this uid, or has it with a `deletionTimestamp`. So a caller
    /// that deleted the object reads its own deletion.
    ///
    /// An object that the store never had is gone. If its creation may be on its way, such as that of an object that was
    /// just created, call [`await_version`](Self::await_version) first, with a version that the object had.
    ///
    /// # Errors
    /// See [`AwaitError`].
    pub fn await_gone(&self, key: &Key, uid: Uid) -> impl Future<Output = Result<(), AwaitError>> + Unpin + use<T, L> {
        let judge = move |sight: Sight<ObjectHandle<T>>| {
            let is_there = sight.object.as_ref().is_some_and(|object| {
                object.meta().uid().as_ref() == Some(&uid) && object.meta().deletion_timestamp().is_none()
            });
            match &sight.stream {
                Some(stream) if !is_there && (stream.synced || sight.object.is_some()) => Poll::Ready(Ok(())),
                stream => waits(stream.as_ref()),
            }
        };
        Awaiting { store: self.clone(), key: key.clone(), registration: Registration::default(), judge }
    }
}

impl<V: Versioned<Key: Clone> + Clone, L: Lock> StoreIn<V, L> {
    /// Waits until `predicate` accepts the object under `key`, and returns that object. `None` stands for no object; it
    /// is passed only if the informer has synced, because an object that was not listed yet may exist.
    ///
    /// The predicate runs without the lock. It sees the newest state at each wake-up, and not every state.
    ///
    /// # Errors
    /// See [`AwaitError`].
    ///
    /// ```
    /// use listwatch_core::Key;
    /// use listwatch_core::cache::{AwaitError, Store};
    ///
    /// async fn deleted<T>(pods: &Store<T>, key: Key) -> Result<(), AwaitError> {
    ///     pods.wait_for(key, |pod| pod.is_none()).await.map(drop)
    /// }
    /// ```
    pub fn wait_for<F: FnMut(Option<&V>) -> bool>(
        &self,
        key: V::Key,
        mut predicate: F,
    ) -> impl Future<Output = Result<Option<V>, AwaitError>> + Unpin + use<V, L, F> {
        let judge = move |sight: Sight<V>| {
            let is_known = sight.object.is_some() || sight.stream.as_ref().is_some_and(|stream| stream.synced);
            if is_known && predicate(sight.object.as_ref()) {
                return Poll::Ready(Ok(sight.object));
            }
            waits(sight.stream.as_ref())
        };
        Awaiting { store: self.clone(), key, registration: Registration::default(), judge }
    }
}

/// Whether one of the versions is the awaited one, or a later one.
fn is_reached(awaited: &str, versions: [Option<&str>; 2]) -> Result<bool, ParseVersionError> {
    let mut versions = versions.into_iter().flatten();
    if versions.clone().any(|version| version == awaited) {
        return Ok(true);
    }
    compare_versions(awaited, "0")?;
    versions.try_fold(false, |reached, version| Ok(reached || compare_versions(version, awaited)?.is_ge()))
}

/// The answer to a wait that is not over: pending, while a stream can still bring the awaited state.
fn waits<A>(stream: Option<&StreamProgress>) -> Poll<Result<A, AwaitError>> {
    match stream {
        Some(stream) if !stream.stopped => Poll::Pending,
        Some(_) => Poll::Ready(Err(AwaitError::Stopped)),
        None => Poll::Ready(Err(AwaitError::NotCovered)),
    }
}

impl<V, L, A, J> Future for Awaiting<V, L, J>
where
    V: Versioned<Key: Clone> + Clone,
    L: Lock,
    J: FnMut(Sight<V>) -> Poll<Result<A, AwaitError>>,
{
    type Output = Result<A, AwaitError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { store, key, registration, judge } = &mut *self;
        store.observed();
        let (sight, _wakers) = store.cell.with(|contents| {
            store.on_read(contents);
            let wakers = contents.sleep(key, registration, cx.waker());
            (contents.look(key), wakers)
        });
        let answer = judge(sight);
        if answer.is_ready() {
            self.leave();
        }
        answer
    }
}

/// Nothing in it is pinned.
impl<V: Keyed, L: Lock, J> Unpin for Awaiting<V, L, J> {}

impl<V: Keyed, L: Lock, J> Awaiting<V, L, J> {
    fn leave(&mut self) {
        let Self { store, registration, .. } = self;
        let _wakers = store.cell.with(|contents| contents.rise(registration));
    }
}

impl<V: Keyed, L: Lock, J> Drop for Awaiting<V, L, J> {
    fn drop(&mut self) {
        self.leave();
    }
}

impl fmt::Display for AwaitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stopped => "the informer has stopped",
            Self::Unordered => "the resource versions are not decimal numbers, so they have no order",
            Self::NotCovered => "no informer of the store covers the namespace",
        })
    }
}

impl core::error::Error for AwaitError {}

#[cfg(test)]
#[cfg(feature = "std")]
mod tests;
