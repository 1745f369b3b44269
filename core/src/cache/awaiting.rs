use super::contents::Sight;
use super::store::StoreIn;
use super::stream::{Reached, version_of};
use super::waiting::Place;
use crate::object::{Key, ObjectHandle, ParseVersionError, Uid, compare_versions};
use crate::storage::{Keyed, Versioned};
use crate::sync::Lock;
use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll};

/// A future that waits for an object of a store.
struct Awaiting<V: Keyed, L: Lock, J> {
    store: StoreIn<V, L>,
    key: V::Key,
    place: Place,
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

/// The judgement of a wait, from what it sees.
trait Judge<V> {
    type Answer;

    fn judge(&mut self, sight: Sight<V>) -> Poll<Result<Self::Answer, AwaitError>>;
}

/// Waits for a version of an object, or of everything.
struct AtLeast(alloc::boxed::Box<str>);

/// Waits for the deletion of an object.
struct Gone(Uid);

/// Waits for an object that satisfies a predicate.
struct Predicate<F>(F);

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
        let place = Place::for_version(version_of(at_least));
        Awaiting { store: self.clone(), key: key.clone(), place, judge: AtLeast(at_least.into()) }
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
        Awaiting { store: self.clone(), key: key.clone(), place: Place::default(), judge: Gone(uid) }
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
        predicate: F,
    ) -> impl Future<Output = Result<Option<V>, AwaitError>> + Unpin + use<V, L, F> {
        Awaiting { store: self.clone(), key, place: Place::default(), judge: Predicate(predicate) }
    }
}

impl<T> Judge<ObjectHandle<T>> for AtLeast {
    type Answer = ();

    fn judge(&mut self, sight: Sight<ObjectHandle<T>>) -> Poll<Result<(), AwaitError>> {
        let object = sight.object.as_ref().map(|object| object.meta().resource_version());
        let applied = sight.stream.as_ref().and_then(|stream| stream.applied.as_deref());
        match self.is_reached([object, applied]) {
            Ok(true) => Poll::Ready(Ok(())),
            Ok(false) => waits(sight.stream.as_ref()),
            Err(ParseVersionError) => Poll::Ready(Err(AwaitError::Unordered)),
        }
    }
}

impl AtLeast {
    /// Whether one of the versions is the awaited one, or a later one.
    fn is_reached(&self, versions: [Option<&str>; 2]) -> Result<bool, ParseVersionError> {
        let mut versions = versions.into_iter().flatten();
        if versions.clone().any(|version| *version == *self.0) {
            return Ok(true);
        }
        compare_versions(&self.0, "0")?;
        versions.try_fold(false, |reached, version| Ok(reached || compare_versions(version, &self.0)?.is_ge()))
    }
}

impl<T> Judge<ObjectHandle<T>> for Gone {
    type Answer = ();

    fn judge(&mut self, sight: Sight<ObjectHandle<T>>) -> Poll<Result<(), AwaitError>> {
        let is_there = sight.object.as_ref().is_some_and(|object| {
            object.meta().uid().as_ref() == Some(&self.0) && object.meta().deletion_timestamp().is_none()
        });
        match &sight.stream {
            Some(stream) if !is_there && (stream.has_synced || sight.object.is_some()) => Poll::Ready(Ok(())),
            stream => waits(stream.as_ref()),
        }
    }
}

impl<V, F: FnMut(Option<&V>) -> bool> Judge<V> for Predicate<F> {
    type Answer = Option<V>;

    fn judge(&mut self, sight: Sight<V>) -> Poll<Result<Option<V>, AwaitError>> {
        let is_known = sight.object.is_some() || sight.stream.as_ref().is_some_and(|stream| stream.has_synced);
        if is_known && (self.0)(sight.object.as_ref()) {
            return Poll::Ready(Ok(sight.object));
        }
        waits(sight.stream.as_ref())
    }
}

/// The answer to a wait that is not over: pending, while a stream can still bring the awaited state.
fn waits<R>(stream: Option<&Reached>) -> Poll<Result<R, AwaitError>> {
    match stream {
        Some(stream) if !stream.is_stopped => Poll::Pending,
        Some(_) => Poll::Ready(Err(AwaitError::Stopped)),
        None => Poll::Ready(Err(AwaitError::NotCovered)),
    }
}

impl<V: Versioned<Key: Clone> + Clone, L: Lock, J: Judge<V>> Future for Awaiting<V, L, J> {
    type Output = Result<J::Answer, AwaitError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { store, key, place, judge } = &mut *self;
        store.observed();
        let (sight, _wakers) = store.cell.with(|contents| {
            store.on_read(contents);
            let wakers = contents.sleep(key, place, cx.waker());
            (contents.look(key), wakers)
        });
        let answer = judge.judge(sight);
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
        let Self { store, place, .. } = self;
        let _wakers = store.cell.with(|contents| contents.rise(place));
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
